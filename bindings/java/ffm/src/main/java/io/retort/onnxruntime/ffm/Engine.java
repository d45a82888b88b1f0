package io.retort.onnxruntime.ffm;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/**
 * A loaded library that was checked to have a version of the C interface that this binding supports.
 *
 * @param lookup functions of the library
 * @param path file of the library; null if the system does not tell
 * @param apiBase the struct OrtApiBase
 * @param version version of the library, as it reports it
 */
record Engine(SymbolLookup lookup, Path path, MemorySegment apiBase, String version) {
  static final int MINIMUM_API = 17;
  static final String ENTRY = "OrtGetApiBase";
  private static final FunctionDescriptor ENTRY_TYPE = FunctionDescriptor.of(ValueLayout.ADDRESS);
  private static final FunctionDescriptor GET_API = FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT);
  private static final FunctionDescriptor GET_VERSION = FunctionDescriptor.of(ValueLayout.ADDRESS);

  /** The reason why a library is not an engine for this binding. */
  static final class Rejected extends Exception {
    private static final long serialVersionUID = 1;

    Rejected(String reason) {
      super(reason, null, false, false);
    }
  }

  /**
   * Checks a library that the system loaded.
   *
   * @throws Rejected with the reason, if this binding does not support the library
   */
  static Engine of(DynamicLoader.Loaded library) throws Rejected {
    MemorySegment entry = library.lookup().find(ENTRY).orElseThrow(() -> new Rejected("is a library, but has no function " + ENTRY));
    Path file = library.path() != null ? library.path() : DynamicLoader.system().fileOf(entry);
    return check(library.lookup(), file, entry);
  }

  static Engine check(SymbolLookup lookup, Path file, MemorySegment entry) throws Rejected {
    MemorySegment base = pointer(entry, ENTRY_TYPE);
    if (base.address() == 0) {
      throw new Rejected(ENTRY + " returns NULL");
    }
    MemorySegment table = base.reinterpret(2 * ValueLayout.ADDRESS.byteSize());
    MemorySegment text = pointer(table.getAtIndex(ValueLayout.ADDRESS, 1), GET_VERSION);
    String version = text.address() == 0 ? "unknown" : text.reinterpret(Long.MAX_VALUE).getString(0);
    // For a version that it does not know, an old library returns null and prints a line on stderr.
    if (pointer(table.getAtIndex(ValueLayout.ADDRESS, 0), GET_API, MINIMUM_API).address() == 0) {
      throw new Rejected("is version " + version + "; its C interface is older than " + MINIMUM_API + ", the oldest that this binding supports");
    }
    return new Engine(lookup, file, base, version);
  }

  private static MemorySegment pointer(MemorySegment function, FunctionDescriptor type, Object... arguments) {
    MethodHandle call = Linker.nativeLinker().downcallHandle(function, type);
    try {
      return (MemorySegment) call.invokeWithArguments(arguments);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("a native function threw", e);
    }
  }
}
