package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Owns an OrtIoBinding and a reference to each bound value. One thread uses it at a time, which {@link
 * NativeObject#enter} enforces.
 */
final class BindingHandle extends Handle {
  final SessionHandle session;
  /** The bound values in the order of their first binding. An output that is bound to a device has the value null. */
  final Map<String, ValueHandle> inputs = new LinkedHashMap<>();
  final Map<String, ValueHandle> outputs = new LinkedHashMap<>();
  /** Segments that a run must keep alive; null when they have to be collected again. */
  private MemorySegment[] kept;
  /** Results of which {@code getBoundOutputCpuValues} returned views. */
  private Collection<ValueHandle> shown = List.of();

  BindingHandle(OrtApiFFM api, MemorySegment address, SessionHandle session) {
    super(api, ObjectKind.IO_BINDING, address, session);
    this.session = session;
  }

  /** Records a bound value and takes over one reference to it. */
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

  /** Ends the views of the previous results and stores the next ones; takes over one reference to each. */
  void show(Collection<ValueHandle> next) {
    // Every run calls this. The check avoids an iterator, which would be the only garbage of a run.
    if (!shown.isEmpty()) shown.forEach(Handle::release);
    shown = next;
  }

  /** Returns the exception for a run whose arguments the linker refused. */
  RuntimeException refused(RuntimeException cause) {
    for (Map<String, ValueHandle> side : List.of(inputs, outputs)) {
      for (var bound : side.entrySet()) {
        RuntimeException refusal = bound.getValue() == null ? null : bound.getValue().refused("'" + bound.getKey() + "'", cause);
        if (refusal != null) return refusal;
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
