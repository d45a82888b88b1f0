package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.KeptCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A run whose inputs and outputs are given by name.
 *
 * @param session the session; the caller holds a reference to it
 * @param inputs inputs of the session
 * @param outputs outputs of the session
 */
record NamedRun(SessionHandle session, Ports inputs, Ports outputs) {
  /**
   * Runs the session. The caller holds a reference to each value.
   *
   * @param names names of the inputs
   * @param values values of the inputs, in the same order
   * @param options RunOptions, or null
   * @return the outputs by name; the caller gets a reference to each
   */
  Map<String, ValueHandle> run(Collection<String> names, List<ValueHandle> values, Collection<String> wanted, Handle options) {
    if (wanted.isEmpty()) throw OrtException.invalid("no outputs: name at least one of " + outputs.names());
    if (options != null) session.api.same(options.api, "the RunOptions object");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment inputNames = arena.allocate(ValueLayout.ADDRESS, Math.max(1, values.size()));
      MemorySegment array = arena.allocate(ValueLayout.ADDRESS, Math.max(1, values.size()));
      int count = 0;
      for (String name : names) {
        inputNames.setAtIndex(ValueLayout.ADDRESS, count, name(name, values.get(count)));
        array.setAtIndex(ValueLayout.ADDRESS, count, values.get(count).address);
        ++count;
      }
      List<String> results = new ArrayList<>(wanted);
      MemorySegment outputNames = arena.allocate(ValueLayout.ADDRESS, results.size());
      for (int i = 0; i < results.size(); ++i) outputNames.setAtIndex(ValueLayout.ADDRESS, i, outputs.get(results.get(i)).nativeName());
      MemorySegment out = arena.allocate(ValueLayout.ADDRESS, results.size());
      call(names, values, options, inputNames, array, outputNames, out, results.size());
      List<ValueHandle> handles = ValueHandle.results(session.api, OrtApiFFM.pointers(out, results.size()), session.withLent(values));
      Map<String, ValueHandle> made = new LinkedHashMap<>();
      for (int i = 0; i < results.size(); ++i) {
        ValueHandle before = made.put(results.get(i), handles.get(i));
        if (before != null) before.release();
      }
      return made;
    }
  }

  private MemorySegment name(String name, ValueHandle value) {
    session.api.same(value.api, "input '" + name + "'");
    Ports.Port port = inputs.get(name);
    inputs.fits(port, value);
    session.requireDrives("input '" + name + "'", value);
    return port.nativeName();
  }

  private void call(Collection<String> names, List<ValueHandle> values, Handle options, MemorySegment inputNames, MemorySegment array, MemorySegment outputNames,
      MemorySegment out, int outputCount) {
    try {
      long status = KeptCalls.run(session.api.c, session.address, options == null ? MemorySegment.NULL : options.address, inputNames, array, values.size(), outputNames,
          outputCount, out, ValueHandle.scopes(session.withLent(values)));
      session.api.check(status);
    } catch (IllegalStateException | WrongThreadException e) {
      int i = 0;
      for (String name : names) {
        RuntimeException refusal = values.get(i++).refused("'" + name + "'", e);
        if (refusal != null) throw refusal;
      }
      throw session.refused(e);
    }
  }
}
