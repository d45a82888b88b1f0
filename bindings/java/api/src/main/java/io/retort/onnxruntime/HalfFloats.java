package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Converts between {@code float} and the 16-bit floats of tensors. Rounds to nearest, ties to even. Thread-safe. */
public final class HalfFloats {
  private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED;

  private HalfFloats() {}

  /**
   * {@return the nearest bfloat16}
   *
   * @param value the number to convert
   */
  public static short toBfloat16(float value) {
    int bits = Float.floatToRawIntBits(value);
    // Keep a NaN a NaN: if only the lower half of its payload is set, cutting it off would give infinity.
    if (Float.isNaN(value)) return (short) (bits >>> 16 | 0x40);
    return (short) (bits + 0x7fff + (bits >>> 16 & 1) >>> 16);
  }

  /**
   * {@return the value of a bfloat16}
   *
   * @param value the bits of the bfloat16
   */
  public static float fromBfloat16(short value) {
    return Float.intBitsToFloat(value << 16);
  }

  /**
   * {@return the numbers of a segment as floats}
   *
   * @param segment elements of {@code type}
   * @param type {@link OnnxTensorElementType#FLOAT}, {@link OnnxTensorElementType#FLOAT16} or {@link OnnxTensorElementType#BFLOAT16}
   * @throws OrtException for another type
   */
  public static float[] toFloats(MemorySegment segment, OnnxTensorElementType type) {
    int count = Math.toIntExact(segment.byteSize() * 8 / checked(type).bits());
    float[] floats = new float[count];
    switch (type) {
      case FLOAT -> MemorySegment.copy(segment, ValueLayout.JAVA_FLOAT_UNALIGNED, 0, floats, 0, count);
      case FLOAT16 -> {
        for (int i = 0; i < count; ++i) floats[i] = Float.float16ToFloat(segment.get(SHORT, 2L * i));
      }
      default -> {
        for (int i = 0; i < count; ++i) floats[i] = fromBfloat16(segment.get(SHORT, 2L * i));
      }
    }
    return floats;
  }

  /**
   * Writes numbers to a segment, rounded to the nearest value of the type.
   *
   * @param floats the numbers to write
   * @param segment receives the elements, of {@code type}; at least as long as the numbers need
   * @param type {@link OnnxTensorElementType#FLOAT}, {@link OnnxTensorElementType#FLOAT16} or {@link OnnxTensorElementType#BFLOAT16}
   * @throws OrtException for another type, or if the segment is too short
   */
  public static void fromFloats(float[] floats, MemorySegment segment, OnnxTensorElementType type) {
    if (segment.byteSize() < checked(type).bytes(floats.length))
      throw OrtException.invalid(floats.length + " numbers of " + type + " take " + type.bytes(floats.length) + " bytes, the segment has " + segment.byteSize());
    switch (type) {
      case FLOAT -> MemorySegment.copy(floats, 0, segment, ValueLayout.JAVA_FLOAT_UNALIGNED, 0, floats.length);
      case FLOAT16 -> {
        for (int i = 0; i < floats.length; ++i) segment.set(SHORT, 2L * i, Float.floatToFloat16(floats[i]));
      }
      default -> {
        for (int i = 0; i < floats.length; ++i) segment.set(SHORT, 2L * i, toBfloat16(floats[i]));
      }
    }
  }

  private static OnnxTensorElementType checked(OnnxTensorElementType type) {
    if (type == OnnxTensorElementType.FLOAT || type == OnnxTensorElementType.FLOAT16 || type == OnnxTensorElementType.BFLOAT16) return type;
    throw OrtException.invalid("elements are " + type + ", not FLOAT, FLOAT16 or BFLOAT16: read them with the accessor of that type");
  }
}
