package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.ExperimentalCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;

/**
 * A loaded model. Several threads may run it at the same time; each binding is for one thread. Bindings and values keep
 * what they need of the session after it is closed. Thread-safe.
 */
public final class OrtSessionFFM extends NativeObject {
  private final OrtEnvironmentFFM env;
  private final OrtApiFFM api;
  private final Ports inputs;
  private final Ports outputs;

  private OrtSessionFFM(OrtEnvironmentFFM env, SessionHandle handle, Ports inputs, Ports outputs) {
    super(handle);
    this.env = env;
    api = env.api();
    this.inputs = inputs;
    this.outputs = outputs;
  }

  /**
   * Loads a model from a file.
   *
   * @param env the environment
   * @param model file of the model
   * @param options the options; null for none
   * @return the session
   * @throws OrtException if the model cannot be loaded
   */
  public static OrtSessionFFM create(OrtEnvironmentFFM env, Path model, SessionOptions options) {
    return finished(env, SessionMaker.ofFile(env, model, options));
  }

  /**
   * Loads a model from bytes.
   *
   * @param env the environment
   * @param model content of the model file; the library copies what it needs later
   * @param options the options; null for none
   * @return the session
   * @throws OrtException if the model cannot be loaded
   */
  public static OrtSessionFFM create(OrtEnvironmentFFM env, byte[] model, SessionOptions options) {
    return finished(env, SessionMaker.ofBytes(env, model, options));
  }

  /**
   * Loads a model from memory, such as a mapped file.
   *
   * @param env the environment
   * @param model content of the model file. It is not needed after the session is created, except with config entries
   * that use it directly ({@code session.use_ort_model_bytes_directly}): then its arena must stay open, and runs keep
   * it open as they do the arenas of values
   * @param options the options; null for none
   * @return the session
   * @throws OrtException if the model cannot be loaded
   */
  public static OrtSessionFFM create(OrtEnvironmentFFM env, MemorySegment model, SessionOptions options) {
    return finished(env, SessionMaker.ofMemory(env, model, options));
  }

  /**
   * Shares a session of the official Java package. Both objects use the same native session, through the library that
   * the package loaded. The package's session remains the owner and must stay open while this session or a binding of
   * it is used.
   *
   * @param session session of the official Java package
   * @return a session on the same native handle
   * @throws IllegalStateException if that session is closed
   * @throws OrtException if its native handle cannot be read, because the package has an unsupported version or its
   * module is not open
   */
  public static OrtSessionFFM createFromOrtSession(ai.onnxruntime.OrtSession session) {
    MemorySegment address = OfficialJava.address(session);
    OrtEnvironmentFFM env = OfficialJava.environment();
    Handle used = env.use();
    try {
      return finished(env, new SessionHandle(env.api(), address, OfficialJava.closed(session), used));
    } finally {
      used.release();
    }
  }

  /** Reads the inputs and outputs of the model; releases the session if that fails. */
  private static OrtSessionFFM finished(OrtEnvironmentFFM env, SessionHandle handle) {
    try {
      return new OrtSessionFFM(env, handle, Ports.inputs(env.api(), handle.address), Ports.outputs(env.api(), handle.address));
    } catch (RuntimeException e) {
      handle.release();
      throw e;
    }
  }

  @Override
  String title() {
    return "session";
  }

  /** Adds a reference to the native session for a call. */
  SessionHandle useSession() {
    SessionHandle session = (SessionHandle) use();
    try {
      session.there();
      return session;
    } catch (IllegalStateException e) {
      session.release();
      throw e;
    }
  }

  private <T> T with(Function<SessionHandle, T> call) {
    SessionHandle session = useSession();
    try {
      return call.apply(session);
    } finally {
      session.release();
    }
  }

  Ports inputPorts() {
    return inputs;
  }

  Ports outputPorts() {
    return outputs;
  }

  /** {@return the environment} */
  public OrtEnvironmentFFM environment() {
    return env;
  }

