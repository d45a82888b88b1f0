package io.retort.onnxruntime;

/** Kinds of devices. */
public enum DeviceType {
  /** The processor. */
  CPU(0),
  /** A graphics processor. */
  GPU(1),
  /** Programmable logic. No {@link HardwareDevice} has this type. */
  FPGA(2),
  /** A neural processor (NPU). */
  NPU(3);

  private final int value;

  DeviceType(int value) {
    this.value = value;
  }

  static DeviceType of(int value) {
    for (DeviceType one : values()) {
      if (one.value == value) return one;
    }
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "the library returned DeviceType " + value + ", which this version of the binding does not know");
  }

  /** {@return the value of this constant in the C interface} */
  public int value() {
    return value;
  }
}
