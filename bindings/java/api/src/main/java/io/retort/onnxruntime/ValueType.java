package io.retort.onnxruntime;

/** Kinds of values. */
public enum ValueType {
  /** The kind is not known. */
  UNKNOWN(0),
  /** A tensor. */
  TENSOR(1),
  /** A sequence of values. */
  SEQUENCE(2),
  /** A map from keys to values. */
  MAP(3),
  /** A type that a custom operator defines. */
  OPAQUE(4),
  /** A sparse tensor. */
  SPARSE_TENSOR(5),
  /** An optional value. */
  OPTIONAL(6);

  private final int value;

  ValueType(int value) {
    this.value = value;
  }

  static ValueType of(int value) {
    for (ValueType one : values()) {
      if (one.value == value) return one;
    }
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "the library returned ValueType " + value + ", which this version of the binding does not know");
  }

  /** {@return the value of this constant in the C interface} */
  public int value() {
    return value;
  }
}
