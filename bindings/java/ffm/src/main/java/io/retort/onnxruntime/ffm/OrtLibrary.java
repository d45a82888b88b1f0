package io.retort.onnxruntime.ffm;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/**
 * A library whose table of functions was got. Thread-safe.
 *
 * @param path its file; null where the system does not tell it
 * @param version version of the interface, not newer than the tables that this was generated from
 * @param versionString version of the library
 * @param api its functions
 * @param address address of the table
 */
public record OrtLibrary(Path path, int version, String versionString, OrtApi api, MemorySegment address) {
  /** The oldest version that the bindings do with. */
  public static final int OLDEST = NativeLibrary.MINIMUM_API;

  /**
   * Asks for the newest version of the interface that both sides know.
   *
   * @param library the library
   * @return its functions
   * @throws UnsatisfiedLinkError if it is older than version {@value #OLDEST} of the interface
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

  /** The library prints a line when it is asked for a version that it does not have: its name saves that, where it can be read. */
  private static int newest(String name) {
    String[] parts = name == null ? new String[0] : name.split("\\.");
    if (parts.length < 2 || !parts[0].equals("1") || !parts[1].matches("\\d{1,4}")) return OrtConstants.ORT_API_VERSION;
    return Math.min(OrtConstants.ORT_API_VERSION, Integer.parseInt(parts[1]));
  }
}
