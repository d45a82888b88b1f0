package io.retort.onnxruntime;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.function.Function;

/**
 * Runs a session in another thread. That thread waits inside the native call, which keeps the arenas of the values
 * open. The library's own asynchronous run (RunAsync) cannot do this: it returns before it reads the memory of the
 * values, so the program could close the arenas too early.
 */
final class AsyncRun extends CompletableFuture<OrtValues> {
  private static final Executor THREADS = Executors.newCachedThreadPool(task -> {
    Thread thread = new Thread(task, "onnxruntime-run");
    thread.setDaemon(true);
    return thread;
  });

  private final RunOptions options;
  /** Set when the native call has returned, before the run completes the future. */
  private volatile boolean over;

  private AsyncRun(RunOptions options) {
    this.options = options;
    // If something else completes the future, no caller will get the results of the run, so the run is terminated.
    whenComplete((values, failure) -> end());
  }

  static AsyncRun start(OrtApiFFM api, RunOptions given, Executor executor, Function<RunOptions, OrtValues> run) {
    RunOptions options = given == null ? RunOptions.create(api) : given;
    AsyncRun future = new AsyncRun(options);
    try {
      (executor == null ? THREADS : executor).execute(() -> future.run(run, given == null));
    } catch (Throwable e) {  // the executor refused the task, or ran it here and it threw
      if (given == null) options.close();
      throw e;
    }
    return future;
  }

  private void run(Function<RunOptions, OrtValues> run, boolean ownOptions) {
    OrtValues values = null;
    Throwable failure = null;
    try {
      values = run.apply(options);
    } catch (Throwable e) {
      failure = e;
    }
    // Everything is released before the future completes, so a thread that sees the result sees no resources of the
    // run.
    over = true;
    if (ownOptions) options.close();
    if (failure != null) completeExceptionally(failure);
    // The future was completed by something else, so no caller will close the results.
    else if (!complete(values)) values.close();
  }

  /** Terminates the run if something else has completed the future (cancellation, a timeout, a value). */
  private void end() {
    if (over) return;
    try {
      options.terminate();
    } catch (IllegalStateException closed) {
      // The run has just ended and closed its options.
    }
  }
}
