package io.retort.onnxruntime;

/** Kinds of a device's memory. */
public enum MemoryKind {
  /** The memory that the device computes in. */
  DEFAULT(0),
  /** Memory that host and device can both address (pinned, shared). */
  HOST_ACCESSIBLE(5);

  private final int value;

  MemoryKind(int value) {
    this.value = value;
  }

  static MemoryKind of(int value) {
    for (MemoryKind one : values()) {
      if (one.value == value) return one;
    }
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "the library answered MemoryKind " + value + ", which this version of the binding does not know");
  }

  /** {@return the number in the C interface} */
  public int value() {
    return value;
  }
}
