package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An OrtIoBinding and the values that it holds. Used by one thread at a time, which {@link NativeObject#enter} makes sure of. */
final class BindingHandle extends Handle {
  final SessionHandle session;
  /** The bound values, in the order of first binding; outputs bound to a device have none. */
  final Map<String, ValueHandle> inputs = new LinkedHashMap<>();
  final Map<String, ValueHandle> outputs = new LinkedHashMap<>();
  /** Segments that a run keeps alive; null where they have to be found anew. */
  private MemorySegment[] kept;
  /** Results that {@code getBoundOutputCpuValues} returned views of. */
  private Collection<ValueHandle> shown = List.of();

  BindingHandle(OrtApiFFM api, MemorySegment address, SessionHandle session) {
    super(api, ObjectKind.IO_BINDING, address, session);
    this.session = session;
  }

  /** Notes a bound value; takes over one hold of it. */
  void put(Map<String, ValueHandle> side, String name, ValueHandle value) {
    ValueHandle before = side.put(name, value);
    if (before != null) before.release();
    kept = null;
  }

  void clear(Map<String, ValueHandle> side) {
    side.values().forEach(BindingHandle::release);
    side.clear();
    kept = null;
  }

  private static void release(ValueHandle value) {
    if (value != null) value.release();
  }

  MemorySegment[] kept() {
    if (kept == null) {
      List<ValueHandle> all = session.withLent(inputs.values());
      for (ValueHandle output : outputs.values()) {
        if (output != null) all.add(output);
      }
      kept = ValueHandle.scopes(all);
    }
    return kept;
  }

  /** Ends the views of the last results, and begins those of others; takes over one hold of each. */
  void show(Collection<ValueHandle> next) {
    // Each run comes here: an iterator would be its only garbage.
    if (!shown.isEmpty()) shown.forEach(Handle::release);
    shown = next;
  }

  /** The error of a run that the linker refused. */
  RuntimeException refused(RuntimeException cause) {
    for (Map<String, ValueHandle> side : List.of(inputs, outputs)) {
      for (var bound : side.entrySet()) {
        RuntimeException told = bound.getValue() == null ? null : bound.getValue().refused("'" + bound.getKey() + "'", cause);
        if (told != null) return told;
      }
    }
    return session.refused(cause);
  }

  @Override
  void free() {
    show(List.of());
    api.c.releaseIoBinding(address);
    clear(inputs);
    clear(outputs);
  }
}
