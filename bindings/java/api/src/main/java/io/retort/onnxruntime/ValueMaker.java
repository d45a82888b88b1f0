package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.KeptCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** Makes values; the caller holds each. */
final class ValueMaker {
  private ValueMaker() {}

  static ValueHandle wrap(OrtApiFFM api, MemorySegment segment, MemoryDescriptor what, DeviceSpec device) {
    if (!segment.isNative())
      throw OrtException.invalid("the segment lies on the heap, which the garbage collector moves: allocate it from an Arena, or use OrtValueRef.allocate and copyFrom");
    if (what.type() == ElementType.STRING) throw OrtException.invalid("texts do not lie in segments: use OrtValueRef.ofStrings");
    if (!segment.scope().isAlive()) throw new IllegalStateException("the arena of the segment is closed");
    // A pointer from other native code has no size in Java: memory of a device counts as long enough.
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
      return new ValueHandle(api, value, segment, what, device);
    }
  }

  /** Engines read elements in place, with instructions and types that need them at multiples of their size. */
  private static void requireAligned(MemorySegment segment, MemoryDescriptor what) {
    long wanted = Math.min(what.type().bytes(1), Long.BYTES);
    if (what.elements() > 0 && segment.address() % wanted != 0)
      throw OrtException.invalid("the segment begins at address " + segment.address() + ", " + what.type() + " wants a multiple of " + wanted
          + ": allocate with that alignment, or copy into a segment that has it");
  }

  static ValueHandle allocated(OrtApiFFM api, Handle allocator, MemoryDescriptor what) {
    ValueHandle value = made(api, allocator.address, what, allocator);
    // Official ONNX Runtime ignores that an allocator of a provider failed: it makes a tensor without an address, and crashes later.
    if (what.elements() == 0 || what.type() == ElementType.STRING || value.raw().address() != 0) return value;
    value.release();
    throw new OrtException(OrtErrorCode.RUNTIME_EXCEPTION, "the allocator has no memory for " + what + ", " + what.bytes() + " bytes: release values there, or take a smaller shape");
  }

  private static ValueHandle made(OrtApiFFM api, MemorySegment allocator, MemoryDescriptor what, Handle... parents) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment extents = arena.allocateFrom(ValueLayout.JAVA_LONG, what.shape());
      MemorySegment value = api.pointer(arena, out -> api.c.createTensorAsOrtValue(allocator, extents, what.shape().length, what.type().value(), out));
      return new ValueHandle(api, value, List.of(), parents);
    }
  }

  /** A tensor of the default allocator, which stays until the process ends. */
  static ValueHandle onHost(OrtApiFFM api, MemoryDescriptor what) {
    return made(api, api.defaultAllocator, what);
  }

  static ValueHandle ofFloats(OrtApiFFM api, float[] floats, MemoryDescriptor what) {
    counted(floats.length, what);
    ValueHandle value = onHost(api, what);
    try {
      HalfFloats.fromFloats(floats, value.raw(), what.type());
      return value;
    } catch (RuntimeException e) {
      value.release();
      throw e;
    }
  }

  static ValueHandle ofStrings(OrtApiFFM api, String[] texts, MemoryDescriptor what) {
    counted(texts.length, what);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment array = arena.allocate(ValueLayout.ADDRESS, Math.max(1, texts.length));
      for (int i = 0; i < texts.length; ++i) array.setAtIndex(ValueLayout.ADDRESS, i, OrtApiFFM.text(arena, "text " + i, texts[i]));
      ValueHandle value = onHost(api, what);
      try {
        api.check(api.c.fillStringTensor(value.address, array, texts.length));
        return value;
      } catch (RuntimeException e) {
        value.release();
        throw e;
      }
    }
  }

  private static void counted(int given, MemoryDescriptor what) {
    if (given != what.elements()) throw OrtException.invalid(what + " has " + what.elements() + " elements, " + given + " were given");
  }

  static ValueHandle compound(OrtApiFFM api, List<ValueHandle> parts, ValueType type) {
    try (Arena arena = Arena.ofConfined()) {
      List<MemorySegment> segments = new ArrayList<>();
      MemorySegment array = arena.allocate(ValueLayout.ADDRESS, Math.max(1, parts.size()));
      for (int i = 0; i < parts.size(); ++i) {
        api.same(parts.get(i).api, "the value");
        array.setAtIndex(ValueLayout.ADDRESS, i, parts.get(i).address);
        segments.addAll(parts.get(i).segments());
      }
      MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
      api.check(created(api, array, parts, type, out));
      return new ValueHandle(api, out.get(ValueLayout.ADDRESS, 0), List.copyOf(segments), parts.toArray(Handle[]::new));
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
