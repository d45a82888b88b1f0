package io.retort.onnxruntime;

/** What is done to a graph when it is loaded. */
public enum OptimizationLevel {
  /** Nothing. */
  DISABLE_ALL(0),
  /** What needs no certain provider. */
  BASIC(1),
  /** Fusions, too. */
  EXTENDED(2),
  /** Layouts of memory, too. */
  LAYOUT(3),
  /** Everything. */
  ALL(99);

  private final int value;

  OptimizationLevel(int value) {
    this.value = value;
  }

  static OptimizationLevel of(int value) {
    for (OptimizationLevel one : values()) {
      if (one.value == value) return one;
    }
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "the library answered OptimizationLevel " + value + ", which this version of the binding does not know");
  }

  /** {@return the number in the C interface} */
  public int value() {
    return value;
  }
}
