package io.retort.onnxruntime.ffm;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The system's loader of libraries. On systems with {@code dlopen}, it is called directly, because {@link
 * SymbolLookup#libraryLookup} only reports that a library cannot be opened, while {@code dlerror} gives the reason, and
 * because only {@code dlopen} finds libraries that are already loaded.
 *
 * <p>Libraries stay loaded until the process ends: engines have threads, and their objects may outlive every reference.
 */
abstract class DynamicLoader {
  /** A loaded library: its functions, and its file if the system tells; otherwise null. */
  record Loaded(SymbolLookup lookup, Path path) {}

  /** The system's reason why a library could not be opened. */
  static final class LoadFailure extends Exception {
    private static final long serialVersionUID = 1;

    LoadFailure(String reason) {
      super(reason, null, false, false);
    }
  }

  private static final class Holder {
    static final DynamicLoader SYSTEM = Platform.current().os() == Platform.Os.WINDOWS ? new Windows() : new Posix();
  }

  static DynamicLoader system() {
    return Holder.SYSTEM;
  }

  /** Loads a file. The path must be absolute. */
  abstract Loaded open(Path file) throws LoadFailure;

  /**
   * Loads the library that the system finds by a name without a folder; empty if the system has no such search that is
   * safe to use.
   */
  abstract Optional<Loaded> openByName(String name) throws LoadFailure;

  /** Returns a library that this process has already loaded from that file or under that name. Never loads one. */
  abstract Optional<Loaded> alreadyLoaded(String pathOrName);

  /** Returns the file that contains the code at an address; null if the system does not tell. */
  abstract Path fileOf(MemorySegment code);

  /** The loader of systems with {@code dlopen}. */
  private static final class Posix extends DynamicLoader {
    private static final boolean MACOS = Platform.current().os() == Platform.Os.MACOS;
    private static final int NOW_AND_LOCAL = MACOS ? 2 | 4 : 2;
    private static final int ONLY_IF_LOADED = MACOS ? 0x10 : 4;
    private final MethodHandle dlopen = handle("dlopen", FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
    private final MethodHandle dlsym = handle("dlsym", FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.ADDRESS));
    private final MethodHandle dlerror = handle("dlerror", FunctionDescriptor.of(ValueLayout.ADDRESS));
    private final MethodHandle dladdr = handle("dladdr", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS));

    Posix() {
      try {
        // Call it once now, so that the linker creates nothing between an error and its reason.
        MemorySegment unused = (MemorySegment) dlerror.invokeExact();
      } catch (Throwable e) {
        throw new IllegalStateException("dlerror cannot be called", e);
      }
    }

    private static MethodHandle handle(String name, FunctionDescriptor type) {
      Linker linker = Linker.nativeLinker();
      return linker.downcallHandle(linker.defaultLookup().find(name).orElseThrow(), type);
    }

    @Override
    Loaded open(Path file) throws LoadFailure {
      try {
        Optional<String> defect = ElfFile.defect(file, Platform.current().arch());
        if (defect.isPresent()) {
          throw new LoadFailure(defect.get());
        }
      } catch (IOException e) {
        throw new LoadFailure("the file cannot be read: " + e);
      }
      return loaded(load(file.toString(), NOW_AND_LOCAL), file);
    }

    @Override
    Optional<Loaded> openByName(String name) throws LoadFailure {
      return Optional.of(loaded(load(name, NOW_AND_LOCAL), null));
    }

    @Override
    Optional<Loaded> alreadyLoaded(String pathOrName) {
      try {
        return Optional.of(loaded(load(pathOrName, NOW_AND_LOCAL | ONLY_IF_LOADED), null));
      } catch (LoadFailure notLoaded) {
        return Optional.empty();
      }
    }

    private MemorySegment load(String name, int mode) throws LoadFailure {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment library = (MemorySegment) dlopen.invokeExact(arena.allocateFrom(name), mode);
        if (library.address() != 0) {
          return library;
        }
        MemorySegment reason = (MemorySegment) dlerror.invokeExact();
        throw new LoadFailure(reason.address() == 0 ? "the system gives no reason" : reason.reinterpret(Long.MAX_VALUE).getString(0));
      } catch (LoadFailure e) {
        throw e;
      } catch (Throwable e) {
        throw new IllegalStateException("dlopen cannot be called", e);
      }
    }

    private Loaded loaded(MemorySegment library, Path file) {
      SymbolLookup lookup = name -> {
        try (Arena arena = Arena.ofConfined()) {
          MemorySegment symbol = (MemorySegment) dlsym.invokeExact(library, arena.allocateFrom(name));
          return symbol.address() == 0 ? Optional.empty() : Optional.of(symbol);
        } catch (Throwable e) {
          throw new IllegalStateException("dlsym cannot be called", e);
        }
      };
      return new Loaded(lookup, file);
    }

    @Override
    Path fileOf(MemorySegment code) {
      try (Arena arena = Arena.ofConfined()) {
        // A Dl_info, whose first field is the name.
        MemorySegment info = arena.allocate(4 * ValueLayout.ADDRESS.byteSize(), ValueLayout.ADDRESS.byteAlignment());
        int found = (int) dladdr.invokeExact(code, info);
        MemorySegment name = found == 0 ? MemorySegment.NULL : info.get(ValueLayout.ADDRESS, 0);
        return name.address() == 0 ? null : Path.of(name.reinterpret(Long.MAX_VALUE).getString(0));
      } catch (Throwable e) {
        throw new IllegalStateException("dladdr cannot be called", e);
      }
    }
  }

  /**
   * The loader of Windows. It never passes a name without a folder to the system, which would search the working
   * folder, too.
   */
  private static final class Windows extends DynamicLoader {
    private static final int PATH_CHARS = 32768;
    private final SymbolLookup kernel = SymbolLookup.libraryLookup("kernel32", Arena.global());
    private final MethodHandle getModule = handle("GetModuleHandleW", FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.ADDRESS));
    private final MethodHandle getFile = handle("GetModuleFileNameW",
        FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_INT));

    private MethodHandle handle(String name, FunctionDescriptor type) {
      return Linker.nativeLinker().downcallHandle(kernel.find(name).orElseThrow(), type);
    }

    @Override
    Loaded open(Path file) throws LoadFailure {
      if (!Files.isReadable(file)) {
        throw new LoadFailure("cannot be read");
      }
      try {
        return new Loaded(SymbolLookup.libraryLookup(file, Arena.global()), file);
      } catch (IllegalArgumentException e) {
        throw new LoadFailure(e.getMessage() + " (not a library for this processor, or one that it needs is missing)");
      }
    }

    @Override
    Optional<Loaded> openByName(String name) {
      return Optional.empty();
    }

    @Override
    Optional<Loaded> alreadyLoaded(String pathOrName) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment module = (MemorySegment) getModule.invokeExact(arena.allocateFrom(pathOrName, StandardCharsets.UTF_16LE));
        if (module.address() == 0) {
          return Optional.empty();
        }
        MemorySegment name = arena.allocate(2L * PATH_CHARS, 2);
        int length = (int) getFile.invokeExact(module, name, PATH_CHARS);
        Path file = length == 0 ? null : Path.of(name.getString(0, StandardCharsets.UTF_16LE)).toRealPath();
        // This opens the same module again and increments its count.
        return file == null ? Optional.empty() : Optional.of(open(file));
      } catch (IOException | LoadFailure e) {
        return Optional.empty();
      } catch (Throwable e) {
        throw new IllegalStateException("GetModuleHandleW cannot be called", e);
      }
    }

    @Override
    Path fileOf(MemorySegment code) {
      return null;
    }
  }
}
