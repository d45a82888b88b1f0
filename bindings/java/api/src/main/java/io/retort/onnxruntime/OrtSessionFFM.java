package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.ExperimentalCalls;
import io.retort.onnxruntime.ffm.KeptCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;

/**
 * A loaded model. Runs of several threads may go on at once; bindings of it are for one thread each. Bindings and values keep
 * what they need of it when it is closed. Thread-safe.
 */
public final class OrtSessionFFM extends NativeObject {
  private interface Maker {
    long make(MemorySegment env, MemorySegment options, MemorySegment[] kept, MemorySegment out);
  }

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
   * @param model the file
   * @param options the options; null for none
   * @return the session
   * @throws OrtException if it cannot be loaded
   */
  public static OrtSessionFFM create(OrtEnvironmentFFM env, Path model, SessionOptions options) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment path = OrtApiFFM.path(arena, model);
      return make(env, options, (e, o, kept, out) -> KeptCalls.createSession(env.api().c, e, path, o, out, kept));
    }
  }

  /**
   * Loads a model from bytes.
   *
   * @param env the environment
   * @param model the bytes; they are copied where they are needed afterwards
   * @param options the options; null for none
   * @return the session
   * @throws OrtException if it cannot be loaded
   */
  public static OrtSessionFFM create(OrtEnvironmentFFM env, byte[] model, SessionOptions options) {
    if (options != null && options.readsModelInPlace()) return create(env, Arena.ofAuto().allocateFrom(ValueLayout.JAVA_BYTE, model), options);
    try (Arena arena = Arena.ofConfined()) {
      return create(env, arena.allocateFrom(ValueLayout.JAVA_BYTE, model), options);
    }
  }

  /**
   * Loads a model from memory, as a mapped file.
   *
   * @param env the environment
   * @param model the bytes; not needed afterwards, except under config entries that use them directly
   *     ({@code session.use_ort_model_bytes_directly}): then their arena must stay open, and runs hold it as they do those of values
   * @param options the options; null for none
   * @return the session
   * @throws OrtException if it cannot be loaded
   */
  public static OrtSessionFFM create(OrtEnvironmentFFM env, MemorySegment model, SessionOptions options) {
    if (!model.isNative()) return create(env, model.toArray(ValueLayout.JAVA_BYTE), options);
    if (!model.scope().isAlive()) throw new IllegalStateException("the arena of the model is closed");
    if (!model.isAccessibleBy(Thread.currentThread())) throw OrtException.invalid("the model lies in a confined arena of another thread: use Arena.ofShared()");
    // Asked before the session is made: another thread may close the options.
    boolean inPlace = options != null && options.readsModelInPlace();
    OrtSessionFFM session = make(env, options, (e, o, kept, out) -> KeptCalls.createSession(env.api().c, e, model, model.byteSize(), o, out, kept));
    if (!inPlace) return session;
    try {
      session.keep(model);
      return session;
    } catch (RuntimeException e) {
      session.close();
      throw e;
    }
  }

  /**
   * Shares a session of the official Java package: both use the same native session, through the library that the package
   * loaded. The other session stays its owner's and must be open while this one or a binding of it is used.
   *
   * @param session the session
   * @return a session on the same native handle
   * @throws IllegalStateException if it is closed
   * @throws OrtException if its native handle cannot be read: the package's version is another, or its module is not open
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

  private static OrtSessionFFM make(OrtEnvironmentFFM env, SessionOptions options, Maker maker) {
    OrtApiFFM api = env.api();
    Handle used = env.use();
    try {
      SessionOptionsHandle with = options == null ? null : (SessionOptionsHandle) options.use();
      try (Arena arena = Arena.ofConfined()) {
        if (with != null) api.same(with.api, "the SessionOptions object");
        MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
        api.check(made(maker, used, with, out));
        MemorySegment session = out.get(ValueLayout.ADDRESS, 0);
        SessionHandle handle = new SessionHandle(api, session, with == null ? null : with.needs.copy(), used);
        return finished(env, handle);
      } finally {
        if (with != null) with.release();
      }
    } finally {
      used.release();
    }
  }

  /** The library folds and packs initializers: the arenas of those that lie in memory of the program stay open meanwhile. */
  private static long made(Maker maker, Handle env, SessionOptionsHandle options, MemorySegment out) {
    if (options == null) return maker.make(env.address, MemorySegment.NULL, ValueHandle.scopes(List.of()), out);
    List<ValueHandle> lent = options.needs.values();
    try {
      return maker.make(env.address, options.address, ValueHandle.scopes(lent), out);
    } catch (IllegalStateException | WrongThreadException e) {
      throw ValueHandle.refused(lent, "an initializer of the SessionOptions", e);
    }
  }

  /** Reads inputs and outputs of the model; releases the session if that fails. */
  private static OrtSessionFFM finished(OrtEnvironmentFFM env, SessionHandle handle) {
    try {
      return new OrtSessionFFM(env, handle, Ports.inputs(env.api(), handle.address), Ports.outputs(env.api(), handle.address));
    } catch (RuntimeException e) {
      handle.release();
      throw e;
    }
  }

  /** Makes runs hold the memory of the model, as a tensor of bytes that the session reads. */
  private void keep(MemorySegment model) {
    ((SessionHandle) handle()).lend(ValueMaker.wrap(api, model, new MemoryDescriptor(ElementType.UINT8, model.byteSize()), DeviceSpec.CPU));
  }

  @Override
  String title() {
    return "session";
  }

  /** Holds the session for a call. */
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

  /** {@return names and types of the inputs, in the order of the model} */
  public List<ValueInfo> inputs() {
    return inputs.infos();
  }

  /** {@return names and types of the outputs, in the order of the model} */
  public List<ValueInfo> outputs() {
    return outputs.infos();
  }

  /** {@return initializers that a run may replace, as inputs} */
  public List<ValueInfo> overridableInitializers() {
    return with(session -> Ports.overridable(api, session.address).infos());
  }

  /** {@return the metadata of the model} */
  public ModelMetadata metadata() {
    return with(session -> MetadataReader.read(api, session.address));
  }

  /** {@return where the session reads each input, in the order of the model} */
  public List<DeviceSpec> inputDevices() {
    api.require(23, "the places of inputs");
    return with(session -> devices(inputs.names().size(), (array, n) -> api.c.sessionGetMemoryInfoForInputs(session.address, array, n)));
  }

  /** {@return where the session writes each output, in the order of the model} */
  public List<DeviceSpec> outputDevices() {
    api.require(23, "the places of outputs");
    return with(session -> devices(outputs.names().size(), (array, n) -> api.c.sessionGetMemoryInfoForOutputs(session.address, array, n)));
  }

  /** {@return the device that reads each input, in the order of the model; null where its provider has none} */
  public List<EpDevice> inputEpDevices() {
    api.require(23, "the devices of inputs");
    return with(session -> epDevices(inputs.names().size(), (array, n) -> api.c.sessionGetEpDeviceForInputs(session.address, array, n)));
  }

  /** {@return the device that writes each output, in the order of the model; null where its provider has none} */
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
   * {@return the allocator there: the shared one of the environment, else one that the session makes}
   *
   * @param device a place that a provider of the session drives
   * @throws OrtException if nothing allocates there
   */
  public OrtAllocatorFFM allocator(DeviceSpec device) {
    return with(session -> OrtAllocatorFFM.of(session, device));
  }

  /** {@return a binding of inputs and outputs to memory} */
  public OrtIoBindingFFM createBinding() {
    return new OrtIoBindingFFM(this);
  }

  /**
   * Runs the model; all outputs are made by the library.
   *
   * @param values the inputs by name
   * @return the outputs by name, to be closed by the caller
   * @throws OrtException if an input is missing or of the wrong type or shape, or the run fails
   */
  public OrtValues run(Map<String, OrtValueRef> values) {
    return run(values, outputs.names(), null);
  }

  /**
   * Runs the model.
   *
   * @param values the inputs by name
   * @param wanted names of the outputs that are computed, at least one
   * @param options the options; null for none
   * @return these outputs by name, to be closed by the caller
   * @throws OrtException if an input is missing or of the wrong type or shape, an output is unknown, or the run fails
   */
  public OrtValues run(Map<String, OrtValueRef> values, Collection<String> wanted, RunOptions options) {
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

  /**
   * Runs the model in another thread. Arenas of the values must be shared ones. Completing the future from outside ({@code cancel},
   * {@code orTimeout}, {@code complete}) ends the run, as soon as it notices, and releases its results; completing a future that was
   * derived from it does not.
   *
   * @param values the inputs by name; the references may be closed at once
   * @param wanted names of the outputs that are computed
   * @param options the options; null for none. Ending the run sets their terminate flag, which is that of all runs with them
   * @param executor runs the call; null for threads of this library
   * @return the outputs by name, to be closed by whoever gets them
   */
  public CompletableFuture<OrtValues> runAsync(Map<String, OrtValueRef> values, Collection<String> wanted, RunOptions options, Executor executor) {
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
   * Changes options of the session's providers.
   *
   * @param options what they take, at least one entry
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
   * {@return bytes that the engine has copied between its own and bound memory since the session was created, 0 as long as it works
   * in bound memory; empty for engines other than Retort, which do not count them}
   */
  public OptionalLong copiedBytes() {
    return with(session -> ExperimentalCalls.copiedBytes(api.c, session.address));
  }

  /**
   * Ends profiling.
   *
   * @return the file that the profile was written to
   */
  public Path endProfiling() {
    return with(session -> Path.of(api.text(out -> api.c.sessionEndProfiling(session.address, api.defaultAllocator, out))));
  }

  /** Inputs and outputs, for messages. */
  @Override
  public String toString() {
    return "session " + inputs.infos() + " -> " + outputs.infos();
  }
}
