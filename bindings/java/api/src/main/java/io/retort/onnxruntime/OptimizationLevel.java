package io.retort.onnxruntime;

/** How much a graph is optimised when it is loaded. */
public enum OptimizationLevel {
  /** No optimisation. */
  DISABLE_ALL(0),
  /** Optimisations that do not depend on the provider. */
  BASIC(1),
  /** {@code BASIC} and fusions. */
  EXTENDED(2),
  /** {@code EXTENDED} and changes of memory layouts. */
  LAYOUT(3),
  /** All optimisations. */
  ALL(99);

  private final int value;

  OptimizationLevel(int value) {
    this.value = value;
  }

  static OptimizationLevel of(int value) {
    for (OptimizationLevel one : values()) {
      if (one.value == value) return one;
    }
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "the library returned OptimizationLevel " + value + ", which this version of the binding does not know");
  }

  /** {@return the value of this constant in the C interface} */
  public int value() {
    return value;
  }
}
