package io.retort.onnxruntime;

import java.util.Arrays;
import java.util.Objects;

/**
 * Element type and shape of a tensor.
 *
 * @param type type of the elements
 * @param shape the extents, outermost first, none of them negative; none for a scalar
 */
public record MemoryDescriptor(OnnxTensorElementType type, long... shape) {
  /**
   * Checks and copies the shape.
   *
   * @throws OrtException if an extent is negative, or the elements do not fit in memory
   */
  public MemoryDescriptor {
    Objects.requireNonNull(type, "type");
    shape = Objects.requireNonNull(shape, "shape").clone();
    elements(shape);
  }

  /**
   * Creates a descriptor, with the shape first.
   *
   * @param shape the extents, outermost first, none of them negative; empty for a scalar
   * @param type type of the elements
   */
  public MemoryDescriptor(long[] shape, OnnxTensorElementType type) {
    this(type, shape);
  }

  /** Returns the number of elements of a shape. */
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
      throw OrtException.invalid("shape " + Arrays.toString(shape) + " has more elements than fit in memory");
    }
    return count;
  }

  /** Returns the number of the element type in the C interface, for a new tensor. */
  int typeOfNewTensor() {
    if (type == OnnxTensorElementType.UNDEFINED) throw OrtException.invalid("a tensor needs an element type, and " + type + " is none: give another OnnxTensorElementType");
    return type.value();
  }

  /** {@return a copy of the extents} */
  @Override
  public long[] shape() {
    return shape.clone();
  }

  /** {@return the number of elements} */
  public long elements() {
    return elements(shape);
  }

  /**
   * {@return the number of bytes of the elements}
   *
   * @throws OrtException if elements of this type have no fixed size
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
