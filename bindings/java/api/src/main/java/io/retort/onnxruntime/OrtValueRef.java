package io.retort.onnxruntime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A reference to a value of the library: a tensor, a sequence or a map. Values are reference-counted: {@link #retain()}
 * returns a second reference. A value is released when all references to it are closed, no binding holds it, and no run
 * uses it.
 *
 * <p>A tensor over a segment of the program reads and writes that segment; nothing is copied. The arena of the segment
 * must stay open as long as the value is used: a run with a closed arena throws {@link IllegalStateException}, and an
 * arena cannot be closed while a run uses it. The library allocates the memory of other values. Views of it end when
 * the value is released.
 *
 * <p>Thread-safe, but nothing prevents a run from writing the contents while another thread reads them.
 */
public final class OrtValueRef extends NativeObject {
  /** Takes over one reference to the handle. */
  OrtValueRef(ValueHandle handle) {
    super(handle);
  }

  /** Returns the handles of values for a call. Adds them to {@code held}; the caller releases these. */
  static List<ValueHandle> hold(Collection<OrtValueRef> values, List<Handle> held) {
    List<ValueHandle> handles = new ArrayList<>();
    for (OrtValueRef value : values) {
      if (value == null) throw new NullPointerException("value " + handles.size());
      handles.add((ValueHandle) value.use());
      held.add(value.handle());
    }
    return handles;
  }

  private static OrtValueRef compound(OrtEnvironmentFFM env, List<OrtValueRef> parts, ValueType type) {
    List<Handle> held = new ArrayList<>();
    try {
      return new OrtValueRef(ValueMaker.compound(env.requireOpen(), hold(parts, held), type));
    } finally {
      held.forEach(Handle::release);
    }
  }

  /**
   * Creates a tensor over host memory of the program.
   *
   * @param env the environment
   * @param segment native memory, at least as long as the elements; it is used in place
   * @param type type of the elements
   * @param shape the extents, outermost first
   * @return the tensor
   * @throws OrtException if the segment is too short or on the heap, or segments cannot hold elements of the type
   */
  public static OrtValueRef wrap(OrtEnvironmentFFM env, MemorySegment segment, OnnxTensorElementType type, long... shape) {
    return new OrtValueRef(ValueMaker.wrap(env.requireOpen(), segment, new MemoryDescriptor(type, shape), DeviceSpec.CPU));
  }

  /**
   * Creates a tensor over memory of the program in any place.
   *
   * @param env the environment
   * @param segment address and size of the memory. For a device, a device address; a segment of size 0 is assumed to be
   * long enough
   * @param what element type and shape
   * @param device place of the memory
   * @return the tensor
   * @throws OrtException if the segment is too short or on the heap
   */
  public static OrtValueRef wrap(OrtEnvironmentFFM env, MemorySegment segment, MemoryDescriptor what, DeviceSpec device) {
    return new OrtValueRef(ValueMaker.wrap(env.requireOpen(), segment, what, device));
  }

  /**
   * Creates a tensor in host memory of the library.
   *
   * @param env the environment
   * @param type type of the elements
   * @param shape the extents, outermost first
   * @return the tensor; its contents are undefined
   */
  public static OrtValueRef allocate(OrtEnvironmentFFM env, OnnxTensorElementType type, long... shape) {
    return new OrtValueRef(ValueMaker.onHost(env.requireOpen(), new MemoryDescriptor(type, shape)));
  }

  /**
   * Creates a tensor with copies of numbers.
   *
   * @param env the environment
   * @param floats the numbers, as many as the shape has elements
   * @param type {@link OnnxTensorElementType#FLOAT}, {@link OnnxTensorElementType#FLOAT16} or {@link OnnxTensorElementType#BFLOAT16}, to which the
   *     numbers are rounded
   * @param shape the extents, outermost first
   * @return the tensor
   */
  public static OrtValueRef ofFloats(OrtEnvironmentFFM env, float[] floats, OnnxTensorElementType type, long... shape) {
    return new OrtValueRef(ValueMaker.ofFloats(env.requireOpen(), floats, new MemoryDescriptor(type, shape)));
  }

  /**
   * Creates a tensor of strings.
   *
   * @param env the environment
   * @param texts as many strings as the shape has elements; they are copied. A string with U+0000 is refused, because
   * the library would cut it there
   * @param shape the extents, outermost first
   * @return the tensor
   */
  public static OrtValueRef ofStrings(OrtEnvironmentFFM env, String[] texts, long... shape) {
    return new OrtValueRef(ValueMaker.ofStrings(env.requireOpen(), texts, new MemoryDescriptor(OnnxTensorElementType.STRING, shape)));
  }

  /**
   * Creates a sequence.
   *
   * @param env the environment
   * @param elements at least one value, all of them tensors or all of them maps; the sequence keeps them alive
   * @return the sequence
   */
  public static OrtValueRef ofSequence(OrtEnvironmentFFM env, List<OrtValueRef> elements) {
    return compound(env, elements, ValueType.SEQUENCE);
  }

  /**
   * Creates a map.
   *
   * @param env the environment
   * @param keys tensor with one dimension, of STRING or INT64
   * @param values tensor with as many values as there are keys; the map keeps both tensors alive
   * @return the map
   */
  public static OrtValueRef ofMap(OrtEnvironmentFFM env, OrtValueRef keys, OrtValueRef values) {
    return compound(env, List.of(Objects.requireNonNull(keys, "keys"), Objects.requireNonNull(values, "values")), ValueType.MAP);
  }

  @Override
  String title() {
    return "value";
  }

  private interface Reading<T> {
    T of(ValueHandle value);
  }

  private <T> T read(Reading<T> reading) {
    ValueHandle value = (ValueHandle) use();
    try {
      return reading.of(value);
    } finally {
      value.release();
    }
  }

  /** {@return a second reference to the same value; the caller closes it, too} */
  public OrtValueRef retain() {
    return new OrtValueRef((ValueHandle) use());
  }

  /** {@return the kind of the value} */
  public ValueType valueType() {
    return read(ValueHandle::type);
  }

  /**
   * {@return element type and shape of a tensor}
   *
   * @throws OrtException if the value is not a tensor, or is empty
   */
  public MemoryDescriptor descriptor() {
    return read(ValueHandle::descriptor);
  }

  /** {@return the type of the elements of a tensor} */
  public OnnxTensorElementType elementType() {
    return descriptor().type();
  }

  /** {@return the extents of a tensor, outermost first} */
  public long[] shape() {
    return descriptor().shape();
  }

  /** {@return the place of a tensor} */
  public DeviceSpec device() {
    return read(ValueHandle::device);
  }

  /**
   * Returns the memory of a tensor on the host. For a tensor over a segment of the program, this is that segment.
   * Otherwise it is a view, which ends when the value is released: reading it then throws {@link
   * IllegalStateException}. Any thread may read the view. Therefore the release of a value with such a view waits until
   * all Java threads have noticed that the view has ended, which takes some microseconds, or hundreds on a busy
   * machine. {@link #asSegment(Arena)}, {@link #toFloats} and {@link #copyTo} avoid this wait.
   *
   * @return the bytes of the tensor, in the order of its elements
   * @throws OrtException if the value is not a tensor, holds strings, or is on a device
   */
  public MemorySegment asSegment() {
    return read(ValueHandle::view);
  }

  /**
   * Returns the memory of a tensor on the host, with the lifetime of an arena. For a tensor over a segment of the
   * program, this is that segment. Otherwise it is a view for the threads that may use the arena. The arena keeps the
   * value alive until it is closed, even if all references are closed earlier.
   *
   * @param arena the lifetime of the view. A confined arena costs almost nothing. The global arena keeps the value
   * until the process ends
   * @return the bytes of the tensor, in the order of its elements
   * @throws OrtException if the value is not a tensor, holds strings, or is on a device
   * @throws IllegalStateException if the arena is closed
   */
  public MemorySegment asSegment(Arena arena) {
    Objects.requireNonNull(arena, "arena");
    return read(value -> value.view(arena));
  }

  /**
   * {@return the address of a tensor, on any device, as a segment of size 0, for other native code. It is valid until
   * the value is released}
   */
  public MemorySegment deviceAddress() {
    return read(value -> MemorySegment.ofAddress(value.raw().address()));
  }

  /**
   * Copies the bytes of a tensor on the host.
   *
   * @param to the target, at least as long as the tensor
   * @throws OrtException if the target is too short or read-only, or the tensor is not on the host
   */
  public void copyTo(MemorySegment to) {
    read(value -> {
      long bytes = value.descriptor().bytes();
      if (to.byteSize() < bytes) throw OrtException.invalid(value.descriptor() + " takes " + bytes + " bytes, the segment has " + to.byteSize());
      if (to.isReadOnly()) throw OrtException.invalid("the segment is read-only: give one that can be written");
      MemorySegment.copy(value.bytes(), 0, to, 0, bytes);
      return null;
    });
  }

  /**
   * Copies bytes into a tensor on the host.
   *
   * @param from the source, at least as long as the tensor
   * @throws OrtException if the source is too short, or the tensor is not on the host or is in a read-only segment
   */
  public void copyFrom(MemorySegment from) {
    read(value -> {
      long bytes = value.descriptor().bytes();
      if (from.byteSize() < bytes) throw OrtException.invalid(value.descriptor() + " takes " + bytes + " bytes, the segment has " + from.byteSize());
      MemorySegment.copy(from, 0, value.writable("the tensor"), 0, bytes);
      return null;
    });
  }

  /** {@return copies of the numbers of a FLOAT, FLOAT16 or BFLOAT16 tensor on the host} */
  public float[] toFloats() {
    return read(value -> HalfFloats.toFloats(value.bytes(), value.descriptor().type()));
  }

  private ByteBuffer buffer(String wanted, OnnxTensorElementType... types) {
    return read(value -> {
      OnnxTensorElementType type = value.descriptor().type();
      for (OnnxTensorElementType one : types) {
        if (one == type) return value.view().asByteBuffer().order(ByteOrder.nativeOrder());
      }
      throw OrtException.invalid("elements are " + type + ", not " + wanted + ": use the buffer of that type, or asSegment()");
    });
  }

  /** {@return {@link #asSegment()} of a FLOAT tensor as a buffer, at most 2 GiB} */
  public FloatBuffer asFloatBuffer() {
    return buffer("float", OnnxTensorElementType.FLOAT).asFloatBuffer();
  }

  /** {@return {@link #asSegment()} of a DOUBLE tensor as a buffer, at most 2 GiB} */
  public DoubleBuffer asDoubleBuffer() {
    return buffer("double", OnnxTensorElementType.DOUBLE).asDoubleBuffer();
  }

  /** {@return {@link #asSegment()} of an INT64 or UINT64 tensor as a buffer, at most 2 GiB} */
  public LongBuffer asLongBuffer() {
    return buffer("long", OnnxTensorElementType.INT64, OnnxTensorElementType.UINT64).asLongBuffer();
  }

  /** {@return {@link #asSegment()} of an INT32 or UINT32 tensor as a buffer, at most 2 GiB} */
  public IntBuffer asIntBuffer() {
    return buffer("int", OnnxTensorElementType.INT32, OnnxTensorElementType.UINT32).asIntBuffer();
  }

  /**
   * {@return {@link #asSegment()} of an INT16, UINT16, FLOAT16 or BFLOAT16 tensor as a buffer of their bits, at most 2
   * GiB}
   */
  public ShortBuffer asShortBuffer() {
    return buffer("short", OnnxTensorElementType.INT16, OnnxTensorElementType.UINT16, OnnxTensorElementType.FLOAT16, OnnxTensorElementType.BFLOAT16).asShortBuffer();
  }

  /** {@return {@link #asSegment()} of a tensor of any type as a buffer in the native byte order, at most 2 GiB} */
  public ByteBuffer asByteBuffer() {
    return buffer("number", OnnxTensorElementType.values());
  }

  /**
   * {@return copies of the strings of a tensor}
   *
   * @throws OrtException if the tensor holds numbers
   */
  public String[] strings() {
    return read(ValueHandle::strings);
  }

  /**
   * {@return references to the elements of a sequence; the caller closes them}
   *
   * @throws OrtException if the value is not a sequence
   */
  public List<OrtValueRef> elements() {
    return read(value -> {
      if (value.type() != ValueType.SEQUENCE) throw OrtException.invalid("the value is a " + value.type() + ", not a SEQUENCE");
      List<OrtValueRef> elements = new ArrayList<>();
      value.parts().forEach(part -> elements.add(new OrtValueRef(part)));
      return elements;
    });
  }

  /**
   * {@return copies of the keys (String or Long) and values (String, Long, Float or Double) of a map}
   *
   * @throws OrtException if the value is not a map
   */
  public Map<Object, Object> entries() {
    return read(value -> {
      if (value.type() != ValueType.MAP) throw OrtException.invalid("the value is a " + value.type() + ", not a MAP");
      List<ValueHandle> parts = value.parts();
      try {
        Object[] keys = parts.get(0).objects();
        Object[] values = parts.get(1).objects();
        Map<Object, Object> entries = new LinkedHashMap<>();
        for (int i = 0; i < keys.length; ++i) entries.put(keys[i], values[i]);
        return entries;
      } finally {
        parts.forEach(Handle::release);
      }
    });
  }

  /**
   * Returns type, shape and place of a tensor, or the kind of another value, or reports that the reference is closed;
   * for messages.
   */
  @Override
  public String toString() {
    try {
      return read(value -> value.type() == ValueType.TENSOR ? value.descriptor() + " on " + value.device() : value.type().toString());
    } catch (IllegalStateException closed) {
      return "value (closed)";
    } catch (OrtException empty) {
      return "value (empty)";
    }
  }
}
