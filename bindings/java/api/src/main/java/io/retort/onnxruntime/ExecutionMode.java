package io.retort.onnxruntime;

/** The order in which the branches of a graph run. */
public enum ExecutionMode {
  /** Branches run one after the other. */
  SEQUENTIAL(0),
  /** Branches run at the same time where the library expects this to be faster. */
  PARALLEL(1);

  private final int value;

  ExecutionMode(int value) {
    this.value = value;
  }

  static ExecutionMode of(int value) {
    for (ExecutionMode one : values()) {
      if (one.value == value) return one;
    }
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "the library returned ExecutionMode " + value + ", which this version of the binding does not know");
  }

  /** {@return the value of this constant in the C interface} */
  public int value() {
    return value;
  }
}
