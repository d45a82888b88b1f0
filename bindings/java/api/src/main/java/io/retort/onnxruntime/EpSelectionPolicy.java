package io.retort.onnxruntime;

/** Which devices a session chooses by itself. */
public enum EpSelectionPolicy {
  /** As the library thinks best. */
  DEFAULT(0),
  /** The processor. */
  PREFER_CPU(1),
  /** A neural processor, if there is one. */
  PREFER_NPU(2),
  /** A graphics processor, if there is one. */
  PREFER_GPU(3),
  /** The fastest. */
  MAX_PERFORMANCE(4),
  /** The most efficient. */
  MAX_EFFICIENCY(5),
  /** What takes the least power. */
  MIN_OVERALL_POWER(6);

  private final int value;

  EpSelectionPolicy(int value) {
    this.value = value;
  }

  static EpSelectionPolicy of(int value) {
    for (EpSelectionPolicy one : values()) {
      if (one.value == value) return one;
    }
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "the library answered EpSelectionPolicy " + value + ", which this version of the binding does not know");
  }

  /** {@return the number in the C interface} */
  public int value() {
    return value;
  }
}
