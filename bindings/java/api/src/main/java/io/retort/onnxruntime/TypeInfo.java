package io.retort.onnxruntime;

import java.util.Arrays;
import java.util.List;

/** The type of an input or output, as the model declares it. */
public sealed interface TypeInfo {
  /**
   * The type of a tensor.
   *
   * @param element type of its elements
   * @param hasShape whether the model declares the rank
   * @param shape the extents; -1 for an extent that is not fixed
   * @param dimensions the names of the extents; empty for an extent without a name
   * @param sparse whether the tensor is sparse
   */
  record Tensor(OnnxTensorElementType element, boolean hasShape, long[] shape, List<String> dimensions, boolean sparse) implements TypeInfo {
    /** Copies the arrays. */
    public Tensor {
      shape = shape.clone();
      dimensions = List.copyOf(dimensions);
    }

    /** {@return a copy of the extents} */
    @Override
    public long[] shape() {
      return shape.clone();
    }

    /** Returns whether the model accepts a shape. A tensor with one element is accepted as a scalar. */
    boolean fits(long[] given) {
      if (!hasShape || shape.length == 0 && MemoryDescriptor.elements(given) == 1) return true;
      if (given.length != shape.length) return false;
      for (int i = 0; i < given.length; ++i) {
        if (shape[i] >= 0 && shape[i] != given[i]) return false;
      }
      return true;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Tensor t && t.element == element && t.hasShape == hasShape && Arrays.equals(t.shape, shape) && t.dimensions.equals(dimensions) && t.sparse == sparse;
    }

    @Override
    public int hashCode() {
      return 31 * element.hashCode() + Arrays.hashCode(shape);
    }

    /** Returns element type and extents, as in {@code FLOAT[batch,3]}. */
    @Override
    public String toString() {
      if (!hasShape) return element + "[?]";
      StringBuilder text = new StringBuilder(element.toString()).append('[');
      for (int i = 0; i < shape.length; ++i) {
        if (i > 0) text.append(',');
        text.append(shape[i] >= 0 ? Long.toString(shape[i]) : dimensions.get(i).isEmpty() ? "?" : dimensions.get(i));
      }
      return text.append(']').toString();
    }
  }

  /**
   * The type of a sequence.
   *
   * @param element type of the elements
   */
  record Sequence(TypeInfo element) implements TypeInfo {}

  /**
   * The type of a map.
   *
   * @param key type of the keys
   * @param value type of the values
   */
  record Mapping(OnnxTensorElementType key, TypeInfo value) implements TypeInfo {}

  /**
   * The type of an optional value.
   *
   * @param content type of the value
   */
  record Optional(TypeInfo content) implements TypeInfo {}

  /** A type of a custom operator, or one that this version of the binding does not know. */
  record Opaque() implements TypeInfo {}
}