  /** {@return the names and types of the inputs, in the order of the model} */
  public List<ValueInfo> inputs() {
    return inputs.infos();
  }

  /** {@return the names and types of the outputs, in the order of the model} */
  public List<ValueInfo> outputs() {
    return outputs.infos();
  }

  /** {@return the initializers that a run may replace by inputs} */
  public List<ValueInfo> overridableInitializers() {
    return with(session -> Ports.overridable(api, session.address).infos());
  }

  /** {@return the metadata of the model} */
  public ModelMetadata metadata() {
    return with(session -> MetadataReader.read(api, session.address));
  }

  /** {@return the place in which the session reads each input, in the order of the model} */
  public List<DeviceSpec> inputDevices() {
    api.require(23, "the places of inputs");
    return with(session -> devices(inputs.names().size(), (array, n) -> api.c.sessionGetMemoryInfoForInputs(session.address, array, n)));
  }

  /** {@return the place in which the session writes each output, in the order of the model} */
  public List<DeviceSpec> outputDevices() {
    api.require(23, "the places of outputs");
    return with(session -> devices(outputs.names().size(), (array, n) -> api.c.sessionGetMemoryInfoForOutputs(session.address, array, n)));
  }

  /** {@return the device that reads each input, in the order of the model; null if its provider has no device} */
  public List<EpDevice> inputEpDevices() {
    api.require(23, "the devices of inputs");
    return with(session -> epDevices(inputs.names().size(), (array, n) -> api.c.sessionGetEpDeviceForInputs(session.address, array, n)));
  }

  /** {@return the device that writes each output, in the order of the model; null if its provider has no device} */
  public List<EpDevice> outputEpDevices() {
    api.require(24, "the devices of outputs");
    return with(session -> epDevices(outputs.names().size(), (array, n) -> api.c.sessionGetEpDeviceForOutputs(session.address, array, n)));
  }

