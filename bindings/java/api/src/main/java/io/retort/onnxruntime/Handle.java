package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A native object and how many hold it: references of the program, calls in flight, and other handles that need it. It is
 * released when the last of them lets go, by the thread that did. Thread-safe.
 */
abstract class Handle {
  private static final VarHandle HOLDERS;

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

  /** Adds a holder to something that is held. */
  final void retain() {
    if (!tryRetain()) throw new IllegalStateException("a native object of kind " + kind + " is released already");
  }

  /** Becomes the only user of something that one reference holds; false where there are others. */
  final boolean tryEnter() {
    return HOLDERS.compareAndSet(this, 1, 2);
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
