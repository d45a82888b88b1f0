package io.retort.onnxruntime.ffm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;

/**
 * An engine that speaks ONNX Runtime's C interface, loaded into this process: Retort or the official library.
 *
 * <p>{@link #load()} searches in this order and takes the first place that is set or has one:
 *
 * <ol>
 *   <li>environment variable {@code ORT_NATIVE_LIB_PATH}: a file, a folder that holds one, or a name that is looked for
 *       where the system looks for libraries, unless the working folder has it;
 *   <li>environment variable {@code RETORT_LIBRARY}, in the same way;
 *   <li>system property {@code retort.library}, in the same way;
 *   <li>the jar with classifier {@code native} on the class path or module path, whose library is unpacked once into the user's
 *       cache: the folder that system property {@code retort.cache} names, else {@code $XDG_CACHE_HOME/retort/native} or
 *       {@code ~/.cache/retort/native}, {@code ~/Library/Caches/retort/native} (macOS), {@code %LOCALAPPDATA%\retort\native}
 *       (Windows). On the module path, start with {@code --add-modules io.retort.onnxruntime.natives};
 *   <li>the folders of {@code java.library.path}; what the system's loader finds ({@code LD_LIBRARY_PATH} among others; on
 *       Windows the folders of {@code PATH}); usual folders such as {@code /usr/local/lib}.
 * </ol>
 *
 * <p>A place that one of the first three names is the only one: where nothing usable lies there, that is an error, and no other
 * engine runs in its place. In a folder, Retort comes before ONNX Runtime.
 *
 * <p>A process that uses the official Java binding ({@code ai.onnxruntime}) as well starts that first: on Linux its native part
 * binds itself to the first loaded library named {@code libonnxruntime.so.1}, and refuses another version than its own.
 *
 * <p>A loaded engine stays in the process until it ends. Objects of this class are immutable and safe for use by several
 * threads; loading the same file twice gives the same native library.
 */
public final class NativeLibrary {
  /** The oldest version of the C interface that this binding works with. */
  public static final int MINIMUM_API = Engine.MINIMUM_API;

  private static final String ADVICE = "Name an engine (libretort or libonnxruntime, 1." + MINIMUM_API + " or newer; a file or its "
      + "folder) with ORT_NATIVE_LIB_PATH, RETORT_LIBRARY or -Dretort.library, or add the jar with classifier 'native'; "
      + "scripts/download-native.sh fetches the official library.";

  private final Engine engine;

  private NativeLibrary(Engine engine) {
    this.engine = engine;
  }

  /**
   * Finds an engine, in the order that the class describes, and loads it.
   *
   * @return the engine
   * @throws NativeLibraryError where none was found; the message lists what was tried, and why each did not serve
   */
  public static NativeLibrary load() {
    LibrarySearch.Result result = new LibrarySearch(SearchSettings.ofProcess()).run();
    return result.found().map(NativeLibrary::new).orElseThrow(() -> new NativeLibraryError("no engine found; tried", result.attempts(), result.advice(ADVICE)));
  }

  /**
   * Loads the engine at a place, without looking anywhere else.
   *
   * @param place a library, or a folder that holds one under a usual name
   * @return the engine
   * @throws NativeLibraryError where no library there works
   */
  public static NativeLibrary load(Path place) {
    LibrarySearch search = new LibrarySearch(SearchSettings.ofProcess());
    return search.place("the given path", place).map(NativeLibrary::new).orElseThrow(() -> new NativeLibraryError("no engine at " + place + "; tried", search.attempts(),
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
    return result.found().map(NativeLibrary::new).orElseThrow(() -> new NativeLibraryError("no engine that this process has loaded can be taken; found",
        result.attempts(), "Start the official binding first (ai.onnxruntime.OrtEnvironment.getEnvironment()), or name an engine with load(Path)."));
  }

  /**
   * The functions that the library exports.
   *
   * @return a lookup that is valid until the process ends
   */
  public SymbolLookup lookup() {
    return engine.lookup();
  }

  /**
   * The file that the library was loaded from.
   *
   * @return its path; null where the system does not tell it
   */
  public Path path() {
    return engine.path();
  }

  /**
   * The result of {@code OrtGetApiBase}: a struct OrtApiBase of two function pointers, owned by the library.
   *
   * @return the address, a segment of length zero that is valid until the process ends
   */
  public MemorySegment apiBase() {
    return engine.apiBase();
  }

  /**
   * The version of the library, as it says itself.
   *
   * @return for example {@code 1.31.1}; Retort returns the version of ONNX Runtime whose interface it has
   */
  public String versionString() {
    return engine.version();
  }

  @Override
  public String toString() {
    return "engine " + engine.version() + (engine.path() == null ? "" : " from " + engine.path());
  }
}
