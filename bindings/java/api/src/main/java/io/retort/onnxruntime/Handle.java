package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A native object and the number of its holders: references of the program, running calls, and other handles that need it. The
 * thread of the last holder releases it. Thread-safe.
 */
abstract class Handle {
  private static final VarHandle HOLDERS;
  private static final int ENTERED = 1 << 30;

  static {
    try {
      HOLDERS = MethodHandles.lookup().findVarHandle(Handle.class, "holders", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  final OrtApiFFM api;
  final ObjectKind kind;
  final MemorySegment address;
  private final Handle[] parents;
  /** The number of holders, plus {@link #ENTERED} where one of them is inside. */
  private volatile int holders = 1;

  /**
   * @param parents what must outlive this; the maker holds each of them during the call
   */
  Handle(OrtApiFFM api, ObjectKind kind, MemorySegment address, Handle... parents) {
    this.api = api;
    this.kind = kind;
    this.address = address;
    this.parents = parents;
    for (Handle parent : parents) parent.retain();
    LiveObjects.born(kind);
  }

  /** Calls the function that releases the object. */
  abstract void free();

  /** Adds a holder, unless the object is released. */
  final boolean tryRetain() {
    for (int n = holders; n > 0; n = holders) {
      if (HOLDERS.weakCompareAndSet(this, n, n + 1)) return true;
    }
    return false;
  }

  /** Adds a holder to a handle that has one. */
  final void retain() {
    if (!tryRetain()) throw new IllegalStateException("a native object of kind " + kind + " is released already");
  }

  /**
   * Becomes a holder that excludes others of its kind; false where there is one. The number of holders alone does not tell: a
   * reference may be closed while its user is still inside.
   */
  final boolean tryEnter() {
    for (int n = holders; n > 0 && n < ENTERED; n = holders) {
      if (HOLDERS.weakCompareAndSet(this, n, n + ENTERED + 1)) return true;
    }
    return false;
  }

  /** Ends what {@link #tryEnter} began. */
  final void leave() {
    if ((int) HOLDERS.getAndAdd(this, -ENTERED - 1) == ENTERED + 1) end();
  }

  /** Takes a holder away; the last one releases the object. */
  final void release() {
    if ((int) HOLDERS.getAndAdd(this, -1) == 1) end();
  }

  private void end() {
    try {
      free();
    } finally {
      LiveObjects.gone(kind);
      for (Handle parent : parents) parent.release();
    }
  }
}
