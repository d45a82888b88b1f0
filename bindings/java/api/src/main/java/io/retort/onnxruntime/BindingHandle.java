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
  /** The copies that {@code copyOutputsToCpu} made of results on devices, by name; null if it was not called. */
  private Map<String, ValueHandle> copies;
  /** Counts the runs and the changes of outputs, each of which ends the results before it. */
  private long epoch;

  BindingHandle(OrtApiFFM api, MemorySegment address, SessionHandle session) {
    super(api, ObjectKind.IO_BINDING, address, session);
    this.session = session;
  }

  /** Records a bound value and takes over one reference to it. */
  void put(Map<String, ValueHandle> side, String name, ValueHandle value) {
    ValueHandle before = side.put(name, value);
    if (before != null) before.release();
    kept = null;
    if (side == outputs) begin();
  }

  void clear(Map<String, ValueHandle> side) {
    side.values().forEach(BindingHandle::release);
    side.clear();
    kept = null;
    if (side == outputs) endResults();
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

  /** Ends the results so far, and the views of them. Every run calls this. */
  void endResults() {
    begin();
    show(List.of());
  }

  /** Begins new results. */
  private void begin() {
    ++epoch;
    keepCopies(null);
  }

  /** Returns the number of the present results. */
  long epoch() {
    return epoch;
  }

  /** Throws if the results with this number have ended. */
  void requireEpoch(long wanted) {
    if (epoch != wanted)
      throw new IllegalStateException("these results have ended, because the binding has run again or an output was bound again: read the first of them before that, or bind the outputs to values");
  }

  /** Stores copies of results, or null for none; takes over one reference to each. */
  void keepCopies(Map<String, ValueHandle> made) {
    if (copies != null) copies.values().forEach(Handle::release);
    copies = made;
  }

  /** Returns the stored copy of a result, with a new reference; null if there is none. */
  ValueHandle copyOf(String name) {
    ValueHandle copy = copies == null ? null : copies.get(name);
    if (copy != null) copy.retain();
    return copy;
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
    endResults();
    api.c.releaseIoBinding(address);
    clear(inputs);
    clear(outputs);
  }
}
