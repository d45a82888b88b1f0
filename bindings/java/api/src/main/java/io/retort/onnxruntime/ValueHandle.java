package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Owns an OrtValue, the segments of the program that it reads, and the views that the program has of its memory.
 * Thread-safe.
 */
final class ValueHandle extends Handle {
  private static final MemorySegment.Scope ALWAYS = Arena.global().scope();
  private static final MemorySegment[] NONE = {};
  /**
   * The largest number of arenas that a call can keep open. A call has at most 255 arguments; the arenas are some of
   * them.
   */
  private static final int MOST_ARENAS = 200;

  /**
   * Released values whose views cannot be closed yet, because a call in another thread has a view as an argument. The
   * next value that is released tries again.
   */
  private static final ConcurrentLinkedQueue<ValueHandle> WAITING = new ConcurrentLinkedQueue<>();

  private List<MemorySegment> segments;
  private Arena views;
  private MemorySegment view;
  private MemoryDescriptor descriptor;
  private DeviceSpec device;

  ValueHandle(OrtApiFFM api, MemorySegment address, List<MemorySegment> segments, Handle... parents) {
    super(api, ObjectKind.VALUE, address, parents);
    this.segments = segments;
  }

  /** Creates the handle of a tensor over memory of the program. */
  ValueHandle(OrtApiFFM api, MemorySegment address, MemorySegment segment, MemoryDescriptor descriptor, DeviceSpec device) {
    this(api, address, List.of(segment));
    this.descriptor = descriptor;
    this.device = device;
  }

  /**
   * Creates the handle of a result of a run. An output may share the bytes of an input. If these are in memory of the
   * program, the result is treated as a tensor over that memory.
   */
  static ValueHandle result(OrtApiFFM api, MemorySegment address, Collection<ValueHandle> inputs) {
    ValueHandle made = new ValueHandle(api, address, List.of());
    try {
      made.borrow(inputs.stream().flatMap(input -> input.segments.stream()).toList());
      return made;
    } catch (RuntimeException e) {
      made.release();
      throw e;
    }
  }

  /** Records the segment that a tensor is in, if it is in memory of the program. Called before the handle is shared. */
  private void borrow(List<MemorySegment> lent) {
    long most = 0;
    for (MemorySegment segment : lent) most = Math.max(most, segment.byteSize());
    long data = most == 0 ? 0 : data(most);
    for (MemorySegment segment : lent) {
      if (data < segment.address() || data >= segment.address() + segment.byteSize()) continue;
      segments = List.of(segment.asSlice(data - segment.address()));
      return;
    }
  }

  /** Creates the handles of several results of a run. Takes over all of them, even if it throws. */
  static List<ValueHandle> results(OrtApiFFM api, List<MemorySegment> addresses, Collection<ValueHandle> inputs) {
    List<ValueHandle> made = new ArrayList<>();
    int next = 0;
    try {
      while (next < addresses.size()) made.add(result(api, addresses.get(next++), inputs));
      return made;
    } catch (RuntimeException e) {
      made.forEach(Handle::release);
      addresses.subList(next, addresses.size()).forEach(api.c::releaseValue);
      throw e;
    }
  }

