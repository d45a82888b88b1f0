package io.retort.onnxruntime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Function;

/** Options of runs. One object may be used for many runs, also at the same time. Thread-safe. */
public final class RunOptions extends NativeObject {
  private static final class OptionsHandle extends Handle {
    /** The streams and adapters in use. They are all kept, because a run uses the stream that was set when it began. */
    private final Set<Handle> held = new HashSet<>();

    OptionsHandle(OrtApiFFM api, MemorySegment address) {
      super(api, ObjectKind.RUN_OPTIONS, address);
    }

    /** Takes over one reference. */
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
   * {@return new options with default values; the caller closes them}
   *
   * @param api the library
   */
  public static RunOptions create(OrtApiFFM api) {
    return new RunOptions(api);
  }

  /**
   * {@return new options with default values; the caller closes them. They do not keep the environment alive}
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
   * Terminates all runs with these options at the next opportunity; they throw an {@link OrtException}. Later runs fail
   * at once, until {@link #unsetTerminate()} is called. Call this from a thread other than those of the runs.
   *
   * @return this
   */
  public RunOptions terminate() {
    return set(options -> options.api.c.runOptionsSetTerminate(options.address));
  }

  /**
   * Clears the flag that {@link #terminate()} set.
   *
   * @return this
   */
  public RunOptions unsetTerminate() {
    return set(options -> options.api.c.runOptionsUnsetTerminate(options.address));
  }

  /**
   * Sets a name for the runs.
   *
   * @param tag the name in the log
   * @return this
   */
  public RunOptions setTag(String tag) {
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> options.api.c.runOptionsSetRunTag(options.address, OrtApiFFM.text(arena, "tag", tag)));
    }
  }

  /**
   * Sets the log level of the runs.
   *
   * @param level least severe level that is logged
   * @return this
   */
  public RunOptions setLogLevel(LogLevel level) {
    return set(options -> options.api.c.runOptionsSetRunLogSeverityLevel(options.address, level.value()));
  }

  /**
   * Sets a config entry.
   *
   * @param key key of the entry, such as {@code memory.enable_memory_arena_shrinkage}
   * @param value value of the entry
   * @return this
   */
  public RunOptions addConfigEntry(String key, String value) {
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> options.api.c.addRunConfigEntry(options.address, OrtApiFFM.text(arena, "key", key), OrtApiFFM.text(arena, "value", value)));
    }
  }

  /**
   * Makes runs enqueue their device work in a stream, after the work that is already in it.
   *
   * @param stream the stream; these options keep it alive until they are closed
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
   * Applies a LoRA adapter: its values are used for inputs that the program does not give. If several adapters are
   * added, all of them apply. Retort also applies them to bound runs; official ONNX Runtime applies them only to runs
   * with named inputs.
   *
   * @param adapter the adapter; these options keep it alive until they are closed
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
