package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.OrtApi;
import io.retort.onnxruntime.ffm.Upcalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/**
 * Options of sessions. A session copies them: they may be closed, or changed for the next one, when it is made. For one thread
 * at a time.
 */
public final class SessionOptions extends NativeObject {
  private final OrtEnvironmentFFM env;
  private final OrtApiFFM api;

  private SessionOptions(OrtEnvironmentFFM env, Handle used) {
    super(new SessionOptionsHandle(env.api(), env.api().pointer(env.api().c::createSessionOptions), used));
    this.env = env;
    api = env.api();
  }

  /**
   * {@return options without any set}
   *
   * @param env the environment of the sessions
   */
  public static SessionOptions create(OrtEnvironmentFFM env) {
    Handle used = env.use();
    try {
      return new SessionOptions(env, used);
    } finally {
      used.release();
    }
  }

  @Override
  String title() {
    return "session options";
  }

  private SessionOptions set(Function<MemorySegment, MemorySegment> call) {
    Handle options = use();
    try {
      api.check(call.apply(options.address));
      return this;
    } finally {
      options.release();
    }
  }

  /**
   * Sets how many threads share the work of an operator.
   *
   * @param threads how many threads compute an operator, the caller's included; 0 for as many as there are cores, 1 for the caller alone
   * @return this
   */
  public SessionOptions setIntraOpThreads(int threads) {
    if (threads < 0) throw OrtException.invalid(threads + " threads: give 0 for the library's choice, 1 for none besides the caller's");
    return set(options -> api.c.setIntraOpNumThreads(options, threads));
  }

  /**
   * Sets how many threads share the branches of the graph.
   *
   * @param threads how many branches run at the same time under {@link ExecutionMode#PARALLEL}; 0 for the library's choice
   * @return this
   */
  public SessionOptions setInterOpThreads(int threads) {
    if (threads < 0) throw OrtException.invalid(threads + " threads: give 0 for the library's choice");
    return set(options -> api.c.setInterOpNumThreads(options, threads));
  }

  /**
   * Lets the session use the threads of the environment in place of its own.
   *
   * @return this; sessions cannot be made where the environment has none ({@link EnvironmentOptions#threads})
   */
  public SessionOptions disablePerSessionThreads() {
    return set(api.c::disablePerSessionThreads);
  }

  /**
   * Sets whether the library remembers how much memory a run of some shapes took, and takes it at once for the next.
   *
   * @param on whether it does, as it does by default
   * @return this
   */
  public SessionOptions setMemoryPattern(boolean on) {
    return set(on ? api.c::enableMemPattern : api.c::disableMemPattern);
  }

  /**
   * Sets whether runs on the same inputs must give the same bits.
   *
   * @param on whether kernels that may not are avoided, where there are others
   * @return this
   */
  public SessionOptions setDeterministicCompute(boolean on) {
    return set(options -> api.c.setDeterministicCompute(options, on));
  }

  /**
   * Sets the order in which branches run.
   *
   * @param mode whether branches run at the same time
   * @return this
   */
  public SessionOptions setExecutionMode(ExecutionMode mode) {
    return set(options -> api.c.setSessionExecutionMode(options, mode.value()));
  }

  /**
   * Sets how much the graph is optimised.
   *
   * @param level what is done to the graph
   * @return this
   */
  public SessionOptions setOptimizationLevel(OptimizationLevel level) {
    return set(options -> api.c.setSessionGraphOptimizationLevel(options, level.value()));
  }

