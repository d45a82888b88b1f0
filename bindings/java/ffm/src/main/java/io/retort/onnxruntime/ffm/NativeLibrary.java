package io.retort.onnxruntime.ffm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;

/**
 * An engine with ONNX Runtime's C interface that is loaded into this process: Retort or the official library.
 *
 * <p>{@link #load()} tries these places in order and uses the first that is set or has an engine:
 *
 * <ol>
 *   <li>environment variable {@code ORT_NATIVE_LIB_PATH}: a file, a folder that contains one, or a name, which the
 *   system's loader looks up unless the working folder has such a file;
 *   <li>environment variable {@code RETORT_LIBRARY}, in the same way;
 *   <li>system property {@code retort.library}, in the same way;
 *   <li>the jar with classifier {@code native} on the class path or module path. Its library is unpacked once into the
 *       user's cache: the folder that system property {@code retort.cache} names, else {@code
 *       $XDG_CACHE_HOME/retort/native} or {@code ~/.cache/retort/native}, {@code ~/Library/Caches/retort/native}
 *       (macOS), {@code %LOCALAPPDATA%\retort\native} (Windows). On the module path, start with {@code --add-modules
 *       io.retort.onnxruntime.natives};
 *   <li>the folders of {@code java.library.path}; the folders that the system's loader searches (those of {@code
 *       LD_LIBRARY_PATH} among others; on Windows those of {@code PATH}); usual folders such as {@code /usr/local/lib}.
 * </ol>
 *
 * <p>If one of the first three names a place, the search ends there: it is an error if the place has no usable engine,
 * and no other engine is used instead. In a folder, Retort comes before ONNX Runtime.
 *
 * <p>A program that also uses the official Java binding ({@code ai.onnxruntime}) must start that binding first: on
 * Linux, its native part links to the first loaded library named {@code libonnxruntime.so.1}, and rejects a version
 * other than its own.
 *
 * <p>A loaded engine stays in the process until it ends. Objects of this class are immutable and thread-safe. Loading
 * the same file twice gives the same native library.
 */
public final class NativeLibrary {
  /** The oldest version of the C interface that this binding works with. */
  public static final int MINIMUM_API = Engine.MINIMUM_API;

  private static final String ADVICE = "Name an engine (libretort or libonnxruntime, 1." + MINIMUM_API + " or newer; a file or its "
      + "folder) with ORT_NATIVE_LIB_PATH, RETORT_LIBRARY or -Dretort.library, or add the jar with classifier 'native' (on the module path, with --add-modules "
      + "io.retort.onnxruntime.natives); "
      + "scripts/download-native.sh fetches the official library.";

  private final Engine engine;

  private NativeLibrary(Engine engine) {
    this.engine = engine;
  }

  /**
   * Finds and loads an engine, in the order that the class describes.
   *
   * @return the engine
   * @throws NativeLibraryError if no engine was found; the message lists what was tried, and why each attempt failed
   */
  public static NativeLibrary load() {
    LibrarySearch.Result result = new LibrarySearch(SearchSettings.ofProcess()).run();
    return result.found().map(NativeLibrary::new).orElseThrow(() -> new NativeLibraryError("no engine found; tried", result.attempts(), result.advice(ADVICE)));
  }

  /**
   * Loads the engine at a place. No other place is searched.
   *
   * @param place a library, or a folder that contains one under a usual name
   * @return the engine
   * @throws NativeLibraryError if the place has no usable library
   */
  public static NativeLibrary load(Path place) {
    LibrarySearch search = new LibrarySearch(SearchSettings.ofProcess());
    return search.place("the given path", place).map(NativeLibrary::new).orElseThrow(() -> new NativeLibraryError("no engine at " + place + "; tried", search.attempts(),
        "Give the path of libretort or libonnxruntime, 1." + MINIMUM_API + " or newer, or of a folder that contains one."));
  }

  /**
   * Returns an engine that this process has loaded. If the official Java binding ({@code ai.onnxruntime}) is loaded,
   * this is the engine that the binding uses, so that handles of its objects can be used. Otherwise it is the only
   * engine of the process. Nothing new is loaded.
   *
   * <p>On Windows, where the binding's library does not show its engine, the module named {@code onnxruntime.dll} is
   * used: the binding is linked to it by name.
   *
   * @return the engine
   * @throws NativeLibraryError if the process has no engine, or has several and no official binding that determines one
   */
  public static NativeLibrary loaded() {
    LoadedLibraries.Result result = new LoadedLibraries().find();
    return result.found().map(NativeLibrary::new).orElseThrow(() -> new NativeLibraryError("no engine that this process has loaded can be taken; found",
        result.attempts(), "Start the official binding first (ai.onnxruntime.OrtEnvironment.getEnvironment()), or name an engine with load(Path)."));
  }

  /**
   * Returns the functions that the library exports.
   *
   * @return a lookup that is valid until the process ends
   */
  public SymbolLookup lookup() {
    return engine.lookup();
  }

  /**
   * Returns the file that the library was loaded from.
   *
   * @return the path; null if the system does not tell
   */
  public Path path() {
    return engine.path();
  }

  /**
   * Returns the result of {@code OrtGetApiBase}: a struct OrtApiBase of two function pointers, owned by the library.
   *
   * @return the address, as a segment of size 0 that is valid until the process ends
   */
  public MemorySegment apiBase() {
    return engine.apiBase();
  }

  /**
   * Returns the version of the library, as the library reports it.
   *
   * @return for example {@code 1.32.0}; Retort returns the version of ONNX Runtime whose interface it has
   */
  public String versionString() {
    return engine.version();
  }

  @Override
  public String toString() {
    return "engine " + engine.version() + (engine.path() == null ? "" : " from " + engine.path());
  }
}
