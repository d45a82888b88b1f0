package io.retort.onnxruntime;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.function.Function;

/**
 * A run in another thread. The thread waits inside the call, which is what holds the arenas of the values open; the library's own
 * asynchronous run returns before its memory is read, and nothing could hold them.
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
    // However the future was completed: nobody will get what the run makes.
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

  static AsyncRun named(OrtSessionFFM session, Map<String, OrtValueRef> values, List<String> wanted, RunOptions options, Executor executor) {
    LinkedHashMap<String, OrtValueRef> held = new LinkedHashMap<>();
    try {
      values.forEach((name, value) -> held.put(name, value.retain()));
      return start(session.environment().api(), options, executor, with -> {
        try {
          return session.run(held, wanted, with);
        } finally {
          held.values().forEach(OrtValueRef::close);
        }
      });
    } catch (RuntimeException e) {
      held.values().forEach(OrtValueRef::close);
      throw e;
    }
  }

  private void run(Function<RunOptions, OrtValues> run, boolean ownOptions) {
    OrtValues values = null;
    Throwable failure = null;
    try {
      values = run.apply(options);
    } catch (Throwable e) {
      failure = e;
    }
    // Before anybody learns that the run is over: then nothing of it is left.
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
