package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An OrtIoBinding and the values that it holds. Used by one thread at a time, which {@link NativeObject#enter} sees to. */
final class BindingHandle extends Handle {
  final SessionHandle session;
  /** What is bound, in the order of first binding; outputs bound to a device have no value. */
  final Map<String, ValueHandle> inputs = new LinkedHashMap<>();
  final Map<String, ValueHandle> outputs = new LinkedHashMap<>();
  /** Segments that a run keeps alive; null where it has to be found anew. */
  private MemorySegment[] kept;
  /** Results that {@code getBoundOutputCpuValues} handed out views of. */
  private OrtValues shown;

  BindingHandle(OrtApiFFM api, MemorySegment address, SessionHandle session) {
    super(api, ObjectKind.IO_BINDING, address, session);
    this.session = session;
  }

  /** Notes what is bound; takes over one hold of the value. */
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

  /** Ends the views of the last results, and begins those of others. */
  void show(OrtValues next) {
    if (shown != null) shown.close();
    shown = next;
  }

  /** What a run that the linker refused is told. */
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
    show(null);
    api.c.releaseIoBinding(address);
    clear(inputs);
    clear(outputs);
  }
}
