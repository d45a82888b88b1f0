package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.KeptCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** Copies of tensors between places. */
final class TensorCopies {
  private TensorCopies() {}

  static void copy(Handle env, List<OrtValueRef> from, List<OrtValueRef> to, SyncStream stream) {
    if (stream != null) env.api.same(stream.handle().api, "the stream");
    if (from.size() != to.size()) throw OrtException.invalid(from.size() + " tensors are to be copied into " + to.size() + ": give as many of both");
    List<Handle> held = new ArrayList<>();
    try {
      for (OrtValueRef value : from) held.add(value.use());
      for (OrtValueRef value : to) held.add(value.use());
      if (stream != null) held.add(stream.use());
      List<ValueHandle> sources = handles(held.subList(0, from.size()), env.api);
      List<ValueHandle> targets = handles(held.subList(from.size(), from.size() + to.size()), env.api);
      boolean host = true;
      for (int i = 0; i < sources.size(); ++i) {
        fit(i, sources.get(i), targets.get(i));
        host &= sources.get(i).device().isHostAccessible() && targets.get(i).device().isHostAccessible();
      }
      if (host) {
        for (int i = 0; i < sources.size(); ++i) MemorySegment.copy(sources.get(i).bytes(), 0, targets.get(i).writable("tensor " + i), 0, sources.get(i).descriptor().bytes());
      } else {
        devices(env, sources, targets, stream == null ? null : (SyncStream.StreamHandle) held.get(held.size() - 1));
      }
    } finally {
      held.forEach(Handle::release);
    }
  }

  private static List<ValueHandle> handles(List<Handle> held, OrtApiFFM api) {
    List<ValueHandle> values = new ArrayList<>();
    for (Handle one : held) {
      api.same(one.api, "the tensor");
      values.add((ValueHandle) one);
    }
    return values;
  }

  private static void fit(int i, ValueHandle from, ValueHandle to) {
    if (!from.descriptor().equals(to.descriptor()))
      throw OrtException.invalid("tensor " + i + " is " + from.descriptor() + ", where it is to be copied is " + to.descriptor() + ": types and shapes must be equal");
  }

  private static void devices(Handle env, List<ValueHandle> from, List<ValueHandle> to, SyncStream.StreamHandle stream) {
    OrtApiFFM api = env.api;
    api.require(23, "copying tensors between devices");
    for (int i = 0; i < to.size(); ++i) to.get(i).requireWritable("tensor " + i);
    // Arenas stay open during the call; that they do while a stream copies is the caller's part.
    List<ValueHandle> all = new ArrayList<>(from);
    all.addAll(to);
    if (stream != null) {
      // Providers give their memory back after what uses it; that of the host would be gone at once.
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
