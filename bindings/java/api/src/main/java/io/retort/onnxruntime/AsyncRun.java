package io.retort.onnxruntime;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.function.Function;

/**
 * A run in another thread. The thread waits inside the call, which holds the arenas of the values open. The library's own
 * asynchronous run returns before it reads the memory of the values, so nothing could hold them.
 */
final class AsyncRun extends CompletableFuture<OrtValues> {
  private static final Executor THREADS = Executors.newCachedThreadPool(task -> {
    Thread thread = new Thread(task, "onnxruntime-run");
    thread.setDaemon(true);
    return thread;
  });

  private final RunOptions options;
  /** Whether the run itself completes the future. */
  private volatile boolean over;

  private AsyncRun(RunOptions options) {
    this.options = options;
    // Whoever completed the future: nobody will get the results of the run.
    whenComplete((values, failure) -> end());
  }

  static AsyncRun start(OrtApiFFM api, RunOptions given, Executor executor, Function<RunOptions, OrtValues> run) {
    RunOptions options = given == null ? RunOptions.create(api) : given;
    AsyncRun future = new AsyncRun(options);
    try {
      (executor == null ? THREADS : executor).execute(() -> future.run(run, given == null));
    } catch (Throwable e) {  // refused, or thrown by an executor that runs it here
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
    // Before anybody learns that the run is over: by then everything of it is released.
    over = true;
    if (ownOptions) options.close();
    if (failure != null) completeExceptionally(failure);
    // Nobody will get the results of a run that was cancelled too late.
    else if (!complete(values)) values.close();
  }

  /** Ends the run of a future that somebody else completed: cancelled, at its timeout, with a value. */
  private void end() {
    if (over) return;
    try {
      options.terminate();
    } catch (IllegalStateException closed) {
      // The run ended meanwhile.
    }
  }
}
