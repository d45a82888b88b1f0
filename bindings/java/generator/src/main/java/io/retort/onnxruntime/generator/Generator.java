package io.retort.onnxruntime.generator;

/** Writes the Java sources of the downcalls. */
public final class Generator {
  private Generator() {}

  /**
   * @param args folder of the tables, folder for the sources
   */
  public static void main(String[] args) {
    if (args.length != 2) throw new IllegalArgumentException("usage: Generator ABI_FOLDER OUT_FOLDER");
  }
}