  /**
   * Returns the address of a tensor; 0 for other values, and for a tensor with more than {@code mostBytes} bytes.
   * Asking for the address has a cost: if Retort grows the tensor in place (a cache), it copies it into contiguous
   * memory first.
   */
  private long data(long mostBytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(8, 8);
      api.check(api.c.isTensor(address, out));
      if (out.get(ValueLayout.JAVA_INT, 0) == 0) return 0;
      api.check(api.c.hasValue(address, out));
      if (out.get(ValueLayout.JAVA_INT, 0) == 0 || bytes(out) > mostBytes) return 0;
      api.check(api.c.getTensorMutableData(address, out));
      return out.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  /**
   * Returns the number of bytes of a tensor; {@code Long.MAX_VALUE} for strings, which are never in memory of the
   * program.
   */
  private long bytes(MemorySegment out) {
    if (api.apiVersion() < 23) return descriptor().type() == OnnxTensorElementType.STRING ? Long.MAX_VALUE : descriptor().bytes();
    MemorySegment status = api.c.getTensorSizeInBytes(address, out);
    if (status.address() == 0) return out.get(ValueLayout.JAVA_LONG, 0);
    api.c.releaseStatus(status);
    return Long.MAX_VALUE;
  }

  @Override
  void free() {
    if (!tryFree()) WAITING.add(this);
    for (int n = WAITING.size(); n > 0; --n) {
      ValueHandle other = WAITING.poll();
      if (other != null && !other.tryFree()) WAITING.add(other);
    }
  }

  private synchronized boolean tryFree() {
    try {
      if (views != null) views.close();
    } catch (IllegalStateException inUse) {
      return false;
    }
    api.c.releaseValue(address);
    return true;
  }

  /** Returns the segments of the program that hold the value or its elements. */
  List<MemorySegment> segments() {
    return segments;
  }

  /** Returns the bytes of a tensor on the host, for a copy while the caller holds a reference. */
  MemorySegment bytes() {
    if (!device().isHostAccessible()) throw OrtException.invalid("the tensor is on " + device() + ", which the host cannot reach: use copyTensors");
    return segments.isEmpty() ? raw() : view();
  }

  /** As above, with exactly the bytes of the elements; throws if they are not numbers. */
  MemorySegment readable() {
    MemoryDescriptor d = visible();
    return bytes().asSlice(0, d.bytes());
  }

  /** As above, for writing. */
  MemorySegment writable(String what) {
    requireWritable(what);
    return bytes();
  }

  /** Throws if the memory is read-only. */
  void requireWritable(String what) {
    for (MemorySegment segment : segments) {
      if (segment.isReadOnly()) throw OrtException.invalid(what + " is in a read-only segment: use one that can be written");
    }
  }

  /** Throws if the value has no contents: an output before its first run, or a missing optional value. */
  private void present() {
    if (api.integer(out -> api.c.hasValue(address, out)) == 0)
      throw new OrtException(OrtErrorCode.FAIL, "the value is empty: it is an output that has not been computed yet, or an optional value that is missing");
  }

  synchronized ValueType type() {
    if (descriptor != null) return ValueType.TENSOR;
    present();
    return ValueType.of(api.integer(out -> api.c.getValueType(address, out)));
  }

  /** Returns type and shape; throws if the value is not a tensor. */
  synchronized MemoryDescriptor descriptor() {
    if (descriptor == null) {
      ValueType type = type();
      if (type != ValueType.TENSOR) throw OrtException.invalid("the value is a " + type + ", not a TENSOR: " + (type == ValueType.MAP ? "use entries()" : "use elements()"));
      descriptor = new TypeReader(api).descriptor(address);
    }
    return descriptor;
  }

  /** Returns the place of a tensor. */
  synchronized DeviceSpec device() {
    if (device == null) {
      descriptor();
      device = api.device(api.pointer(out -> api.c.getTensorMemoryInfo(address, out)));
    }
    return device;
  }

  /**
   * Returns the bytes of a tensor as a segment without a lifetime; the caller must hold a reference while it uses the
   * segment.
   */
  MemorySegment raw() {
    MemoryDescriptor d = descriptor();
    MemorySegment data = api.pointer(out -> api.c.getTensorMutableData(address, out));
    return Memory.view(data, d.bytes());
  }

  /** Throws if the program cannot read the bytes of the tensor. */
  private MemoryDescriptor visible() {
    MemoryDescriptor d = descriptor();
    if (d.type() == OnnxTensorElementType.STRING) throw OrtException.invalid("strings have no memory that the program can read: use strings()");
    if (!device().isHostAccessible()) throw OrtException.invalid("the tensor is on " + device() + ", which the host cannot read: copy it with copyTensors or copyOutputsToCpu first");
    return d;
  }

  /** Returns the bytes of a tensor, for the program. */
  synchronized MemorySegment view() {
    MemoryDescriptor d = visible();
    if (!segments.isEmpty()) return segments.get(0).asSlice(0, d.bytes());
    if (view == null) {
      views = Arena.ofShared();
      view = Memory.view(raw(), d.bytes(), views, null);
    }
    return view;
  }

  /** As above, for as long as the arena is open. Closing the arena drops a reference to the value. */
  MemorySegment view(Arena arena) {
    MemoryDescriptor d = visible();
    if (!segments.isEmpty()) return segments.get(0).asSlice(0, d.bytes());
    MemorySegment bytes = raw();
    retain();
    try {
      return Memory.view(bytes, d.bytes(), arena, end -> release());
    } catch (RuntimeException e) {
      release();
      throw e;
    }
  }

  /**
   * Returns one segment per arena, for a call that must keep these arenas open. Arenas that never close are left out.
   */
  static MemorySegment[] scopes(Collection<ValueHandle> values) {
    List<MemorySegment> kept = new ArrayList<>();
    for (ValueHandle value : values) {
      for (MemorySegment segment : value.segments) {
        if (segment.scope().equals(ALWAYS) || kept.stream().anyMatch(k -> k.scope().equals(segment.scope()))) continue;
        kept.add(segment);
      }
    }
    if (kept.size() > MOST_ARENAS) throw OrtException.invalid("the values of the run are in " + kept.size() + " arenas, at most " + MOST_ARENAS + " can be kept open: allocate from fewer");
    return kept.isEmpty() ? NONE : kept.toArray(NONE);
  }

  /**
   * Returns the exception for a call that the linker refused because this value is in a closed arena or in an arena of
   * another thread; null if this value is not the reason.
   *
   * @param what the name of the value, for the message
   */
  RuntimeException refused(String what, RuntimeException cause) {
    for (MemorySegment segment : segments) {
      if (!segment.scope().isAlive())
        return new IllegalStateException(what + " is in memory whose arena is closed: keep the arena open as long as the value is used, or use another segment", cause);
      if (!segment.isAccessibleBy(Thread.currentThread()))
        return new OrtException(OrtErrorCode.INVALID_ARGUMENT, what + " is in a confined arena of another thread: use Arena.ofShared() for values of runs in other threads", cause);
    }
    return null;
  }

  /** As above, for a call with several values; returns the cause itself if none of the values is the reason. */
  static RuntimeException refused(Collection<ValueHandle> values, String what, RuntimeException cause) {
    for (ValueHandle value : values) {
      RuntimeException refusal = value.refused(what, cause);
      if (refusal != null) return refusal;
    }
    return cause;
  }

  /** Returns the elements of a sequence, or the keys and values of a map; the caller gets a reference to each. */
  List<ValueHandle> parts() {
    long count = api.number(out -> api.c.getValueCount(address, out));
    List<ValueHandle> parts = new ArrayList<>();
    try {
      for (int i = 0; i < count; ++i) {
        int index = i;
        // A part may share the bytes of the whole, which may be in memory of the program.
        MemorySegment part = api.pointer(out -> api.c.getValue(address, index, api.defaultAllocator, out));
        ValueHandle handle = new ValueHandle(api, part, List.of(), this);
        parts.add(handle);
        handle.borrow(segments);
      }
    } catch (RuntimeException e) {
      parts.forEach(Handle::release);
      throw e;
    }
    return parts;
  }

  /** Returns the strings of a tensor. */
  String[] strings() {
    MemoryDescriptor d = descriptor();
    if (d.type() != OnnxTensorElementType.STRING) throw OrtException.invalid("elements are " + d.type() + ", not STRING: read them as numbers");
    int count = Math.toIntExact(d.elements());
    String[] all = new String[count];
    if (count == 0) return all;
    try (Arena arena = Arena.ofConfined()) {
      long length = api.number(out -> api.c.getStringTensorDataLength(address, out));
      MemorySegment text = arena.allocate(Math.max(1, length));
      MemorySegment starts = arena.allocate(ValueLayout.JAVA_LONG, count);
      api.check(api.c.getStringTensorContent(address, text, length, starts, count));
      for (int i = 0; i < count; ++i) {
        long begin = starts.getAtIndex(ValueLayout.JAVA_LONG, i);
        long end = i + 1 < count ? starts.getAtIndex(ValueLayout.JAVA_LONG, i + 1) : length;
        all[i] = new String(text.asSlice(begin, end - begin).toArray(ValueLayout.JAVA_BYTE), java.nio.charset.StandardCharsets.UTF_8);
      }
    }
    return all;
  }

  /** Returns copies of the elements of a tensor that is a part of a map. */
  Object[] objects() {
    OnnxTensorElementType type = descriptor().type();
    if (type == OnnxTensorElementType.STRING) return strings();
    MemorySegment raw = raw();
    Object[] all = new Object[Math.toIntExact(descriptor().elements())];
    for (int i = 0; i < all.length; ++i) {
      all[i] = switch (type) {
        case INT64 -> raw.getAtIndex(ValueLayout.JAVA_LONG, i);
        case FLOAT -> raw.getAtIndex(ValueLayout.JAVA_FLOAT, i);
        case DOUBLE -> raw.getAtIndex(ValueLayout.JAVA_DOUBLE, i);
        default -> throw OrtException.invalid("a map of " + type + " is not known");
      };
    }
    return all;
  }
}
