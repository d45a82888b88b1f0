package io.retort.onnxruntime.ffm;

import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * An engine that speaks ONNX Runtime's C interface, loaded into this process: Retort or the official library.
 *
 * <p>{@link #load()} searches in this order and takes the first place that is set or has one:
 *
 * <ol>
 *   <li>environment variable {@code ORT_NATIVE_LIB_PATH}: a file, a folder that holds one, or a name that is looked for
 *       where the system looks for libraries, unless the working folder has it;
 *   <li>environment variable {@code RETORT_LIBRARY}, likewise;
 *   <li>system property {@code retort.library}, likewise;
 *   <li>the jar with classifier {@code native} on the class path or module path, whose library is unpacked once into the user's
 *       cache: the folder that system property {@code retort.cache} names, else {@code $XDG_CACHE_HOME/retort/native} or
 *       {@code ~/.cache/retort/native}, {@code ~/Library/Caches/retort/native} (macOS), {@code %LOCALAPPDATA%\retort\native}
 *       (Windows). On the module path, start with {@code --add-modules io.retort.onnxruntime.natives};
 *   <li>the folders of {@code java.library.path}; what the system's loader finds ({@code LD_LIBRARY_PATH} among others; on
 *       Windows the folders of {@code PATH}); usual folders such as {@code /usr/local/lib}.
 * </ol>
 *
 * <p>A place that one of the first three names is the only one: where nothing usable lies there, that is an error, not a reason
 * to run another engine than the one that was asked for. In a folder, Retort comes before ONNX Runtime.
 *
 * <p>A process that uses the official Java binding ({@code ai.onnxruntime}) as well starts that first: on Linux its native part
 * binds itself to whatever library named {@code libonnxruntime.so.1} was loaded before, and refuses another version than its own.
 *
 * <p>A loaded engine stays in the process until it ends. Objects of this class are immutable and safe for use by several
 * threads; loading the same file twice gives the same native library.
 */
public final class NativeLibrary {
  /** The oldest version of the C interface that this binding works with. */
  public static final int MINIMUM_API = 17;

