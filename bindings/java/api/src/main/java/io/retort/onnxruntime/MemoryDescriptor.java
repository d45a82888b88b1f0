package io.retort.onnxruntime;

import java.util.Arrays;
import java.util.Objects;

/**
 * What a tensor in memory is.
 *
 * @param type type of its elements
 * @param shape its extents, outermost first, none negative; no extents for a scalar
 */
public record MemoryDescriptor(ElementType type, long... shape) {
  /**
   * Checks the shape, and copies it.
   *
   * @throws OrtException if an extent is negative, or there are more elements than memory can hold
   */
  public MemoryDescriptor {
    Objects.requireNonNull(type, "type");
    shape = Objects.requireNonNull(shape, "shape").clone();
    elements(shape);
  }

  /** How many elements a shape has. */
  static long elements(long[] shape) {
    long count = 1;
    boolean empty = false;
    for (long extent : shape) {
      if (extent < 0) throw OrtException.invalid("shape " + Arrays.toString(shape) + " has a negative extent: give the extents of the data");
      empty |= extent == 0;
    }
    if (empty) return 0;
    try {
      for (long extent : shape) count = Math.multiplyExact(count, extent);
    } catch (ArithmeticException e) {
      throw OrtException.invalid("shape " + Arrays.toString(shape) + " has more elements than memory can hold");
    }
    return count;
  }

  /** {@return a copy of the extents} */
  @Override
  public long[] shape() {
    return shape.clone();
  }

  /** {@return how many elements there are} */
  public long elements() {
    return elements(shape);
  }

  /**
   * {@return how many bytes they take}
   *
   * @throws OrtException if elements of this type have no size
   */
  public long bytes() {
    return type.bytes(elements());
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof MemoryDescriptor d && d.type == type && Arrays.equals(d.shape, shape);
  }

  @Override
  public int hashCode() {
    return 31 * type.hashCode() + Arrays.hashCode(shape);
  }

  @Override
  public String toString() {
    return type + Arrays.toString(shape);
  }
}
