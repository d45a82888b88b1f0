package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** Owns an OrtSessionOptions and the objects that its sessions need. */
final class SessionOptionsHandle extends Handle {
  /** Objects that sessions with these options need: functions that they call, values that they read. */
  record Needs(List<Object> objects, List<ValueHandle> values) {
    Needs copy() {
      values.forEach(Handle::retain);
      return new Needs(new ArrayList<>(objects), new ArrayList<>(values));
    }

    void release() {
      values.forEach(Handle::release);
      values.clear();
    }
  }

  final Needs needs = new Needs(new ArrayList<>(), new ArrayList<>());

  SessionOptionsHandle(OrtApiFFM api, MemorySegment address, Handle env) {
    super(api, ObjectKind.SESSION_OPTIONS, address, env);
  }

  @Override
  void free() {
    api.c.releaseSessionOptions(address);
    needs.release();
  }
}
