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
 * Options of sessions. A session copies them, so they may be changed or closed after it is created. Not thread-safe.
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
   * {@return new options with default values; the caller closes them}
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
   * Sets the number of threads that share the work of an operator.
   *
   * @param threads number of threads that compute an operator, including the caller's; 0 for one per core, 1 for the
   * caller alone
   * @return this
   */
  public SessionOptions setIntraOpThreads(int threads) {
    if (threads < 0) throw OrtException.invalid(threads + " threads: use 0 to let the library choose, or 1 for the caller's thread alone");
    return set(options -> api.c.setIntraOpNumThreads(options, threads));
  }

  /**
   * Sets the number of threads that share the branches of the graph.
   *
   * @param threads number of branches that run at the same time under {@link ExecutionMode#PARALLEL}; 0 to let the
   * library choose
   * @return this
   */
  public SessionOptions setInterOpThreads(int threads) {
    if (threads < 0) throw OrtException.invalid(threads + " threads: use 0 to let the library choose");
    return set(options -> api.c.setInterOpNumThreads(options, threads));
  }

  /**
   * Makes the session use the threads of the environment instead of its own.
   *
   * @return this. Creating a session fails if the environment has no threads ({@link EnvironmentOptions#threads})
   */
  public SessionOptions disablePerSessionThreads() {
    return set(api.c::disablePerSessionThreads);
  }

  /**
   * Sets whether the library remembers how much memory a run with given shapes needed, and allocates it in one block
   * for the next such run.
   *
   * @param on whether to do this; the default is true
   * @return this
   */
  public SessionOptions setMemoryPattern(boolean on) {
    return set(on ? api.c::enableMemPattern : api.c::disableMemPattern);
  }

  /**
   * Sets whether runs on the same inputs must give the same bits.
   *
   * @param on whether to avoid kernels that may give different bits, where alternatives exist
   * @return this
   */
  public SessionOptions setDeterministicCompute(boolean on) {
    return set(options -> api.c.setDeterministicCompute(options, on));
  }

  /**
   * Sets the order in which branches of the graph run.
   *
   * @param mode the order
   * @return this
   */
  public SessionOptions setExecutionMode(ExecutionMode mode) {
    return set(options -> api.c.setSessionExecutionMode(options, mode.value()));
  }

  /**
   * Sets how much the graph is optimised.
   *
   * @param level the level
   * @return this
   */
  public SessionOptions setOptimizationLevel(OptimizationLevel level) {
    return set(options -> api.c.setSessionGraphOptimizationLevel(options, level.value()));
  }

  /**
   * Makes the library write the optimised model when the session is created.
   *
   * @param file file for the optimised model
   * @return this
   */
  public SessionOptions setOptimizedModelPath(Path file) {
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> api.c.setOptimizedModelFilePath(options, OrtApiFFM.path(arena, file)));
    }
  }

  /**
   * Sets a config entry. Entries that the library does not know have no effect.
   *
   * @param key key of the entry, such as {@code session.disallow_implicit_copies}
   * @param value value of the entry
   * @return this
   */
  public SessionOptions addConfigEntry(String key, String value) {
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> api.c.addSessionConfigEntry(options, OrtApiFFM.text(arena, "key", key), OrtApiFFM.text(arena, "value", value)));
    }
  }

  /**
   * {@return the value of a config entry; null if it is not set}
   *
   * @param key key of the entry
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
   * Sets the log level of the session.
   *
   * @param level least severe level that is logged
   * @return this
   */
  public SessionOptions setLogLevel(LogLevel level) {
    return set(options -> api.c.setSessionLogSeverityLevel(options, level.value()));
  }

  /**
   * Sets a name for the session.
   *
   * @param id the name in the log
   * @return this
   */
  public SessionOptions setLogId(String id) {
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> api.c.setSessionLogId(options, OrtApiFFM.text(arena, "id", id)));
    }
  }

  /**
   * Sends the log of the session to the program instead of the standard output.
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
   * Records a profile of the runs until {@link OrtSessionFFM#endProfiling()}.
   *
   * @param prefix beginning of the path of the profile file
   * @return this
   */
  public SessionOptions enableProfiling(String prefix) {
    Objects.requireNonNull(prefix, "prefix");
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> api.c.enableProfiling(options, OrtApiFFM.path(arena, Path.of(prefix))));
    }
  }

  /**
   * Fixes a symbolic dimension, so that the graph can be optimised for it.
   *
   * @param dimension name of a dimension whose size the model does not fix
   * @param extent the size of the dimension
   * @return this
   */
  public SessionOptions setDimension(String dimension, long extent) {
    if (extent < 0) throw OrtException.invalid("dimension '" + dimension + "' cannot be " + extent);
    try (Arena arena = Arena.ofConfined()) {
      return set(options -> api.c.addFreeDimensionOverrideByName(options, OrtApiFFM.text(arena, "dimension", dimension), extent));
    }
  }

  /**
   * Replaces an initializer of the model by a tensor. Sessions read the tensor in place, so its segment must stay alive
   * until they are closed. These options and the sessions keep the value alive.
   *
   * @param name name of the initializer
   * @param value the tensor, which must be on the host
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
   * @param library file of a library with custom operators; it stays loaded until the sessions are closed
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
   * @param name name of the provider, such as {@code CUDA} or {@code XNNPACK}
   * @param providerOptions options that the provider defines
   * @return this
   * @throws OrtException if the library has no such provider
   */
  public SessionOptions addProvider(String name, Map<String, String> providerOptions) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment keys = OrtApiFFM.array(arena, "the key of an option", providerOptions.keySet());
      MemorySegment values = OrtApiFFM.array(arena, "the value of an option", providerOptions.values());
      int n = providerOptions.size();
      OrtApi c = api.c;
      return switch (Objects.requireNonNull(name, "name")) {
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
   * Adds the provider of some devices.
   *
   * @param devices at least one device, all of the same provider
   * @param providerOptions options that the provider defines
   * @return this
   * @throws OrtException if the devices belong to several providers, or a device no longer exists
   */
  public SessionOptions addDevices(List<EpDevice> devices, Map<String, String> providerOptions) {
    if (devices.isEmpty()) throw OrtException.invalid("no devices: pass at least one of epDevices()");
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
   * Makes the session choose its devices by a rule.
   *
   * @param policy the rule; it has no effect if providers were added
   * @return this
   */
  public SessionOptions setEpSelectionPolicy(EpSelectionPolicy policy) {
    api.require(22, "a policy for devices");
    return set(options -> api.c.sessionOptionsSetEpSelectionPolicy(options, policy.value()));
  }

  /**
   * Lets the program choose the devices of a session.
   *
   * @param selector chooses the devices of each session that is created with these options; it has no effect if
   * providers were added
   * @return this
   */
  public SessionOptions setEpSelector(EpSelector selector) {
    Objects.requireNonNull(selector, "selector");
    api.require(22, "a choice of devices");
    MemorySegment function = Upcalls.selection(new SelectorCall(api, selector), kept());
    return set(options -> api.c.sessionOptionsSetEpSelectionPolicyDelegate(options, function, MemorySegment.NULL));
  }

  /** Returns whether sessions continue to read the bytes of their model after they are created. */
  boolean readsModelInPlace() {
    return "1".equals(configEntry("session.use_ort_model_bytes_directly")) || "1".equals(configEntry("session.use_ort_model_bytes_for_initializers"));
  }

  /** Returns an arena for functions that sessions call. It lives as long as these options and the sessions. */
  private Arena kept() {
    Arena arena = Arena.ofAuto();
    ((SessionOptionsHandle) handle()).needs.objects().add(arena);
    return arena;
  }
}
