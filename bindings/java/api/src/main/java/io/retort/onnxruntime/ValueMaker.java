package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.KeptCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** Makes values. */
final class ValueMaker {
  private ValueMaker() {}

  static OrtValueRef wrap(OrtApiFFM api, MemorySegment segment, MemoryDescriptor what, DeviceSpec device) {
    if (!segment.isNative())
      throw OrtException.invalid("the segment lies on the heap, which the garbage collector moves: allocate it from an Arena, or use OrtValueRef.allocate and copyFrom");
    if (what.type() == ElementType.STRING) throw OrtException.invalid("texts do not lie in segments: use OrtValueRef.ofStrings");
    if (!segment.scope().isAlive()) throw new IllegalStateException("the arena of the segment is closed");
    // A pointer from other native code has no size in Java; of memory that the host cannot read it is believed.
    long size = segment.byteSize() == 0 && !device.isHostAccessible() ? what.bytes() : segment.byteSize();
    if (size < what.bytes())
      throw OrtException.invalid(what + " takes " + what.bytes() + " bytes, the segment has " + segment.byteSize() + ": give a longer one, or the right shape");
    requireAligned(segment, what);
    if (segment.address() == 0 && what.bytes() > 0) throw OrtException.invalid("the address of the segment is null, " + what + " has elements");
    MemorySegment info = api.memoryInfo(device);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment extents = arena.allocateFrom(ValueLayout.JAVA_LONG, what.shape());
      // By address: a confined segment may be wrapped by a thread for runs of its owner.
      MemorySegment data = MemorySegment.ofAddress(segment.address());
      MemorySegment value = api.pointer(arena,
          out -> api.c.createTensorWithDataAsOrtValue(info, data, size, extents, what.shape().length, what.type().value(), out));
      return new OrtValueRef(new ValueHandle(api, value, segment, what, device));
    }
  }

  /** Engines read elements where they lie, by instructions and in types that want them at multiples of their size. */
  private static void requireAligned(MemorySegment segment, MemoryDescriptor what) {
    long wanted = Math.min(what.type().bytes(1), Long.BYTES);
    if (what.elements() > 0 && segment.address() % wanted != 0)
      throw OrtException.invalid("the segment begins at address " + segment.address() + ", " + what.type() + " wants a multiple of " + wanted
          + ": allocate with that alignment, or copy into a segment that has it");
  }

  static OrtValueRef allocated(OrtApiFFM api, Handle allocator, MemoryDescriptor what) {
    OrtValueRef value = made(api, allocator.address, what, allocator);
    // Official ONNX Runtime does not look at what an allocator of a provider answered: a tensor at no address, and a crash later.
    if (what.elements() == 0 || what.type() == ElementType.STRING || value.deviceAddress().address() != 0) return value;
    value.close();
    throw new OrtException(OrtErrorCode.RUNTIME_EXCEPTION, "the allocator has no memory for " + what + ", " + what.bytes() + " bytes: release values there, or take a smaller shape");
  }

  private static OrtValueRef made(OrtApiFFM api, MemorySegment allocator, MemoryDescriptor what, Handle... parents) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment extents = arena.allocateFrom(ValueLayout.JAVA_LONG, what.shape());
      MemorySegment value = api.pointer(arena, out -> api.c.createTensorAsOrtValue(allocator, extents, what.shape().length, what.type().value(), out));
      return new OrtValueRef(new ValueHandle(api, value, List.of(), parents));
    }
  }

  /** A tensor of the default allocator, which stays until the process ends. */
  static OrtValueRef onHost(OrtApiFFM api, MemoryDescriptor what) {
    return made(api, api.defaultAllocator, what);
  }

  static OrtValueRef ofFloats(OrtEnvironmentFFM env, float[] floats, MemoryDescriptor what) {
    counted(floats.length, what);
    OrtValueRef value = onHost(env.requireOpen(), what);
    ValueHandle handle = (ValueHandle) value.handle();
    try {
      HalfFloats.fromFloats(floats, handle.raw(), what.type());
      return value;
    } catch (RuntimeException e) {
      value.close();
      throw e;
    }
  }

  static OrtValueRef ofStrings(OrtEnvironmentFFM env, String[] texts, MemoryDescriptor what) {
    counted(texts.length, what);
    OrtApiFFM api = env.requireOpen();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment array = arena.allocate(ValueLayout.ADDRESS, Math.max(1, texts.length));
      for (int i = 0; i < texts.length; ++i) array.setAtIndex(ValueLayout.ADDRESS, i, OrtApiFFM.text(arena, "text " + i, texts[i]));
      OrtValueRef value = onHost(api, what);
      try {
        api.check(api.c.fillStringTensor(value.handle().address, array, texts.length));
        return value;
      } catch (RuntimeException e) {
        value.close();
        throw e;
      }
    }
  }

  private static void counted(int given, MemoryDescriptor what) {
    if (given != what.elements()) throw OrtException.invalid(what + " has " + what.elements() + " elements, " + given + " were given");
  }

  static OrtValueRef compound(OrtApiFFM api, List<OrtValueRef> parts, ValueType type) {
    List<ValueHandle> held = new ArrayList<>();
    try (Arena arena = Arena.ofConfined()) {
      List<MemorySegment> segments = new ArrayList<>();
      MemorySegment array = arena.allocate(ValueLayout.ADDRESS, Math.max(1, parts.size()));
      for (OrtValueRef part : parts) {
        ValueHandle handle = (ValueHandle) part.use();
        held.add(handle);
        api.same(handle.api, "the value");
        array.setAtIndex(ValueLayout.ADDRESS, held.size() - 1, handle.address);
        segments.addAll(handle.segments());
      }
      MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
      api.check(created(api, array, held, type, out));
      return new OrtValueRef(new ValueHandle(api, out.get(ValueLayout.ADDRESS, 0), List.copyOf(segments), held.toArray(Handle[]::new)));
    } finally {
      held.forEach(Handle::release);
    }
  }

  /** Maps are made of copies: the arenas of the parts stay open meanwhile. */
  private static long created(OrtApiFFM api, MemorySegment array, List<ValueHandle> parts, ValueType type, MemorySegment out) {
    try {
      return KeptCalls.createValue(api.c, array, parts.size(), type.value(), out, ValueHandle.scopes(parts));
    } catch (IllegalStateException | WrongThreadException e) {
      throw ValueHandle.refused(parts, "a part of the " + type, e);
    }
  }
}
