package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;

/**
 * An object of the library. {@link #close()} releases it. If the program forgets to close it, the garbage collector
 * releases it, which may happen late: the collector does not know how much memory of the library the object uses.
 *
 * <p>Closing is safe at any time and from any thread. If another thread is inside a call on the object, or another
 * object needs it (a binding needs its session, a session its environment), the native object is released when these
 * are done. Using a closed object throws {@link IllegalStateException}.
 */
public abstract class NativeObject implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  /** The part that the cleaner holds. It must not refer to the object itself, which could then never be collected. */
  private static final class Reference implements Runnable {
    final Handle handle;
    volatile boolean closed;

    Reference(Handle handle) {
      this.handle = handle;
    }

    @Override
    public void run() {
      closed = true;
      handle.release();
    }
  }

  private final Reference reference;
  private final Cleaner.Cleanable cleanable;

  /** Takes over one reference to the handle. */
  NativeObject(Handle handle) {
    reference = new Reference(handle);
    cleanable = CLEANER.register(this, reference);
  }

  /** Returns the name of this object for error messages. */
  abstract String title();

  /** Returns the handle without adding a reference. */
  final Handle handle() {
    return reference.handle;
  }

  /**
   * {@return the address of the native object, for {@link OrtApiFFM} and other native code, as a segment of size 0. It is
   * valid until this object is closed}
   *
   * @throws IllegalStateException if the object is closed
   */
  public final MemorySegment nativePointer() {
    requireNotClosed();
    return reference.handle.address;
  }

  /** Adds a reference for a call; the caller calls {@code release()} on the handle. */
  final Handle use() {
    if (reference.closed || !reference.handle.tryRetain()) throw closedError();
    return reference.handle;
  }

  /** Adds a reference with exclusive use for a call; the caller calls {@code leave()} on the handle. */
  final Handle enter() {
    if (reference.closed) throw closedError();
    if (reference.handle.tryEnter()) return reference.handle;
    if (reference.closed) throw closedError();
    throw new OrtException(OrtErrorCode.FAIL, title() + " is used by another thread: give each thread its own, or wait for the run to end");
  }

  /** Throws if the object is closed; for uses that do not need the handle. */
  final void requireNotClosed() {
    if (reference.closed) throw closedError();
  }

  private IllegalStateException closedError() {
    return new IllegalStateException(title() + " is closed");
  }

  /** {@return whether {@link #close()} was called} */
  public final boolean isClosed() {
    return reference.closed;
  }

  /** Releases the native object. Calling it again has no effect. */
  @Override
  public void close() {
    cleanable.clean();
  }
}
