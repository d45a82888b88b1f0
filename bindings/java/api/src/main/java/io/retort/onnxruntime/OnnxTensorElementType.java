package io.retort.onnxruntime;

/** Element types of tensors, in the order of the C interface. */
public enum OnnxTensorElementType {
  /** No type is known. */
  UNDEFINED(0),
  /** 32-bit floats: {@code float}. */
  FLOAT(32),
  /** Unsigned 8-bit integers. */
  UINT8(8),
  /** 8-bit integers: {@code byte}. */
  INT8(8),
  /** Unsigned 16-bit integers. */
  UINT16(16),
  /** 16-bit integers: {@code short}. */
  INT16(16),
  /** 32-bit integers: {@code int}. */
  INT32(32),
  /** 64-bit integers: {@code long}. */
  INT64(64),
  /** Strings in UTF-8. Segments cannot hold them. */
  STRING(0),
  /** A byte that is 0 or 1. */
  BOOL(8),
  /** 16-bit floats of IEEE 754 (binary16). */
  FLOAT16(16),
  /** 64-bit floats: {@code double}. */
  DOUBLE(64),
  /** Unsigned 32-bit integers. */
  UINT32(32),
  /** Unsigned 64-bit integers. */
  UINT64(64),
  /** Complex numbers: pairs of 32-bit floats. */
  COMPLEX64(64),
  /** Complex numbers: pairs of 64-bit floats. */
  COMPLEX128(128),
  /** bfloat16: the upper half of a 32-bit float. */
  BFLOAT16(16),
  /** 8-bit floats with 4 exponent bits and no infinities. */
  FLOAT8E4M3FN(8),
  /** 8-bit floats with 4 exponent bits, no infinities and no negative zero. */
  FLOAT8E4M3FNUZ(8),
  /** 8-bit floats with 5 exponent bits. */
  FLOAT8E5M2(8),
  /** 8-bit floats with 5 exponent bits, no infinities and no negative zero. */
  FLOAT8E5M2FNUZ(8),
  /** Unsigned 4-bit integers, two in a byte, the first in the lower half. */
  UINT4(4),
  /** 4-bit integers, two in a byte, the first in the lower half. */
  INT4(4),
  /** 4-bit floats, two in a byte, the first in the lower half. */
  FLOAT4E2M1(4),
  /** Unsigned 2-bit integers, four in a byte, the first in the lowest bits. */
  UINT2(2),
  /** 2-bit integers, four in a byte, the first in the lowest bits. */
  INT2(2),
  /** Powers of two: 8 exponent bits and nothing else. */
  FLOAT8E8M0(8);

  private static final OnnxTensorElementType[] TYPES = values();
  private final int bits;

  OnnxTensorElementType(int bits) {
    this.bits = bits;
  }

  static OnnxTensorElementType of(int value) {
    return value >= 0 && value < TYPES.length ? TYPES[value] : UNDEFINED;
  }

  /** {@return the number of bits of an element; 0 for strings and types without a fixed size} */
  public int bits() {
    return bits;
  }

  /** {@return the value of this constant in the C interface} */
  public int value() {
    return ordinal();
  }

  /**
   * {@return the number of bytes of a number of elements}
   *
   * @param elements number of elements
   * @throws OrtException if the result does not fit in a {@code long}, or elements of this type have no fixed size
   */
  public long bytes(long elements) {
    if (bits == 0) throw OrtException.invalid("elements of " + this + " have no size in bytes");
    try {
      long all = Math.multiplyExact(elements, (long) bits);
      return (all + 7) / 8;
    } catch (ArithmeticException e) {
      throw OrtException.invalid(elements + " elements of " + this + " do not fit in memory");
    }
  }
}
