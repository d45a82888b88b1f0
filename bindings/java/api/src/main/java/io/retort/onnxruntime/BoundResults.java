package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/** Reads the results of bound runs. */
final class BoundResults {
  private final OrtApiFFM api;

  BoundResults(OrtApiFFM api) {
    this.api = api;
  }

  /** Returns the names of the bound outputs, as the library reports them. */
  List<String> names(BindingHandle binding) {
    List<String> names = new ArrayList<>();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(ValueLayout.ADDRESS, 3);
      api.check(api.c.getBoundOutputNames(binding.address, api.defaultAllocator, out, out.asSlice(8), out.asSlice(16)));
      long count = out.getAtIndex(ValueLayout.JAVA_LONG, 2);
      if (count == 0) return names;
      MemorySegment chars = out.get(ValueLayout.ADDRESS, 0);
      MemorySegment lengths = Memory.view(out.get(ValueLayout.ADDRESS, 8), 8 * count);
      long at = 0;
      for (long i = 0; i < count; ++i) {
        long length = lengths.getAtIndex(ValueLayout.JAVA_LONG, i);
        names.add(new String(Memory.view(chars, at + length).asSlice(at).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8));
        at += length;
      }
      api.check(api.c.allocatorFree(api.defaultAllocator, chars));
      api.check(api.c.allocatorFree(api.defaultAllocator, lengths));
    }
    return names;
  }

  /**
   * Returns the outputs by name; the caller gets a reference to each. If values were bound for all outputs, these are
   * returned without a call of the library.
   */
  Map<String, ValueHandle> values(BindingHandle binding) {
    Map<String, ValueHandle> values = new LinkedHashMap<>();
    if (!binding.outputs.containsValue(null)) {
      binding.outputs.forEach((name, value) -> values.put(name, held(value)));
      return values;
    }
    List<String> names = names(binding);
    List<ValueHandle> made = ValueHandle.results(api, made(binding), binding.session.withLent(binding.inputs.values()));
    for (int i = 0; i < made.size(); ++i) {
      ValueHandle bound = binding.outputs.get(names.get(i));
      if (bound != null) made.get(i).release();
      values.put(names.get(i), bound == null ? made.get(i) : held(bound));
    }
    return values;
  }

  private static ValueHandle held(ValueHandle value) {
    value.retain();
    return value;
  }

  private List<MemorySegment> made(BindingHandle binding) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment count = arena.allocate(ValueLayout.JAVA_LONG);
      MemorySegment array = api.pointer(arena, out -> api.c.getBoundOutputValues(binding.address, api.defaultAllocator, out, count));
      List<MemorySegment> all = OrtApiFFM.pointers(array, count.get(ValueLayout.JAVA_LONG, 0));
      if (array.address() != 0) api.check(api.c.allocatorFree(api.defaultAllocator, array));
      return all;
    }
  }

  /** Copies the outputs that are on devices, now. The binding keeps the copies until the results end. */
  void copyToHost(BindingHandle binding) {
    binding.keepCopies(null);
    Map<String, ValueHandle> all = values(binding);
    Map<String, ValueHandle> host = Map.of();
    Map<String, ValueHandle> copies = new LinkedHashMap<>();
    try {
      host = onHost(binding, all);
      host.forEach((name, value) -> {
        if (value != all.get(name)) copies.put(name, held(value));
      });
      binding.keepCopies(copies);
    } finally {
      host.values().forEach(Handle::release);
      all.values().forEach(Handle::release);
    }
  }

  /**
   * Returns the outputs on the host; the caller gets a reference to each. An output that is on the host already is
   * returned as it is.
   */
  Map<String, ValueHandle> onHost(BindingHandle binding) {
    Map<String, ValueHandle> all = values(binding);
    try {
      return onHost(binding, all);
    } finally {
      all.values().forEach(Handle::release);
    }
  }

  private Map<String, ValueHandle> onHost(BindingHandle binding, Map<String, ValueHandle> all) {
    Map<String, ValueHandle> host = new LinkedHashMap<>();
    List<ValueHandle> from = new ArrayList<>();
    List<ValueHandle> to = new ArrayList<>();
    try {
      api.check(api.c.synchronizeBoundOutputs(binding.address));
      for (var entry : all.entrySet()) {
        ValueHandle value = entry.getValue();
        boolean there = isThere(entry.getKey(), value);
        ValueHandle copied = there ? held(value) : binding.copyOf(entry.getKey());
        ValueHandle result = copied != null ? copied : ValueMaker.onHost(api, value.descriptor());
        host.put(entry.getKey(), result);
        if (copied != null) continue;
        from.add(value);
        to.add(result);
      }
      copy(binding, from, to);
      return host;
    } catch (RuntimeException e) {
      host.values().forEach(Handle::release);
      throw e;
    }
  }

  /** Returns whether an output can be read on the host; the exception for one without contents names it. */
  private static boolean isThere(String name, ValueHandle value) {
    try {
      return value.type() != ValueType.TENSOR || value.device().isHostAccessible();
    } catch (OrtException e) {
      throw new OrtException(e.code(), "output '" + name + "': " + e.getMessage(), e);
    }
  }

  /** Copies tensors, with one call of the library per source device: one call takes sources of one device only. */
  private static void copy(BindingHandle binding, List<ValueHandle> from, List<ValueHandle> to) {
    Map<DeviceSpec, List<Integer>> places = new LinkedHashMap<>();
    for (int i = 0; i < from.size(); ++i) places.computeIfAbsent(from.get(i).device(), d -> new ArrayList<>()).add(i);
    for (List<Integer> place : places.values()) {
      TensorCopies.copy(binding.session.env, place.stream().map(from::get).toList(), place.stream().map(to::get).toList(), null);
    }
  }

  /** Returns views of the outputs. They end with the next run. */
  Map<String, MemorySegment> views(BindingHandle binding) {
    Map<String, ValueHandle> host = onHost(binding);
    binding.show(host.values());
    Map<String, MemorySegment> views = new LinkedHashMap<>();
    host.forEach((name, value) -> views.put(name, readable(name, value, ValueHandle::view)));
    return Collections.unmodifiableMap(views);
  }

  /** Reads an output; the exception for one that is not a tensor of numbers names it. */
  private static MemorySegment readable(String name, ValueHandle value, Function<ValueHandle, MemorySegment> read) {
    try {
      return read.apply(value);
    } catch (OrtException e) {
      throw new OrtException(e.code(), "output '" + name + "' cannot be read as memory (" + e.getMessage() + "): read it from getBoundOutputValues()", e);
    }
  }

  Map<String, MemorySegment> copies(BindingHandle binding, Arena arena) {
    Objects.requireNonNull(arena, "arena");
    Map<String, MemorySegment> copies = new LinkedHashMap<>();
    Map<String, ValueHandle> host = onHost(binding);
    try {
      host.forEach((name, value) -> {
        MemorySegment from = readable(name, value, ValueHandle::readable);
        long bytes = from.byteSize();
        MemorySegment copy = arena.allocate(Math.max(1, bytes), 64).asSlice(0, bytes);
        MemorySegment.copy(from, 0, copy, 0, bytes);
        copies.put(name, copy);
      });
    } finally {
      host.values().forEach(Handle::release);
    }
    return Collections.unmodifiableMap(copies);
  }
}
