package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.BooleanSupplier;

/** An OrtSession, and what it calls and reads. */
final class SessionHandle extends Handle {
  /** The environment, held. */
  final Handle env;
  private final SessionOptions.Needs needs;
  private final BooleanSupplier closedByOwner;

  /** A session that this object owns. */
  SessionHandle(OrtApiFFM api, MemorySegment address, SessionOptions.Needs needs, Handle env) {
    super(api, ObjectKind.SESSION, address, env);
    this.env = env;
    this.needs = needs;
    closedByOwner = null;
  }

  /** A session that another binding owns. */
  SessionHandle(OrtApiFFM api, MemorySegment address, BooleanSupplier closedByOwner, Handle env) {
    super(api, ObjectKind.SESSION, address, env);
    this.env = env;
    needs = null;
    this.closedByOwner = closedByOwner;
  }

  /** Refuses to use a session that its owner closed. */
  void there() {
    if (closedByOwner != null && closedByOwner.getAsBoolean())
      throw new IllegalStateException("the ai.onnxruntime.OrtSession that this session shares is closed: keep it open as long as it is used here");
  }

  /** Values of the program that runs read besides inputs: initializers. */
  List<ValueHandle> lent() {
    return needs == null ? List.of() : needs.values();
  }

  /** Values of a run, and those. */
  List<ValueHandle> withLent(Collection<ValueHandle> values) {
    List<ValueHandle> all = new ArrayList<>(values);
    all.addAll(lent());
    return all;
  }

  /** Adds such a value before the session is used; takes over one hold of it. */
  void lend(ValueHandle value) {
    needs.values().add(value);
  }

  /** What a run that the linker refused for one of these is told. */
  RuntimeException refused(RuntimeException cause) {
    for (ValueHandle value : lent()) {
      RuntimeException told = value.refused("the model of the session, or an initializer of it,", cause);
      if (told != null) return told;
    }
    return cause;
  }

  @Override
  void free() {
    if (closedByOwner != null) return;
    api.c.releaseSession(address);
    if (needs != null) needs.release();
  }
}
