package io.retort.onnxruntime;

/** Kinds of memory of a device. */
public enum MemoryKind {
  /** The device's own memory, in which it computes. */
  DEFAULT(0),
  /** Memory that both the host and the device can address (pinned or shared). */
  HOST_ACCESSIBLE(5);

  private final int value;

  MemoryKind(int value) {
    this.value = value;
  }

  static MemoryKind of(int value) {
    for (MemoryKind one : values()) {
      if (one.value == value) return one;
    }
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "the library returned MemoryKind " + value + ", which this version of the binding does not know");
  }

  /** {@return the value of this constant in the C interface} */
  public int value() {
    return value;
  }
}
