package io.retort.onnxruntime;

/** Rules by which a session chooses its devices. */
public enum EpSelectionPolicy {
  /** The library decides. */
  DEFAULT(0),
  /** Prefer the processor. */
  PREFER_CPU(1),
  /** Prefer a neural processor. */
  PREFER_NPU(2),
  /** Prefer a graphics processor. */
  PREFER_GPU(3),
  /** Prefer the fastest device. */
  MAX_PERFORMANCE(4),
  /** Prefer the most efficient device. */
  MAX_EFFICIENCY(5),
  /** Prefer the device with the lowest power consumption. */
  MIN_OVERALL_POWER(6);

  private final int value;

  EpSelectionPolicy(int value) {
    this.value = value;
  }

  static EpSelectionPolicy of(int value) {
    for (EpSelectionPolicy one : values()) {
      if (one.value == value) return one;
    }
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "the library returned EpSelectionPolicy " + value + ", which this version of the binding does not know");
  }

  /** {@return the value of this constant in the C interface} */
  public int value() {
    return value;
  }
}
