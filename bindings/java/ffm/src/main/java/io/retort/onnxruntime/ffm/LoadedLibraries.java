package io.retort.onnxruntime.ffm;

import io.retort.onnxruntime.ffm.NativeLibraryError.Attempt;
import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Finds an engine among the libraries that this process has loaded. Used once, by one thread.
 *
 * <p>The native library of the official Java binding shows which engine that binding uses: {@code dlsym} on it finds
 * the function in the engine that it is linked to, whatever file the engine came from and however many engines are
 * loaded.
 */
final class LoadedLibraries {
  private static final String BINDING = "onnxruntime4j_jni";
  private static final String DELETED = " (deleted)";

  /** The engine, and the attempts to find it. */
  record Result(Optional<Engine> found, List<Attempt> attempts) {}

  private final DynamicLoader loader = DynamicLoader.system();
  private final List<Attempt> attempts = new ArrayList<>();

  Result find() {
    return Platform.current().os() == Platform.Os.WINDOWS ? new Result(byModuleName(), attempts) : find(files());
  }

  /** Searches among files of this process that may contain code. */
  Result find(Set<String> files) {
    Optional<Engine> found = files.stream().filter(f -> baseName(f).contains(BINDING)).map(this::take).flatMap(Optional::stream).findFirst();
    if (found.isPresent()) {
      return new Result(found, attempts);
    }
    List<Engine> engines = new ArrayList<>();
    for (String file : files) {
      if (maybeEngine(baseName(file))) {
        take(file).filter(e -> engines.stream().noneMatch(o -> o.apiBase().equals(e.apiBase()))).ifPresent(engines::add);
      }
    }
    if (engines.size() > 1) {
      engines.forEach(e -> attempts.add(new Attempt(String.valueOf(e.path()), "is one of " + engines.size() + " engines here, " + e.version())));
      return new Result(Optional.empty(), attempts);
    }
    if (engines.isEmpty()) {
      attempts.add(new Attempt("libraries of this process", "none of the " + files.size() + " files is named onnxruntime or retort and is an engine"));
    }
    return new Result(engines.stream().findFirst(), attempts);
  }

  private static String baseName(String file) {
    return file.substring(file.lastIndexOf('/') + 1).toLowerCase(Locale.ROOT);
  }

  private static boolean maybeEngine(String name) {
    return (name.contains("onnxruntime") || name.contains("retort")) && (name.contains(".so") || name.contains(".dylib"));
  }

  private Optional<Engine> take(String file) {
    Optional<DynamicLoader.Loaded> library = loader.alreadyLoaded(file);
    if (library.isEmpty()) {
      attempts.add(new Attempt(file, "is mapped, but not loaded as a library"));
      return Optional.empty();
    }
    try {
      return Optional.of(Engine.of(library.get()));
    } catch (Engine.Rejected e) {
      attempts.add(new Attempt(file, e.getMessage()));
      return Optional.empty();
    }
  }

  private Optional<Engine> byModuleName() {
    // The official name first, because bindings are linked to it.
    for (String name : Platform.current().libraryNames().reversed()) {
      Optional<DynamicLoader.Loaded> library = loader.alreadyLoaded(name);
      if (library.isEmpty()) {
        attempts.add(new Attempt(name, "is not loaded"));
        continue;
      }
      try {
        return Optional.of(Engine.of(library.get()));
      } catch (Engine.Rejected e) {
        attempts.add(new Attempt(name, e.getMessage()));
      }
    }
    return Optional.empty();
  }

  private Set<String> files() {
    return Platform.current().os() == Platform.Os.MACOS ? images() : mappings();
  }

  /** Lists the files from which this process has mapped executable code (Linux). */
  private Set<String> mappings() {
    Set<String> files = new LinkedHashSet<>();
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
        int path = line.indexOf('/');
        String[] fields = line.split("\\s+", 3);
        if (path > 0 && fields.length == 3 && fields[1].indexOf('x') >= 0) {
          String file = line.substring(path);
          // The loader still knows a deleted file by its name.
          files.add(file.endsWith(DELETED) ? file.substring(0, file.length() - DELETED.length()) : file);
        }
      }
    } catch (IOException e) {
      attempts.add(new Attempt("/proc/self/maps", "cannot be read, so the loaded libraries are unknown: " + e.getMessage()));
    }
    return files;
  }

  /** Lists the images of this process (macOS). */
  private Set<String> images() {
    Linker linker = Linker.nativeLinker();
    MethodHandle count = linker.downcallHandle(linker.defaultLookup().find("_dyld_image_count").orElseThrow(), FunctionDescriptor.of(ValueLayout.JAVA_INT));
    MethodHandle name = linker.downcallHandle(linker.defaultLookup().find("_dyld_get_image_name").orElseThrow(),
        FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
    Set<String> files = new LinkedHashSet<>();
    try {
      int n = (int) count.invokeExact();
      for (int i = 0; i < n; i++) {
        MemorySegment text = (MemorySegment) name.invokeExact(i);
        if (text.address() != 0) {
          files.add(text.reinterpret(Long.MAX_VALUE).getString(0));
        }
      }
    } catch (Throwable e) {
      throw new IllegalStateException("the images of this process cannot be listed", e);
    }
    return files;
  }
}
