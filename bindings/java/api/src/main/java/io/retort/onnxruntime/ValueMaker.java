package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.KeptCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** Creates values; the caller gets a reference to each. */
final class ValueMaker {
  private ValueMaker() {}

  static ValueHandle wrap(OrtApiFFM api, MemorySegment segment, MemoryDescriptor what, DeviceSpec device) {
    if (!segment.isNative())
      throw OrtException.invalid("the segment is on the heap, which the garbage collector moves: allocate it from an Arena, or use OrtValueRef.allocate and copyFrom");
    if (what.type() == OnnxTensorElementType.STRING) throw OrtException.invalid("segments cannot hold strings: use OrtValueRef.ofStrings");
    if (!segment.scope().isAlive()) throw new IllegalStateException("the arena of the segment is closed");
    // Device memory from other native code has size 0 in Java: it is assumed to be long enough.
    long size = segment.byteSize() == 0 && !device.isHostAccessible() ? what.bytes() : segment.byteSize();
    if (size < what.bytes())
      throw OrtException.invalid(what + " takes " + what.bytes() + " bytes, the segment has " + segment.byteSize() + ": use a longer segment, or correct the shape");
    requireAligned(segment, what);
    if (segment.address() == 0 && what.bytes() > 0) throw OrtException.invalid("the address of the segment is null, " + what + " has elements");
    MemorySegment info = api.memoryInfo(device);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment extents = arena.allocateFrom(ValueLayout.JAVA_LONG, what.shape());
      // Pass the address alone, so that a thread may wrap a confined segment for runs in the thread that owns it.
      MemorySegment data = MemorySegment.ofAddress(segment.address());
      MemorySegment value = api.pointer(arena,
          out -> api.c.createTensorWithDataAsOrtValue(info, data, size, extents, what.shape().length, what.typeOfNewTensor(), out));
      return new ValueHandle(api, value, segment, what, device);
    }
  }

  /**
   * Throws if the segment is not aligned. Engines read elements in place, with instructions and types that need aligned
   * addresses.
   */
  private static void requireAligned(MemorySegment segment, MemoryDescriptor what) {
    long wanted = Math.min(what.type().bytes(1), Long.BYTES);
    if (what.elements() > 0 && segment.address() % wanted != 0)
      throw OrtException.invalid("the segment begins at address " + segment.address() + ", " + what.type() + " needs a multiple of " + wanted
          + ": allocate with that alignment, or copy into a segment that has it");
  }

  static ValueHandle allocated(OrtApiFFM api, Handle allocator, MemoryDescriptor what) {
    ValueHandle value = made(api, allocator.address, what, allocator);
    // If an allocator of a provider fails, official ONNX Runtime does not report it: it creates a tensor with a null
    // address and crashes later.
    if (what.elements() == 0 || what.type() == OnnxTensorElementType.STRING || value.raw().address() != 0) return value;
    value.release();
    throw new OrtException(OrtErrorCode.RUNTIME_EXCEPTION, "the allocator has no memory for " + what + ", " + what.bytes() + " bytes: release values there, or take a smaller shape");
  }

  private static ValueHandle made(OrtApiFFM api, MemorySegment allocator, MemoryDescriptor what, Handle... parents) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment extents = arena.allocateFrom(ValueLayout.JAVA_LONG, what.shape());
      MemorySegment value = api.pointer(arena, out -> api.c.createTensorAsOrtValue(allocator, extents, what.shape().length, what.typeOfNewTensor(), out));
      return new ValueHandle(api, value, List.of(), parents);
    }
  }

  /** Allocates a tensor with the default allocator, which exists until the process ends. */
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
      for (int i = 0; i < texts.length; ++i) array.setAtIndex(ValueLayout.ADDRESS, i, OrtApiFFM.text(arena, "string " + i, texts[i]));
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

  /** Creates a map or a sequence. The library copies the parts of a map, so their arenas stay open during the call. */
  private static long created(OrtApiFFM api, MemorySegment array, List<ValueHandle> parts, ValueType type, MemorySegment out) {
    try {
      return KeptCalls.createValue(api.c, array, parts.size(), type.value(), out, ValueHandle.scopes(parts));
    } catch (IllegalStateException | WrongThreadException e) {
      throw ValueHandle.refused(parts, "a part of the " + type, e);
    }
  }
}
