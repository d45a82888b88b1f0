package io.retort.onnxruntime;

/** Kinds of values. */
public enum ValueType {
  /** No kind. */
  UNKNOWN(0),
  /** A tensor. */
  TENSOR(1),
  /** A sequence of values. */
  SEQUENCE(2),
  /** Keys and values. */
  MAP(3),
  /** A kind of a custom operator. */
  OPAQUE(4),
  /** A sparse tensor. */
  SPARSE_TENSOR(5),
  /** A value that may be missing. */
  OPTIONAL(6);

  private final int value;

  ValueType(int value) {
    this.value = value;
  }

  static ValueType of(int value) {
    for (ValueType one : values()) {
      if (one.value == value) return one;
    }
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "the library answered ValueType " + value + ", which this version of the binding does not know");
  }

  /** {@return the number in the C interface} */
  public int value() {
    return value;
  }
}
