package io.retort.onnxruntime;

/** How branches of a graph run. */
public enum ExecutionMode {
  /** One after the other. */
  SEQUENTIAL(0),
  /** At the same time where that promises to be sooner. */
  PARALLEL(1);

  private final int value;

  ExecutionMode(int value) {
    this.value = value;
  }

  static ExecutionMode of(int value) {
    for (ExecutionMode one : values()) {
      if (one.value == value) return one;
    }
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "the library answered ExecutionMode " + value + ", which this version of the binding does not know");
  }

  /** {@return the number in the C interface} */
  public int value() {
    return value;
  }
}
