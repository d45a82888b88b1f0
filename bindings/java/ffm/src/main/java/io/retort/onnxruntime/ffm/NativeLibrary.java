package io.retort.onnxruntime.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;

/**
 * A loaded library with ONNX Runtime's C interface. It stays loaded until the process ends: sessions, streams and threads
 * of it may outlive any object of Java.
 *
 * <p>Thread-safe.
 *
 * @param path the file that was loaded
 * @param lookup finds its symbols
 */
public record NativeLibrary(Path path, SymbolLookup lookup) {
  /**
   * Loads the library that {@code RETORT_LIBRARY} names (system property or variable of the environment).
   *
   * @return the library
   * @throws UnsatisfiedLinkError if it names none, or one that cannot be loaded
   */
  public static NativeLibrary load() {
    String named = System.getProperty("RETORT_LIBRARY", System.getenv("RETORT_LIBRARY"));
    if (named == null) throw new UnsatisfiedLinkError("no library: set RETORT_LIBRARY to its file");
    return load(Path.of(named));
  }

  /**
   * Loads this file.
   *
   * @param file the library
   * @return the library
   * @throws UnsatisfiedLinkError if it cannot be loaded
   */
  public static NativeLibrary load(Path file) {
    try {
      return new NativeLibrary(file, SymbolLookup.libraryLookup(file, Arena.global()));
    } catch (IllegalArgumentException e) {
      throw new UnsatisfiedLinkError(file + ": " + e.getMessage());
    }
  }
}
