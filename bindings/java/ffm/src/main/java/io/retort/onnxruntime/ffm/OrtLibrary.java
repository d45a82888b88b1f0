package io.retort.onnxruntime.ffm;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/**
 * A library and its table of functions. Thread-safe.
 *
 * @param path file of the library; null if the system does not tell
 * @param version version of the C interface, not newer than the tables from which this package was generated
 * @param versionString version of the library
 * @param api functions of the library
 * @param address address of the table
 */
public record OrtLibrary(Path path, int version, String versionString, OrtApi api, MemorySegment address) {
  /** The oldest version of the C interface that the bindings support. */
  public static final int OLDEST = NativeLibrary.MINIMUM_API;

  /**
   * Asks for the newest version of the interface that both the library and this package know.
   *
   * @param library the library
   * @return the library with its functions
   * @throws UnsatisfiedLinkError if the library is older than version {@value #OLDEST} of the interface
   */
  public static OrtLibrary open(NativeLibrary library) {
    OrtApiBase base = new OrtApiBase(library.apiBase(), OrtConstants.ORT_API_VERSION);
    String name = library.versionString();
    for (int version = newest(name); version >= OLDEST; --version) {
      MemorySegment table = base.getApi(version);
      if (table.address() != 0) return new OrtLibrary(library.path(), version, name, new OrtApi(table, version), table);
    }
    throw new UnsatisfiedLinkError(library.path() + " (version " + name + ") has no version of the C interface between " + OLDEST + " and " + OrtConstants.ORT_API_VERSION
        + ": load ONNX Runtime 1." + OLDEST + " or newer");
  }

  /**
   * Returns the version in the name of the library, if it can be parsed. Asking for exactly this version matters: a
   * library that does not have a version prints a line.
   */
  private static int newest(String name) {
    String[] parts = name == null ? new String[0] : name.split("\\.");
    if (parts.length < 2 || !parts[0].equals("1") || !parts[1].matches("\\d{1,4}")) return OrtConstants.ORT_API_VERSION;
    return Math.min(OrtConstants.ORT_API_VERSION, Integer.parseInt(parts[1]));
  }
}
