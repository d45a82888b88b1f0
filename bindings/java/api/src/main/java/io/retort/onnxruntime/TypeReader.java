package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** Reads types from the objects of the library. */
final class TypeReader {
  private final OrtApiFFM api;

  TypeReader(OrtApiFFM api) {
    this.api = api;
  }

  /** Reads an OrtTypeInfo and releases it. */
  TypeInfo take(MemorySegment info) {
    try {
      return read(info);
    } finally {
      api.c.releaseTypeInfo(info);
    }
  }

  private TypeInfo read(MemorySegment info) {
    ValueType kind = ValueType.of(api.integer(out -> api.c.getOnnxTypeFromTypeInfo(info, out)));
    return switch (kind) {
      case TENSOR, SPARSE_TENSOR -> tensor(api.pointer(out -> api.c.castTypeInfoToTensorInfo(info, out)), kind == ValueType.SPARSE_TENSOR);
      case SEQUENCE -> {
        MemorySegment sequence = api.pointer(out -> api.c.castTypeInfoToSequenceTypeInfo(info, out));
        yield new TypeInfo.Sequence(take(api.pointer(out -> api.c.getSequenceElementType(sequence, out))));
      }
      case MAP -> {
        MemorySegment map = api.pointer(out -> api.c.castTypeInfoToMapTypeInfo(info, out));
        OnnxTensorElementType key = OnnxTensorElementType.of(api.integer(out -> api.c.getMapKeyType(map, out)));
        yield new TypeInfo.Mapping(key, take(api.pointer(out -> api.c.getMapValueType(map, out))));
      }
      case OPTIONAL -> {
        MemorySegment optional = api.pointer(out -> api.c.castTypeInfoToOptionalTypeInfo(info, out));
        yield new TypeInfo.Optional(take(api.pointer(out -> api.c.getOptionalContainedTypeInfo(optional, out))));
      }
      default -> new TypeInfo.Opaque();
    };
  }

  private TypeInfo tensor(MemorySegment info, boolean sparse) {
    // In old libraries, Cast returns NULL for values that are not dense tensors.
    if (info.address() == 0) return new TypeInfo.Opaque();
    OnnxTensorElementType element = OnnxTensorElementType.of(api.integer(out -> api.c.getTensorElementType(info, out)));
    long[] shape = shape(info);
    // Before version 24, the interface does not distinguish a tensor without a shape from a scalar.
    boolean hasShape = api.apiVersion() >= 24 ? api.c.tensorTypeAndShape_HasShape(info) : shape.length > 0;
    List<String> names = new ArrayList<>();
    if (shape.length > 0) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment out = arena.allocate(ValueLayout.ADDRESS, shape.length);
        api.check(api.c.getSymbolicDimensions(info, out, shape.length));
        for (int i = 0; i < shape.length; ++i) {
          String name = Memory.string(out.getAtIndex(ValueLayout.ADDRESS, i));
          names.add(name == null ? "" : name);
        }
      }
    }
    return new TypeInfo.Tensor(element, hasShape, shape, names, sparse);
  }

  private long[] shape(MemorySegment info) {
    int rank = (int) api.number(out -> api.c.getDimensionsCount(info, out));
    if (rank == 0) return new long[0];
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment extents = arena.allocate(ValueLayout.JAVA_LONG, rank);
      api.check(api.c.getDimensions(info, extents, rank));
      return extents.toArray(ValueLayout.JAVA_LONG);
    }
  }

  /** Returns type and shape of a value that is a tensor. */
  MemoryDescriptor descriptor(MemorySegment value) {
    MemorySegment info = api.pointer(out -> api.c.getTensorTypeAndShape(value, out));
    try {
      return new MemoryDescriptor(OnnxTensorElementType.of(api.integer(out -> api.c.getTensorElementType(info, out))), shape(info));
    } finally {
      api.c.releaseTensorTypeAndShapeInfo(info);
    }
  }
}
