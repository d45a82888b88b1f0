package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A native object with a reference count. References are held by objects of the program, by running calls, and by other
 * handles that need the object. The thread that drops the last reference releases the object. Thread-safe.
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
  /** The reference count, plus {@link #ENTERED} while a thread has exclusive use. */
  private volatile int holders = 1;

  /**
   * @param parents handles that must outlive this one; the caller holds a reference to each during the call
   */
  Handle(OrtApiFFM api, ObjectKind kind, MemorySegment address, Handle... parents) {
    this.api = api;
    this.kind = kind;
    this.address = address;
    this.parents = parents;
    for (Handle parent : parents) parent.retain();
    LiveObjects.born(kind);
  }

  /** Calls the function of the library that releases the object. */
  abstract void free();

  /** Adds a reference, unless the object has been released. */
  final boolean tryRetain() {
    for (int n = holders; n > 0; n = holders) {
      if (HOLDERS.weakCompareAndSet(this, n, n + 1)) return true;
    }
    return false;
  }

  /** Adds a reference to a handle that already has one. */
  final void retain() {
    if (!tryRetain()) throw new IllegalStateException("a native object of kind " + kind + " has already been released");
  }

  /**
   * Adds a reference with exclusive use; returns false if another thread has exclusive use. The reference count alone
   * does not show this: a reference may be closed while its user is still inside a call.
   */
  final boolean tryEnter() {
    for (int n = holders; n > 0 && n < ENTERED; n = holders) {
      if (HOLDERS.weakCompareAndSet(this, n, n + ENTERED + 1)) return true;
    }
    return false;
  }

  /** Ends the exclusive use that {@link #tryEnter} began. */
  final void leave() {
    if ((int) HOLDERS.getAndAdd(this, -ENTERED - 1) == ENTERED + 1) end();
  }

  /** Drops a reference. The last one releases the object. */
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
