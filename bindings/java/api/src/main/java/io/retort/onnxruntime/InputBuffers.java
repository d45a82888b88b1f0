package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;

/** Finds the shape and the memory of inputs that are given as buffers. */
final class InputBuffers {
  private InputBuffers() {}

  /**
   * Returns the element type of an input, and its shape: that of the model. If the model leaves one extent open, it
   * follows from the number of bytes.
   */
  static MemoryDescriptor shapeOf(ValueInfo input, long bytes) {
    if (!(input.type() instanceof TypeInfo.Tensor tensor) || !tensor.hasShape()) throw unclear(input, "does not declare its shape");
    long[] shape = tensor.shape();
    int open = -1;
    for (int i = 0; i < shape.length; ++i) {
      if (shape[i] >= 0) continue;
      if (open >= 0) throw unclear(input, "leaves more than one extent open");
      open = i;
    }
    if (open < 0) return new MemoryDescriptor(shape, tensor.element());
    shape[open] = 1;
    MemoryDescriptor one = new MemoryDescriptor(shape, tensor.element());
    if (tensor.element().bits() < Byte.SIZE || one.elements() == 0) throw unclear(input, "has elements whose number does not follow from a size in bytes");
    if (bytes % one.bytes() != 0) throw unclear(input, "needs a multiple of " + one.bytes() + " bytes, and the buffer has " + bytes);
    shape[open] = bytes / one.bytes();
    return new MemoryDescriptor(shape, tensor.element());
  }

  private static OrtException unclear(ValueInfo input, String why) {
    return OrtException.invalid("input " + input + " " + why + ": use bindInput with a shape, as in bindInput(name, segment, shape, type, device)");
  }

  /** Returns the memory of a buffer; throws if its elements are not those of the input. */
  static MemorySegment segmentOf(ValueInfo input, Buffer buffer, DeviceSpec device) {
    Objects.requireNonNull(buffer, "buffer");
    if (!Objects.requireNonNull(device, "device").isHostAccessible()) throw OrtException.invalid("input " + input + " was given a buffer of Java on " + device + ": buffers are in memory of the host, which is DeviceSpec.CPU");
    OnnxTensorElementType type = input.type() instanceof TypeInfo.Tensor tensor ? tensor.element() : OnnxTensorElementType.UNDEFINED;
    if (!types(buffer).contains(type)) throw OrtException.invalid("input " + input + " was given a " + kind(buffer) + ": give a buffer of the element type of the model");
    ByteOrder order = order(buffer);
    if (order != ByteOrder.nativeOrder())
      throw OrtException.invalid("the buffer for input " + input + " has the byte order " + order + ": call order(ByteOrder.nativeOrder()) on the ByteBuffer before it is made a " + kind(buffer));
    return MemorySegment.ofBuffer(buffer);
  }

  private static Set<OnnxTensorElementType> types(Buffer buffer) {
    return switch (buffer) {
      case FloatBuffer b -> EnumSet.of(OnnxTensorElementType.FLOAT);
      case DoubleBuffer b -> EnumSet.of(OnnxTensorElementType.DOUBLE);
      case LongBuffer b -> EnumSet.of(OnnxTensorElementType.INT64, OnnxTensorElementType.UINT64);
      case IntBuffer b -> EnumSet.of(OnnxTensorElementType.INT32, OnnxTensorElementType.UINT32);
      case ShortBuffer b -> EnumSet.of(OnnxTensorElementType.INT16, OnnxTensorElementType.UINT16, OnnxTensorElementType.FLOAT16, OnnxTensorElementType.BFLOAT16);
      case ByteBuffer b -> EnumSet.complementOf(EnumSet.of(OnnxTensorElementType.STRING, OnnxTensorElementType.UNDEFINED));
      default -> EnumSet.noneOf(OnnxTensorElementType.class);
    };
  }

  /** Returns the order of the bytes of elements. That of a ByteBuffer does not describe its contents. */
  private static ByteOrder order(Buffer buffer) {
    return switch (buffer) {
      case FloatBuffer b -> b.order();
      case DoubleBuffer b -> b.order();
      case LongBuffer b -> b.order();
      case IntBuffer b -> b.order();
      case ShortBuffer b -> b.order();
      default -> ByteOrder.nativeOrder();
    };
  }

  /** Returns the name of the type of a buffer without that of its implementation. */
  private static String kind(Buffer buffer) {
    Class<?> type = buffer.getClass();
    while (type.getSuperclass() != Buffer.class && type.getSuperclass() != null) type = type.getSuperclass();
    return type.getSimpleName();
  }
}
