package io.retort.onnxruntime;

/** Types of the elements of tensors, in the order of the C interface. */
public enum ElementType {
  /** No type. */
  UNDEFINED(0),
  /** 32-bit floats: {@code float}. */
  FLOAT(32),
  /** Bytes without sign. */
  UINT8(8),
  /** Bytes: {@code byte}. */
  INT8(8),
  /** 16-bit numbers without sign. */
  UINT16(16),
  /** 16-bit numbers: {@code short}. */
  INT16(16),
  /** 32-bit numbers: {@code int}. */
  INT32(32),
  /** 64-bit numbers: {@code long}. */
  INT64(64),
  /** Texts in UTF-8; their memory is not that of a segment. */
  STRING(0),
  /** A byte that is 0 or 1. */
  BOOL(8),
  /** 16-bit floats of IEEE 754. */
  FLOAT16(16),
  /** 64-bit floats: {@code double}. */
  DOUBLE(64),
  /** 32-bit numbers without sign. */
  UINT32(32),
  /** 64-bit numbers without sign. */
  UINT64(64),
  /** Pairs of 32-bit floats. */
  COMPLEX64(64),
  /** Pairs of 64-bit floats. */
  COMPLEX128(128),
  /** The upper half of 32-bit floats. */
  BFLOAT16(16),
  /** 8-bit floats with 4 bits of exponent, finite. */
  FLOAT8E4M3FN(8),
  /** 8-bit floats with 4 bits of exponent, finite, one zero. */
  FLOAT8E4M3FNUZ(8),
  /** 8-bit floats with 5 bits of exponent. */
  FLOAT8E5M2(8),
  /** 8-bit floats with 5 bits of exponent, finite, one zero. */
  FLOAT8E5M2FNUZ(8),
  /** Two numbers without sign in a byte, the first in the lower half. */
  UINT4(4),
  /** Two numbers in a byte, the first in the lower half. */
  INT4(4),
  /** Two floats in a byte, the first in the lower half. */
  FLOAT4E2M1(4),
  /** Four numbers without sign in a byte. */
  UINT2(2),
  /** Four numbers in a byte. */
  INT2(2),
  /** Powers of two, in a byte. */
  FLOAT8E8M0(8);

  private static final ElementType[] TYPES = values();
  private final int bits;

  ElementType(int bits) {
    this.bits = bits;
  }

  static ElementType of(int value) {
    return value >= 0 && value < TYPES.length ? TYPES[value] : UNDEFINED;
  }

  /** {@return bits of an element; 0 for texts} */
  public int bits() {
    return bits;
  }

  /** {@return the number in the C interface} */
  public int value() {
    return ordinal();
  }

  /**
   * {@return bytes that they take together}
   *
   * @param elements how many elements
   * @throws OrtException if that is more than a {@code long} holds, or the type has no size
   */
  public long bytes(long elements) {
    if (bits == 0) throw OrtException.invalid("elements of " + this + " have no size in bytes");
    try {
      long all = Math.multiplyExact(elements, (long) bits);
      return (all + 7) / 8;
    } catch (ArithmeticException e) {
      throw OrtException.invalid(elements + " elements of " + this + " are more than memory can hold");
    }
  }
}
