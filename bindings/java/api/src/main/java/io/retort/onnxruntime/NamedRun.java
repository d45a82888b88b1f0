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
 * A run by names.
 *
 * @param owner the session
 * @param session its handle, held
 */
record NamedRun(OrtSessionFFM owner, SessionHandle session) {
  OrtValues run(Map<String, OrtValueRef> values, Collection<String> wanted, RunOptions options) {
    if (wanted.isEmpty()) throw OrtException.invalid("no outputs: name at least one of " + owner.outputPorts().names());
    List<ValueHandle> held = new ArrayList<>();
    Handle with = options == null ? null : options.use();
    try (Arena arena = Arena.ofConfined()) {
      if (with != null) session.api.same(with.api, "the RunOptions object");
      MemorySegment names = arena.allocate(ValueLayout.ADDRESS, Math.max(1, values.size()));
      MemorySegment array = arena.allocate(ValueLayout.ADDRESS, Math.max(1, values.size()));
      for (var value : values.entrySet()) {
        ValueHandle handle = (ValueHandle) value.getValue().use();
        held.add(handle);
        names.setAtIndex(ValueLayout.ADDRESS, held.size() - 1, name(value.getKey(), handle));
        array.setAtIndex(ValueLayout.ADDRESS, held.size() - 1, handle.address);
      }
      List<String> outputs = List.copyOf(wanted);
      MemorySegment outputNames = arena.allocate(ValueLayout.ADDRESS, outputs.size());
      for (int i = 0; i < outputs.size(); ++i) outputNames.setAtIndex(ValueLayout.ADDRESS, i, owner.outputPorts().get(outputs.get(i)).nativeName());
      MemorySegment results = arena.allocate(ValueLayout.ADDRESS, outputs.size());
      call(values, held, with, names, array, outputNames, results, outputs.size());
      List<OrtValueRef> refs = ValueHandle.results(session.api, OrtApiFFM.pointers(results, outputs.size()), session.withLent(held));
      LinkedHashMap<String, OrtValueRef> made = new LinkedHashMap<>();
      for (int i = 0; i < outputs.size(); ++i) {
        OrtValueRef before = made.put(outputs.get(i), refs.get(i));
        if (before != null) before.close();
      }
      return new OrtValues(made);
    } finally {
      held.forEach(Handle::release);
      if (with != null) with.release();
    }
  }

  private MemorySegment name(String name, ValueHandle value) {
    session.api.same(value.api, "input '" + name + "'");
    Ports.Port port = owner.inputPorts().get(name);
    owner.inputPorts().fits(port, value);
    session.requireDrives("input '" + name + "'", value);
    return port.nativeName();
  }

  private void call(Map<String, OrtValueRef> values, List<ValueHandle> held, Handle with, MemorySegment names, MemorySegment array, MemorySegment outputNames,
      MemorySegment results, int outputs) {
    try {
      long status = KeptCalls.run(session.api.c, session.address, with == null ? MemorySegment.NULL : with.address, names, array, held.size(), outputNames, outputs,
          results, ValueHandle.scopes(session.withLent(held)));
      session.api.check(status);
    } catch (IllegalStateException | WrongThreadException e) {
      int i = 0;
      for (String name : values.keySet()) {
        RuntimeException told = held.get(i++).refused("'" + name + "'", e);
        if (told != null) throw told;
      }
      throw session.refused(e);
    }
  }
}
