package io.retort.onnxruntime;

import java.lang.ref.Cleaner;

/**
 * An object of the library that the program holds. {@link #close()} releases it. A forgotten object is released when the garbage
 * collector finds it, which may be late: the collector does not count memory of the library.
 *
 * <p>Closing is safe at any time and from any thread. Where a call on the object runs in another thread, or another
 * object needs it (a binding its session, a session its environment), the native object stays until that has ended.
 * Using a closed object throws {@link IllegalStateException}.
 */
public abstract class NativeObject implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  /** The part that the cleaner holds: it must not reach the object itself. */
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

  /** Takes over one hold of the handle. */
  NativeObject(Handle handle) {
    reference = new Reference(handle);
    cleanable = CLEANER.register(this, reference);
  }

  /** The name of this object in errors. */
  abstract String title();

  /** The handle, without a hold. */
  final Handle handle() {
    return reference.handle;
  }

  /** Holds the native object for a call; the caller releases the handle. */
  final Handle use() {
    if (reference.closed || !reference.handle.tryRetain()) throw closedError();
    return reference.handle;
  }

  /** Holds the native object for a call that excludes others; the caller leaves the handle. */
  final Handle enter() {
    if (reference.closed) throw closedError();
    if (reference.handle.tryEnter()) return reference.handle;
    if (reference.closed) throw closedError();
    throw new OrtException(OrtErrorCode.FAIL, title() + " is used by another thread: give each thread its own, or wait for the run to end");
  }

  /** Refuses a closed object, where its handle is not needed. */
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
