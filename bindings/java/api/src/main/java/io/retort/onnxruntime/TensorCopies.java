package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.KeptCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** Copies tensors between places. */
final class TensorCopies {
  private TensorCopies() {}

  /** Copies between tensors to which the caller holds references. The stream may be null. */
  static void copy(Handle env, List<ValueHandle> from, List<ValueHandle> to, SyncStream.StreamHandle stream) {
    if (stream != null) env.api.same(stream.api, "the stream");
    if (from.size() != to.size()) throw OrtException.invalid(from.size() + " tensors are to be copied into " + to.size() + ": pass as many targets as sources");
    from.forEach(value -> env.api.same(value.api, "the tensor"));
    to.forEach(value -> env.api.same(value.api, "the tensor"));
    boolean host = true;
    for (int i = 0; i < from.size(); ++i) {
      fit(i, from.get(i), to.get(i));
      host &= from.get(i).device().isHostAccessible() && to.get(i).device().isHostAccessible();
    }
    if (!host) {
      devices(env, from, to, stream);
      return;
    }
    for (int i = 0; i < from.size(); ++i) MemorySegment.copy(from.get(i).bytes(), 0, to.get(i).writable("tensor " + i), 0, from.get(i).descriptor().bytes());
  }

  private static void fit(int i, ValueHandle from, ValueHandle to) {
    if (!from.descriptor().equals(to.descriptor()))
      throw OrtException.invalid("tensor " + i + " is " + from.descriptor() + ", but its target is " + to.descriptor() + ": types and shapes must be equal");
  }

  private static void devices(Handle env, List<ValueHandle> from, List<ValueHandle> to, SyncStream.StreamHandle stream) {
    OrtApiFFM api = env.api;
    api.require(23, "copying tensors between devices");
    for (int i = 0; i < to.size(); ++i) to.get(i).requireWritable("tensor " + i);
    // The arenas stay open during the call. If a stream copies after the call, the program keeps them open.
    List<ValueHandle> all = new ArrayList<>(from);
    all.addAll(to);
    if (stream != null) {
      // A provider frees device memory only after the stream has used it. Host memory would be freed at once, so the
      // stream keeps the value alive.
      for (ValueHandle value : all) {
        if (value.device().isHostAccessible()) stream.keep(value);
      }
    }
    try (Arena arena = Arena.ofConfined()) {
      api.check(KeptCalls.copyTensors(api.c, env.address, array(arena, from), array(arena, to), stream == null ? MemorySegment.NULL : stream.address, from.size(),
          ValueHandle.scopes(all)));
    } catch (IllegalStateException | WrongThreadException e) {
      throw ValueHandle.refused(all, "a tensor of the copy", e);
    }
  }

  private static MemorySegment array(Arena arena, List<ValueHandle> values) {
    MemorySegment array = arena.allocate(ValueLayout.ADDRESS, Math.max(1, values.size()));
    for (int i = 0; i < values.size(); ++i) array.setAtIndex(ValueLayout.ADDRESS, i, values.get(i).address);
    return array;
  }
}
