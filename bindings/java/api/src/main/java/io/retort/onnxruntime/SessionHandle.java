package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
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

  @Override
  void free() {
    if (closedByOwner != null) return;
    api.c.releaseSession(address);
    if (needs != null) needs.release();
  }
}
