package io.retort.onnxruntime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Function;

/** Options of runs. One object may serve many runs, also at the same time. Thread-safe. */
public final class RunOptions extends NativeObject {
  private static final class OptionsHandle extends Handle {
    /** Streams and adapters. A run keeps the stream that was set when it began, so all stay. */
    private final Set<Handle> held = new HashSet<>();

    OptionsHandle(OrtApiFFM api, MemorySegment address) {
      super(api, ObjectKind.RUN_OPTIONS, address);
    }

    /** Takes over a hold. */
    synchronized void keep(Handle used) {
      if (!held.add(used)) used.release();
    }

    @Override
    void free() {
      api.c.releaseRunOptions(address);
      held.forEach(Handle::release);
    }
  }

  private RunOptions(OrtApiFFM api) {
    super(new OptionsHandle(api, api.pointer(api.c::createRunOptions)));
  }

  /**
   * {@return options without any set}
   *
   * @param api the library
   */
  public static RunOptions create(OrtApiFFM api) {
    return new RunOptions(api);
  }

  /**
   * {@return options without any set; they do not keep the environment}
   *
   * @param env an environment of the library
   */
  public static RunOptions create(OrtEnvironmentFFM env) {
    return new RunOptions(env.requireOpen());
  }

  @Override
  String title() {
    return "run options";
  }

  private RunOptions set(Function<Handle, MemorySegment> call) {
    Handle options = use();
    try {
      options.api.check(call.apply(options));
      return this;
    } finally {
      options.release();
    }
  }

  /**
   * Ends all runs that have these options, as soon as they notice, with an {@link OrtException}; later ones end at once, until
   * {@link #unsetTerminate()}. To be called from another thread than the runs.
   *
   * @return this
   */
  public RunOptions terminate() {
    return set(options -> options.api.c.runOptionsSetTerminate(options.address));
  }

  /**
   * Lets runs begin again.
   *
   * @return this
   */
  public RunOptions unsetTerminate() {
    return set(options -> options.api.c.runOptionsUnsetTerminate(options.address));
  }

  /**
   * Names the runs.
   *
   * @param tag name of the runs in the log
   * @return this
   */
  public RunOptions setTag(String tag) {
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> options.api.c.runOptionsSetRunTag(options.address, OrtApiFFM.text(arena, "tag", tag)));
    }
  }

  /**
   * Sets what the runs log.
   *
   * @param level messages below are not logged
   * @return this
   */
  public RunOptions setLogLevel(LogLevel level) {
    return set(options -> options.api.c.runOptionsSetRunLogSeverityLevel(options.address, level.value()));
  }

  /**
   * Sets an entry of the configuration of the runs.
   *
   * @param key name of the entry, as {@code memory.enable_memory_arena_shrinkage}
   * @param value its value
   * @return this
   */
  public RunOptions addConfigEntry(String key, String value) {
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> options.api.c.addRunConfigEntry(options.address, OrtApiFFM.text(arena, "key", key), OrtApiFFM.text(arena, "value", value)));
    }
  }

  /**
   * Orders the work of the runs behind what else is in a stream.
   *
   * @param stream the stream for the work of the device; these options hold it until they are closed
   * @return this
   */
  public RunOptions setSyncStream(SyncStream stream) {
    OptionsHandle options = (OptionsHandle) use();
    try {
      options.api.require(24, "a stream of a run");
      options.api.same(stream.handle().api, "the stream");
      Handle used = stream.use();
      options.api.c.runOptionsSetSyncStream(options.address, used.address);
      options.keep(used);
      return this;
    } finally {
      options.release();
    }
  }

  /**
   * Gives the values of an adapter to the runs, for inputs that the program does not give itself. Of several adapters all are active. Retort
   * gives them to bound runs, too; official ONNX Runtime has them for runs by names alone.
   *
   * @param adapter the adapter; these options hold it until they are closed
   * @return this
   * @throws OrtException if the library is older than 1.20
   */
  public RunOptions addActiveLoraAdapter(LoraAdapter adapter) {
    OptionsHandle options = (OptionsHandle) use();
    try {
      options.api.require(20, "adapters");
      Handle used = adapter.use();
      try {
        options.api.same(used.api, "the adapter");
        options.api.check(options.api.c.runOptionsAddActiveLoraAdapter(options.address, used.address));
      } catch (RuntimeException e) {
        used.release();
        throw e;
      }
      options.keep(used);
      return this;
    } finally {
      options.release();
    }
  }
}
