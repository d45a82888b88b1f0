package io.retort.onnxruntime;

import java.util.Arrays;
import java.util.List;

/** What a model says of the type of an input or output. */
public sealed interface TypeInfo {
  /**
   * A tensor.
   *
   * @param element type of its elements
   * @param hasShape whether the model tells a rank
   * @param shape extents; -1 where one is not fixed
   * @param dimensions names of extents; empty where one has none
   * @param sparse whether it is sparse
   */
  record Tensor(ElementType element, boolean hasShape, long[] shape, List<String> dimensions, boolean sparse) implements TypeInfo {
    /** Copies its lists. */
    public Tensor {
      shape = shape.clone();
      dimensions = List.copyOf(dimensions);
    }

    /** {@return a copy of the extents} */
    @Override
    public long[] shape() {
      return shape.clone();
    }

    /** Whether a shape is one of those that the model takes. One element counts as a scalar. */
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

    /** Element type and extents, as {@code FLOAT[batch,3]}. */
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
   * A sequence.
   *
   * @param element the type of its elements
   */
  record Sequence(TypeInfo element) implements TypeInfo {}

  /**
   * A map.
   *
   * @param key type of its keys
   * @param value what it maps to
   */
  record Mapping(ElementType key, TypeInfo value) implements TypeInfo {}

  /**
   * A value that may be missing.
   *
   * @param content the type of its content
   */
  record Optional(TypeInfo content) implements TypeInfo {}

  /** A type of a custom operator, or one that this version of the binding does not know. */
  record Opaque() implements TypeInfo {}
}