  /**
   * Has the optimised model written when the session is made.
   *
   * @param file where the optimised model is written
   * @return this
   */
  public SessionOptions setOptimizedModelPath(Path file) {
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> api.c.setOptimizedModelFilePath(options, OrtApiFFM.path(arena, file)));
    }
  }

  /**
   * Sets an entry of the configuration; the library may not know it.
   *
   * @param key name of the entry, as {@code session.disallow_implicit_copies}
   * @param value its value
   * @return this
   */
  public SessionOptions addConfigEntry(String key, String value) {
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> api.c.addSessionConfigEntry(options, OrtApiFFM.text(arena, "key", key), OrtApiFFM.text(arena, "value", value)));
    }
  }

  /**
   * {@return its value; null where it is not set}
   *
   * @param key name of an entry
   */
  public String configEntry(String key) {
    Handle options = use();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = OrtApiFFM.text(arena, "key", key);
      if (api.integer(out -> api.c.hasSessionConfigEntry(options.address, name, out)) == 0) return null;
      MemorySegment size = arena.allocate(ValueLayout.JAVA_LONG);
      api.check(api.c.getSessionConfigEntry(options.address, name, MemorySegment.NULL, size));
      MemorySegment value = arena.allocate(size.get(ValueLayout.JAVA_LONG, 0));
      api.check(api.c.getSessionConfigEntry(options.address, name, value, size));
      return value.getString(0);
    } finally {
      options.release();
    }
  }

  /**
   * Sets what the session logs.
   *
   * @param level messages of the session below are not logged
   * @return this
   */
  public SessionOptions setLogLevel(LogLevel level) {
    return set(options -> api.c.setSessionLogSeverityLevel(options, level.value()));
  }

  /**
   * Names the session.
   *
   * @param id name of the session in the log
   * @return this
   */
  public SessionOptions setLogId(String id) {
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> api.c.setSessionLogId(options, OrtApiFFM.text(arena, "id", id)));
    }
  }

  /**
   * Sends the log of the session elsewhere, in place of standard output.
   *
   * @param sink receives the messages of the session
   * @return this
   */
  public SessionOptions setLogSink(LogSink sink) {
    Objects.requireNonNull(sink, "sink");
    Arena arena = kept();
    MemorySegment function = Upcalls.logging((level, category, id, at, text) -> sink.log(LogLevel.of(level), category, id, at, text), arena);
    return set(options -> api.c.setUserLoggingFunction(options, function, MemorySegment.NULL));
  }

  /**
   * Records what runs do, until {@link OrtSessionFFM#endProfiling()}.
   *
   * @param prefix beginning of the path of the file that the profile is written to
   * @return this
   */
  public SessionOptions enableProfiling(String prefix) {
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> api.c.enableProfiling(options, OrtApiFFM.path(arena, Path.of(prefix))));
    }
  }

  /**
   * Fixes an extent, so that the graph can be optimised for it.
   *
   * @param dimension name of an extent that the model leaves open
   * @param extent its extent
   * @return this
   */
  public SessionOptions setDimension(String dimension, long extent) {
    if (extent < 0) throw OrtException.invalid("dimension '" + dimension + "' cannot be " + extent);
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> api.c.addFreeDimensionOverrideByName(options, OrtApiFFM.text(arena, "dimension", dimension), extent));
    }
  }

  /**
   * Puts a tensor in place of an initializer of the model. Sessions read it where it lies: its segment must stay alive until
   * they are closed; these options and the sessions hold the value.
   *
   * @param name name of the initializer
   * @param value a tensor on the host
   * @return this
   */
  public SessionOptions addInitializer(String name, OrtValueRef value) {
    ValueHandle held = (ValueHandle) value.use();
    try (Arena arena = Arena.ofConfined()) {
      api.same(held.api, "the initializer");
      set(options -> api.c.addInitializer(options, OrtApiFFM.text(arena, "name", name), held.address));
    } catch (RuntimeException e) {
      held.release();
      throw e;
    }
    ((SessionOptionsHandle) handle()).needs.values().add(held);
    return this;
  }

  /**
   * Loads custom operators.
   *
   * @param library a library with custom operators; it stays loaded until the sessions are closed
   * @return this
   */
  public SessionOptions registerCustomOps(Path library) {
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> api.c.registerCustomOpsLibrary_V2(options, OrtApiFFM.path(arena, library)));
    }
  }

  /**
   * Adds a provider that is built into the library, or that the library loads by its name.
   *
   * @param name its name, as {@code CUDA} or {@code XNNPACK}
   * @param providerOptions what it takes
   * @return this
   * @throws OrtException if this library has no such provider
   */
  public SessionOptions addProvider(String name, Map<String, String> providerOptions) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment keys = OrtApiFFM.array(arena, "the key of an option", providerOptions.keySet());
      MemorySegment values = OrtApiFFM.array(arena, "the value of an option", providerOptions.values());
      int n = providerOptions.size();
      OrtApi c = api.c;
      return switch (name) {
        case "CUDA", "CUDAExecutionProvider" -> withProviderOptions(c::createCUDAProviderOptions, o -> c.updateCUDAProviderOptions(o, keys, values, n),
            c::sessionOptionsAppendExecutionProvider_CUDA_V2, c::releaseCUDAProviderOptions);
        case "Tensorrt", "TensorrtExecutionProvider" -> withProviderOptions(c::createTensorRTProviderOptions, o -> c.updateTensorRTProviderOptions(o, keys, values, n),
            c::sessionOptionsAppendExecutionProvider_TensorRT_V2, c::releaseTensorRTProviderOptions);
        case "OpenVINO", "OpenVINOExecutionProvider" -> set(o -> c.sessionOptionsAppendExecutionProvider_OpenVINO_V2(o, keys, values, n));
        default -> set(o -> c.sessionOptionsAppendExecutionProvider(o, OrtApiFFM.text(arena, "name", name), keys, values, n));
      };
    }
  }

  private SessionOptions withProviderOptions(java.util.function.UnaryOperator<MemorySegment> create, Function<MemorySegment, MemorySegment> update,
      java.util.function.BinaryOperator<MemorySegment> append, java.util.function.Consumer<MemorySegment> release) {
    MemorySegment made = api.pointer(create);
    try {
      api.check(update.apply(made));
      return set(options -> append.apply(options, made));
    } finally {
      release.accept(made);
    }
  }

  /**
   * Adds the provider of these devices.
   *
   * @param devices at least one, all of one provider
   * @param providerOptions what it takes
   * @return this
   * @throws OrtException if the devices belong to several providers, or are gone
   */
  public SessionOptions addDevices(List<EpDevice> devices, Map<String, String> providerOptions) {
    if (devices.isEmpty()) throw OrtException.invalid("no devices: give some of epDevices()");
    api.require(22, "choosing devices");
    Handle used = env.use();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment array = arena.allocate(ValueLayout.ADDRESS, devices.size());
      for (int i = 0; i < devices.size(); ++i) {
        env.present(used, devices.get(i));
        array.setAtIndex(ValueLayout.ADDRESS, i, devices.get(i).address);
      }
      MemorySegment keys = OrtApiFFM.array(arena, "the key of an option", providerOptions.keySet());
      MemorySegment values = OrtApiFFM.array(arena, "the value of an option", providerOptions.values());
      return set(o -> api.c.sessionOptionsAppendExecutionProvider_V2(o, used.address, array, devices.size(), keys, values, providerOptions.size()));
    } finally {
      used.release();
    }
  }

  /**
   * Lets the session choose devices by a rule.
   *
   * @param policy which devices the session chooses; no effect where providers were added
   * @return this
   */
  public SessionOptions setEpSelectionPolicy(EpSelectionPolicy policy) {
    api.require(22, "a policy for devices");
    return set(options -> api.c.sessionOptionsSetEpSelectionPolicy(options, policy.value()));
  }

  /**
   * Lets the program choose devices.
   *
   * @param selector chooses the devices of each session made with these options; no effect where providers were added
   * @return this
   */
  public SessionOptions setEpSelector(EpSelector selector) {
    Objects.requireNonNull(selector, "selector");
    api.require(22, "a choice of devices");
    MemorySegment function = Upcalls.selection(new SelectorCall(api, selector), kept());
    return set(options -> api.c.sessionOptionsSetEpSelectionPolicyDelegate(options, function, MemorySegment.NULL));
  }

  /** Whether sessions go on reading the bytes that their model comes from. */
  boolean readsModelInPlace() {
    return "1".equals(configEntry("session.use_ort_model_bytes_directly")) || "1".equals(configEntry("session.use_ort_model_bytes_for_initializers"));
  }

  /** An arena for functions that sessions call: it lives as long as these options and the sessions. */
  private Arena kept() {
    Arena arena = Arena.ofAuto();
    ((SessionOptionsHandle) handle()).needs.objects().add(arena);
    return arena;
  }
}