  static final String ENTRY = "OrtGetApiBase";
  private static final String ADVICE = "Name an engine (libretort or libonnxruntime, 1." + MINIMUM_API + " or newer; a file or its "
      + "folder) with ORT_NATIVE_LIB_PATH, RETORT_LIBRARY or -Dretort.library, or add the jar with classifier 'native'; "
      + "scripts/download-native.sh fetches the official library.";
  private static final FunctionDescriptor ENTRY_TYPE = FunctionDescriptor.of(ValueLayout.ADDRESS);
  private static final FunctionDescriptor GET_API = FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT);
  private static final FunctionDescriptor GET_VERSION = FunctionDescriptor.of(ValueLayout.ADDRESS);

  private final SymbolLookup lookup;
  private final Path path;
  private final MemorySegment apiBase;
  private final String versionString;

  private NativeLibrary(SymbolLookup lookup, Path path, MemorySegment apiBase, String versionString) {
    this.lookup = lookup;
    this.path = path;
    this.apiBase = apiBase;
    this.versionString = versionString;
  }

  /**
   * Finds an engine, in the order that the class describes, and loads it.
   *
   * @return the engine
   * @throws NativeLibraryError where none was found; the message lists what was tried, and why each did not serve
   */
  public static NativeLibrary load() {
    LibrarySearch.Result result = new LibrarySearch(LibrarySearch.Settings.ofProcess()).run();
    return result.found().orElseThrow(() -> new NativeLibraryError("no engine found; tried", result.attempts(), result.advice(ADVICE)));
  }

  /**
   * Loads the engine at a place, without looking anywhere else.
   *
   * @param place a library, or a folder that holds one under a usual name
   * @return the engine
   * @throws NativeLibraryError where there is none that works
   */
  public static NativeLibrary load(Path place) {
    LibrarySearch search = new LibrarySearch(LibrarySearch.Settings.ofProcess());
    Optional<NativeLibrary> found = search.place("the given path", place);
    return found.orElseThrow(() -> new NativeLibraryError("no engine at " + place + "; tried", search.attempts(),
        "Give the path of libretort or libonnxruntime, 1." + MINIMUM_API + " or newer, or of a folder that holds one."));
  }

  /**
   * Takes the engine that this process has loaded already: the one that the official Java binding
   * ({@code ai.onnxruntime}) runs on where that binding is loaded, so that handles of its objects may be used; else the only
   * engine of the process. Nothing is loaded that is not there.
   *
   * <p>Where the engine cannot be told from the binding's library (Windows), the module named {@code onnxruntime.dll} is taken,
   * to which that binding is linked by name.
   *
   * @return the engine
   * @throws NativeLibraryError where the process has none, or several and no official binding that would say which is meant
   */
  public static NativeLibrary loaded() {
    LoadedLibraries.Result result = new LoadedLibraries().find();
    return result.found().orElseThrow(() -> new NativeLibraryError("no engine that this process has loaded can be taken; found",
        result.attempts(), "Start the official binding first (ai.onnxruntime.OrtEnvironment.getEnvironment()), or name an engine with load(Path)."));
  }

  /**
   * Makes an engine of what the system loaded, when it is one that this binding works with.
   *
   * @throws Rejected with the reason where it is not
   */
  static NativeLibrary of(DynamicLoader.Loaded library) throws Rejected {
    MemorySegment entry = library.lookup().find(ENTRY).orElseThrow(() -> new Rejected("is a library, but has no function " + ENTRY));
    Path file = library.path() != null ? library.path() : DynamicLoader.system().fileOf(entry);
    return check(library.lookup(), file, entry);
  }

  static NativeLibrary check(SymbolLookup lookup, Path file, MemorySegment entry) throws Rejected {
    MemorySegment base = pointer(entry, ENTRY_TYPE);
    if (base.address() == 0) {
      throw new Rejected(ENTRY + " gives nothing");
    }
    MemorySegment table = base.reinterpret(2 * ValueLayout.ADDRESS.byteSize());
    MemorySegment text = pointer(table.getAtIndex(ValueLayout.ADDRESS, 1), GET_VERSION);
    String version = text.address() == 0 ? "unknown" : text.reinterpret(Long.MAX_VALUE).getString(0);
    // An old library answers a version that it does not know with null, and a line on stderr.
    if (pointer(table.getAtIndex(ValueLayout.ADDRESS, 0), GET_API, MINIMUM_API).address() == 0) {
      throw new Rejected("is version " + version + "; its C interface is older than " + MINIMUM_API + ", the oldest that this binding works with");
    }
    return new NativeLibrary(lookup, file, base, version);
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

  /** Why a library is no engine for this binding. */
  static final class Rejected extends Exception {
    private static final long serialVersionUID = 1;

    Rejected(String reason) {
      super(reason, null, false, false);
    }
  }

  /**
   * The functions that the library exports.
   *
   * @return a lookup that is valid until the process ends
   */
  public SymbolLookup lookup() {
    return lookup;
  }

  /**
   * The file that the library was loaded from.
   *
   * @return its path; null where the system does not tell it
   */
  public Path path() {
    return path;
  }

  /**
   * What {@code OrtGetApiBase} gave: a struct OrtApiBase of two function pointers, owned by the library.
   *
   * @return the address, a segment of length zero that is valid until the process ends
   */
  public MemorySegment apiBase() {
    return apiBase;
  }

  /**
   * The version that the library says it has.
   *
   * @return for example {@code 1.31.1}; Retort says the version of ONNX Runtime whose interface it has
   */
  public String versionString() {
    return versionString;
  }

  @Override
  public String toString() {
    return "engine " + versionString + (path == null ? "" : " from " + path);
  }

  /** Whether both paths lead to one file. */
  static boolean sameFile(Path a, Path b) {
    try {
      return a.equals(b) || Files.isSameFile(a, b);
    } catch (IOException e) {
      return false;
    }
  }
}
