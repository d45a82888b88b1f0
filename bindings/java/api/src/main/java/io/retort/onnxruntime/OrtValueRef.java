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

/**
 * A reference to a value of the library: a tensor, a sequence or a map. Values are counted: {@link #retain()} makes a second
 * reference, and the value is released when all references are closed, its bindings are cleared, and runs with it are over.
 *
 * <p>A tensor over a segment of the program reads and writes that segment; nothing is copied. The segment's arena must stay
 * open as long as the value is used: a run with a closed one is an {@link IllegalStateException}, and while a run is under way
 * its arenas cannot be closed. Values that the library made lie in its memory, and views of that end with the value.
 *
 * <p>Thread-safe; contents are not guarded against runs that write them.
 */
public final class OrtValueRef extends NativeObject {
  /** Takes over one hold of the handle. */
  OrtValueRef(ValueHandle handle) {
    super(handle);
  }

  /** The handles of values for a call. Adds them to {@code held}, which the caller releases. */
  static List<ValueHandle> hold(Collection<OrtValueRef> values, List<Handle> held) {
    List<ValueHandle> handles = new ArrayList<>();
    for (OrtValueRef value : values) {
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
   * A tensor over memory of the program on the host.
   *
   * @param env the environment
   * @param segment native memory, at least as long as the elements; it is used where it lies
   * @param type type of the elements
   * @param shape extents, outermost first
   * @return the tensor
   * @throws OrtException if the segment is too short or on the heap, or elements of the type lie elsewhere
   */
  public static OrtValueRef wrap(OrtEnvironmentFFM env, MemorySegment segment, ElementType type, long... shape) {
    return new OrtValueRef(ValueMaker.wrap(env.requireOpen(), segment, new MemoryDescriptor(type, shape), DeviceSpec.CPU));
  }

  /**
   * A tensor over memory of the program anywhere.
   *
   * @param env the environment
   * @param segment address and size of the memory; on a device, that of the device, where one without a size is taken to be long enough
   * @param what type and shape
   * @param device where the memory is
   * @return the tensor
   * @throws OrtException if the segment is too short or on the heap
   */
  public static OrtValueRef wrap(OrtEnvironmentFFM env, MemorySegment segment, MemoryDescriptor what, DeviceSpec device) {
    return new OrtValueRef(ValueMaker.wrap(env.requireOpen(), segment, what, device));
  }

  /**
   * A tensor in memory of the library on the host.
   *
   * @param env the environment
   * @param type type of the elements
   * @param shape extents, outermost first
   * @return the tensor; its contents are not set
   */
  public static OrtValueRef allocate(OrtEnvironmentFFM env, ElementType type, long... shape) {
    return new OrtValueRef(ValueMaker.onHost(env.requireOpen(), new MemoryDescriptor(type, shape)));
  }

  /**
   * A tensor of copies of numbers.
   *
   * @param env the environment
   * @param floats the numbers, as many as the shape has elements
   * @param type {@link ElementType#FLOAT}, {@link ElementType#FLOAT16} or {@link ElementType#BFLOAT16}, to which they are rounded
   * @param shape extents, outermost first
   * @return the tensor
   */
  public static OrtValueRef ofFloats(OrtEnvironmentFFM env, float[] floats, ElementType type, long... shape) {
    return new OrtValueRef(ValueMaker.ofFloats(env.requireOpen(), floats, new MemoryDescriptor(type, shape)));
  }

  /**
   * A tensor of texts.
   *
   * @param env the environment
   * @param texts as many as the shape has elements; they are copied. A text with a zero (U+0000) is refused: the library would cut it there
   * @param shape extents, outermost first
   * @return the tensor
   */
  public static OrtValueRef ofStrings(OrtEnvironmentFFM env, String[] texts, long... shape) {
    return new OrtValueRef(ValueMaker.ofStrings(env.requireOpen(), texts, new MemoryDescriptor(ElementType.STRING, shape)));
  }

  /**
   * A sequence.
   *
   * @param env the environment
   * @param elements at least one, all tensors or all maps; the sequence holds them
   * @return the sequence
   */
  public static OrtValueRef ofSequence(OrtEnvironmentFFM env, List<OrtValueRef> elements) {
    return compound(env, elements, ValueType.SEQUENCE);
  }

  /**
   * A map.
   *
   * @param env the environment
   * @param keys tensor of one dimension, of texts or INT64
   * @param values tensor of as many values; the map holds both
   * @return the map
   */
  public static OrtValueRef ofMap(OrtEnvironmentFFM env, OrtValueRef keys, OrtValueRef values) {
    return compound(env, List.of(keys, values), ValueType.MAP);
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

  /** {@return a second reference to the same value, to be closed by itself} */
  public OrtValueRef retain() {
    return new OrtValueRef((ValueHandle) use());
  }

  /** {@return the kind of the value} */
  public ValueType valueType() {
    return read(ValueHandle::type);
  }

  /**
   * {@return type and shape of a tensor}
   *
   * @throws OrtException if the value is not a tensor, or is empty
   */
  public MemoryDescriptor descriptor() {
    return read(ValueHandle::descriptor);
  }

  /** {@return type of the elements of a tensor} */
  public ElementType elementType() {
    return descriptor().type();
  }

  /** {@return extents of a tensor, outermost first} */
  public long[] shape() {
    return descriptor().shape();
  }

  /** {@return the place of a tensor} */
  public DeviceSpec device() {
    return read(ValueHandle::device);
  }

  /**
   * The memory of a tensor on the host. For a tensor over a segment of the program, that segment; else a view that ends when
   * the value is released: reading it then throws {@link IllegalStateException}. Any thread may read it, so where the library made
   * the value, its release waits until all threads of Java have noticed: some microseconds, hundreds on a busy machine.
   * {@link #asSegment(Arena)}, {@link #toFloats} and {@link #copyTo} do not wait.
   *
   * @return its bytes, in the order of elements
   * @throws OrtException if the value is not a tensor, holds texts, or lies on a device
   */
  public MemorySegment asSegment() {
    return read(ValueHandle::view);
  }

  /**
   * The memory of a tensor on the host, for as long as an arena is open. For a tensor over a segment of the program, that segment;
   * else a view for the threads that may use the arena, which holds the value: closing references does not release it before.
   *
   * @param arena the lifetime of the view; a confined one costs next to nothing. The global one keeps the value until the process ends
   * @return its bytes, in the order of elements
   * @throws OrtException if the value is not a tensor, holds texts, or lies on a device
   * @throws IllegalStateException if the arena is closed
   */
  public MemorySegment asSegment(Arena arena) {
    return read(value -> value.view(arena));
  }

  /**
   * {@return the address of a tensor, on any device, as a segment without a size: for other native code. It is valid as long as the
   * value is held}
   */
  public MemorySegment deviceAddress() {
    return read(value -> MemorySegment.ofAddress(value.raw().address()));
  }

  /**
   * Copies the bytes of a tensor on the host.
   *
   * @param to the target, at least as long
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
   * @param from as many bytes as the tensor has
   * @throws OrtException if there are fewer, or the tensor is not on the host or lies in a read-only segment
   */
  public void copyFrom(MemorySegment from) {
    read(value -> {
      long bytes = value.descriptor().bytes();
      if (from.byteSize() < bytes) throw OrtException.invalid(value.descriptor() + " takes " + bytes + " bytes, the segment has " + from.byteSize());
      MemorySegment.copy(from, 0, value.writable("the tensor"), 0, bytes);
      return null;
    });
  }

  /** {@return copies of the numbers of a tensor on the host, of FLOAT, FLOAT16 or BFLOAT16} */
  public float[] toFloats() {
    return read(value -> HalfFloats.toFloats(value.bytes(), value.descriptor().type()));
  }

  private ByteBuffer buffer(String wanted, ElementType... types) {
    return read(value -> {
      ElementType type = value.descriptor().type();
      for (ElementType one : types) {
        if (one == type) return value.view().asByteBuffer().order(ByteOrder.nativeOrder());
      }
      throw OrtException.invalid("elements are " + type + ", not " + wanted + ": take another view, or asSegment()");
    });
  }

  /** {@return {@link #asSegment()} of FLOAT as a buffer, of at most 2 GiB} */
  public FloatBuffer asFloatBuffer() {
    return buffer("float", ElementType.FLOAT).asFloatBuffer();
  }

  /** {@return {@link #asSegment()} of DOUBLE as a buffer, of at most 2 GiB} */
  public DoubleBuffer asDoubleBuffer() {
    return buffer("double", ElementType.DOUBLE).asDoubleBuffer();
  }

  /** {@return {@link #asSegment()} of INT64 or UINT64 as a buffer, of at most 2 GiB} */
  public LongBuffer asLongBuffer() {
    return buffer("long", ElementType.INT64, ElementType.UINT64).asLongBuffer();
  }

  /** {@return {@link #asSegment()} of INT32 or UINT32 as a buffer, of at most 2 GiB} */
  public IntBuffer asIntBuffer() {
    return buffer("int", ElementType.INT32, ElementType.UINT32).asIntBuffer();
  }

  /** {@return {@link #asSegment()} of INT16, UINT16, FLOAT16 or BFLOAT16 as a buffer of their bits, of at most 2 GiB} */
  public ShortBuffer asShortBuffer() {
    return buffer("short", ElementType.INT16, ElementType.UINT16, ElementType.FLOAT16, ElementType.BFLOAT16).asShortBuffer();
  }

  /** {@return {@link #asSegment()} of any type as a buffer in the byte order of the machine, of at most 2 GiB} */
  public ByteBuffer asByteBuffer() {
    return buffer("number", ElementType.values());
  }

  /**
   * {@return copies of the texts of a tensor}
   *
   * @throws OrtException if the tensor holds numbers
   */
  public String[] strings() {
    return read(ValueHandle::strings);
  }

  /**
   * {@return references to the elements of a sequence, to be closed by the caller}
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

  /** Type, shape and place of a tensor, the kind of other values, or that the reference is closed; for messages. */
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