  private List<EpDevice> epDevices(int count, Filler filler) {
    List<EpDevice> devices = new ArrayList<>();
    if (count == 0) return devices;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment array = arena.allocate(ValueLayout.ADDRESS, count);
      api.check(filler.fill(array, count));
      for (MemorySegment device : OrtApiFFM.pointers(array, count)) devices.add(device.address() == 0 ? null : new EpDevice(api, device));
    }
    return devices;
  }

  private interface Filler {
    MemorySegment fill(MemorySegment array, long count);
  }

  private List<DeviceSpec> devices(int count, Filler filler) {
    List<DeviceSpec> devices = new ArrayList<>();
    if (count == 0) return devices;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment array = arena.allocate(ValueLayout.ADDRESS, count);
      api.check(filler.fill(array, count));
      for (MemorySegment info : OrtApiFFM.pointers(array, count)) devices.add(api.device(info));
    }
    return devices;
  }

  /**
   * {@return an allocator for a place: the environment's shared one if it exists, otherwise one that the session
   * creates}
   *
   * @param device a place that a provider of the session drives
   * @throws OrtException if there is no allocator for the place
   */
  public OrtAllocatorFFM allocator(DeviceSpec device) {
    return with(session -> OrtAllocatorFFM.of(session, device));
  }

  /**
   * {@return statistics of the session's own allocator for a place, by names that the library defines, such as {@code
   * InUse}; empty if it has none}
   *
   * @param device a place that a provider of the session drives
   * @throws OrtException if there is no allocator for the place, or the library is older than 1.23
   */
  public Map<String, String> allocatorStatistics(DeviceSpec device) {
    api.require(23, "statistics of an allocator");
    return with(session -> {
      try (OrtAllocatorFFM own = OrtAllocatorFFM.ofSession(session, device)) {
        return own.statistics();
      }
    });
  }

  /** {@return a new binding with nothing bound; the caller closes it} */
  public OrtIoBindingFFM createBinding() {
    return new OrtIoBindingFFM(this);
  }

  /**
   * Runs the model and returns all outputs, which the library allocates.
   *
   * @param values the inputs by name
   * @return the outputs by name; the caller closes them
   * @throws OrtException if an input is missing or has the wrong type or shape, or the run fails
   */
  public OrtValues run(Map<String, OrtValueRef> values) {
    return run(values, outputs.names(), null);
  }

  /**
   * Runs the model and returns some of its outputs, which the library allocates.
   *
   * @param values the inputs by name
   * @param wanted names of the outputs to compute, at least one
   * @param options the options; null for none
   * @return these outputs by name; the caller closes them
   * @throws OrtException if an input is missing or has the wrong type or shape, an output is unknown, or the run fails
   */
  public OrtValues run(Map<String, OrtValueRef> values, Collection<String> wanted, RunOptions options) {
    Objects.requireNonNull(wanted, "wanted");
    requireValues(values);
    return with(session -> {
      List<Handle> held = new ArrayList<>();
      try {
        if (options != null) held.add(options.use());
        List<ValueHandle> given = OrtValueRef.hold(values.values(), held);
        return new OrtValues(new NamedRun(session, inputs, outputs).run(values.keySet(), given, wanted, options == null ? null : options.handle()));
      } finally {
        held.forEach(Handle::release);
      }
    });
  }

  private static void requireValues(Map<String, OrtValueRef> values) {
    Objects.requireNonNull(values, "values").forEach((name, value) -> {
      if (value == null) throw new NullPointerException("the value of input '" + name + "'");
    });
  }

  /**
   * Runs the model in another thread. Arenas of the values must be shared. If the program completes the future ({@code
   * cancel}, {@code orTimeout}, {@code complete}), the run is terminated at the next opportunity and its results are
   * released. Completing a future that was derived from this one does not terminate the run.
   *
   * @param values the inputs by name; the program may close its references at once
   * @param wanted names of the outputs to compute
   * @param options the options; null for none. Terminating the run sets their terminate flag, which affects all runs
   * with these options
   * @param executor executes the run; null for threads of this package
   * @return the outputs by name; the receiver closes them
   */
  public CompletableFuture<OrtValues> runAsync(Map<String, OrtValueRef> values, Collection<String> wanted, RunOptions options, Executor executor) {
    requireValues(values);
    Objects.requireNonNull(wanted, "wanted").forEach(name -> Objects.requireNonNull(name, "name"));
    List<String> names = List.copyOf(wanted);
    Map<String, OrtValueRef> held = new LinkedHashMap<>();
    try {
      values.forEach((name, value) -> held.put(name, value.retain()));
      return AsyncRun.start(api, options, executor, with -> {
        try {
          return run(held, names, with);
        } finally {
          held.values().forEach(OrtValueRef::close);
        }
      });
    } catch (RuntimeException e) {
      held.values().forEach(OrtValueRef::close);
      throw e;
    }
  }

  /**
   * Changes options of the session's providers while the session exists.
   *
   * @param options options that the providers define, at least one entry
   */
  public void setEpDynamicOptions(Map<String, String> options) {
    api.require(20, "dynamic options of providers");
    with(session -> {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment keys = OrtApiFFM.array(arena, "the key of an option", options.keySet());
        api.check(api.c.setEpDynamicOptions(session.address, keys, OrtApiFFM.array(arena, "the value of an option", options.values()), options.size()));
        return null;
      }
    });
  }

  /**
   * {@return the number of bytes that the engine has copied by itself since the session was created: 0 as long as it
   * works in bound memory; empty for engines other than Retort, which do not count them}
   */
  public OptionalLong copiedBytes() {
    return with(session -> ExperimentalCalls.copiedBytes(api.c, session.address));
  }

  /**
   * Ends profiling and writes the profile.
   *
   * @return the file of the profile
   */
  public Path endProfiling() {
    return with(session -> Path.of(api.text(out -> api.c.sessionEndProfiling(session.address, api.defaultAllocator, out))));
  }

  /** Returns the inputs and outputs, for messages. */
  @Override
  public String toString() {
    return "session " + inputs.infos() + " -> " + outputs.infos();
  }
}
