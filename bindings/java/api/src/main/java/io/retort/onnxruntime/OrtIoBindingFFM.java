package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.KeptCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * Names once where inputs are read and outputs are written; a run is then one call without names, and data stays where it is used.
 *
 * <p>Values that are bound are held, so their references may be closed; the memory behind tensors over segments must stay open.
 * A run holds the arenas of its segments: closing one meanwhile fails in the thread that tries.
 *
 * <p>For one thread at a time: a second one gets an {@link OrtException}. Several bindings of a session may run at once.
 */
public final class OrtIoBindingFFM extends NativeObject {
  private final OrtSessionFFM session;
  private final OrtApiFFM api;
  private final BoundResults results;

  /**
   * A binding of a session, with nothing bound.
   *
   * @param session the session; it may be closed, the binding keeps what it needs
   */
  public OrtIoBindingFFM(OrtSessionFFM session) {
    this(session, false);
  }

  /**
   * A binding of a session of the official Java package, on its native session.
   *
   * @param session the session; it must be open while the binding is used
   * @throws OrtException as {@link OrtSessionFFM#createFromOrtSession}
   */
  public OrtIoBindingFFM(ai.onnxruntime.OrtSession session) {
    this(OrtSessionFFM.createFromOrtSession(session), true);
  }

  private OrtIoBindingFFM(OrtSessionFFM session, boolean own) {
    super(make(session, own));
    this.session = session;
    api = session.environment().api();
    results = new BoundResults(api);
  }

  /** Closes a session that was made for the binding alone: the binding keeps what it needs of it. */
  private static BindingHandle make(OrtSessionFFM session, boolean own) {
    SessionHandle held = session.useSession();
    try {
      MemorySegment binding = held.api.pointer(out -> held.api.c.createIoBinding(held.address, out));
      return new BindingHandle(held.api, binding, held);
    } finally {
      held.release();
      if (own) session.close();
    }
  }

  @Override
  String title() {
    return "I/O binding";
  }

  /** {@return the session; closed where the binding was made of one of the official Java package} */
  public OrtSessionFFM session() {
    return session;
  }

  private void with(Consumer<BindingHandle> call) {
    BindingHandle binding = (BindingHandle) enter();
    try {
      binding.session.there();
      call.accept(binding);
    } finally {
      binding.leave();
    }
  }

  /**
   * Binds an input to memory of the program.
   *
   * @param name name of the input
   * @param segment native memory with the elements; each run reads it where the session reads there; otherwise it is copied now
   * @param shape extents, outermost first
   * @param type type of the elements
   * @param device where the memory is; on a device, a segment without a size (a pointer) is taken to be long enough
   * @throws OrtException if the name is unknown, type or shape are not those of the model, or the segment is too short, not aligned, on the heap, or
   *     confined to another thread
   */
  public void bindInput(String name, MemorySegment segment, long[] shape, ElementType type, DeviceSpec device) {
    MemoryDescriptor what = new MemoryDescriptor(type, shape);
    session.inputPorts().fits(session.inputPorts().get(name), what);
    try (OrtValueRef value = new OrtValueRef(ValueMaker.wrap(api, segment, what, device))) {
      bindInput(name, value);
    }
  }

  /**
   * Binds an input to a value.
   *
   * @param name name of the input
   * @param value the value; the binding holds it
   * @throws OrtException if the name is unknown, type or shape are not those of the model, or the value lies in a segment that is confined to another
   *     thread
   * @throws IllegalStateException if the arena of its segment is closed
   */
  public void bindInput(String name, OrtValueRef value) {
    Ports.Port port = session.inputPorts().get(name);
    with(binding -> {
      ValueHandle held = hold(value, session.inputPorts(), port);
      try {
        api.check(bind(binding, port, held));
      } catch (RuntimeException e) {
        held.release();
        throw e;
      }
      binding.put(binding.inputs, name, held);
    });
  }

  /** A value that the session reads elsewhere is copied now: its arena stays open meanwhile. */
  private long bind(BindingHandle binding, Ports.Port port, ValueHandle value) {
    try {
      return KeptCalls.bindInput(api.c, binding.address, port.nativeName(), value.address, ValueHandle.scopes(List.of(value)));
    } catch (IllegalStateException | WrongThreadException e) {
      throw value.refused("'" + port.info().name() + "'", e);
    }
  }

  private ValueHandle hold(OrtValueRef value, Ports side, Ports.Port port) {
    ValueHandle held = (ValueHandle) value.use();
    try {
      api.same(held.api, "the value");
      side.fits(port, held);
      return held;
    } catch (RuntimeException e) {
      held.release();
      throw e;
    }
  }

  /**
   * Binds an output to a value, which runs write.
   *
   * @param name name of the output
   * @param value a tensor of the shape that the run computes; the binding holds it
   * @throws OrtException if the name is unknown, the type is not that of the model, or the memory is read-only or of a device that the session does not
   *     drive
   */
  public void bindOutput(String name, OrtValueRef value) {
    Ports.Port port = session.outputPorts().get(name);
    with(binding -> {
      ValueHandle held = hold(value, session.outputPorts(), port);
      try {
        held.requireWritable("output '" + name + "'");
        binding.session.requireDrives("output '" + name + "'", held);
        api.check(api.c.bindOutput(binding.address, port.nativeName(), held.address));
      } catch (RuntimeException e) {
        held.release();
        throw e;
      }
      binding.put(binding.outputs, name, held);
    });
  }

  /**
   * Binds an output to memory of the program, which runs write.
   *
   * @param name name of the output
   * @param segment native memory, at least as long as the elements
   * @param shape extents, outermost first
   * @param type type of the elements
   * @param device where the memory is; on a device, a segment without a size (a pointer) is taken to be long enough
   * @throws OrtException if the name is unknown, the type is not that of the model, or the segment is too short, not aligned, read-only or on the heap
   */
  public void bindOutput(String name, MemorySegment segment, long[] shape, ElementType type, DeviceSpec device) {
    MemoryDescriptor what = new MemoryDescriptor(type, shape);
    session.outputPorts().fits(session.outputPorts().get(name), what);
    try (OrtValueRef value = new OrtValueRef(ValueMaker.wrap(api, segment, what, device))) {
      bindOutput(name, value);
    }
  }

  /**
   * Binds an output to a tensor that is made now, once.
   *
   * @param name name of the output
   * @param what type and shape
   * @param device where it is made
   * @throws OrtException if the name is unknown, the type is not that of the model, or nothing allocates there
   */
  public void bindOutput(String name, MemoryDescriptor what, DeviceSpec device) {
    session.outputPorts().fits(session.outputPorts().get(name), what);
    try (OrtAllocatorFFM allocator = result(b -> OrtAllocatorFFM.of(b.session, device)); OrtValueRef value = allocator.allocate(what)) {
      bindOutput(name, value);
    }
  }

  /**
   * Binds an output to a place: each run makes its result there. Official ONNX Runtime wants it bound again when its shape changes.
   *
   * @param name name of the output
   * @param device the place
   * @throws OrtException if the name is unknown, or no provider of the session drives the device
   */
  public void bindOutputToDevice(String name, DeviceSpec device) {
    Ports.Port port = session.outputPorts().get(name);
    with(binding -> {
      binding.session.requireDrives("output '" + name + "' was to be made", device);
      api.check(api.c.bindOutputToDevice(binding.address, port.nativeName(), api.memoryInfo(device)));
      binding.put(binding.outputs, name, null);
    });
  }

  /** Runs the model. Nothing is allocated; the results are where they were bound. */
  public void run() {
    run(null);
  }

  /**
   * Runs the model. Nothing is allocated; the results are where they were bound.
   *
   * @param options the options; null for none
   * @throws OrtException if the run fails or is terminated, something is not bound, or another thread uses the binding
   * @throws IllegalStateException if the binding is closed, or the arena of a bound segment
   */
  public void run(RunOptions options) {
    BindingHandle binding = (BindingHandle) enter();
    try {
      run(binding, options);
    } finally {
      binding.leave();
    }
  }

  private void run(BindingHandle binding, RunOptions options) {
    binding.session.there();
    binding.show(List.of());
    Handle with = options == null ? null : options.use();
    long status;
    try {
      if (with != null) api.same(with.api, "the RunOptions object");
      status = KeptCalls.runWithBinding(api.c, binding.session.address, with == null ? MemorySegment.NULL : with.address, binding.address, binding.kept());
    } catch (IllegalStateException | WrongThreadException e) {
      throw binding.refused(e);
    } finally {
      if (with != null) with.release();
    }
    api.check(status);
  }

  /**
   * Runs the model.
   *
   * @param options the options; null for none
   * @return references to the outputs by name, to be closed by the caller; on Retort later runs do not overwrite them unless
   *     they are values that were bound
   * @throws OrtException as {@link #run(RunOptions)}
   */
  public OrtValues runWithBindings(RunOptions options) {
    BindingHandle binding = (BindingHandle) enter();
    try {
      run(binding, options);
      return new OrtValues(results.values(binding));
    } finally {
      binding.leave();
    }
  }

  /**
   * Runs the model in another thread; arenas of bound segments must be shared ones. The binding is in use until the run has ended.
   * Completing the future from outside ({@code cancel}, {@code orTimeout}, {@code complete}) ends the run, as soon as it notices, and
   * releases its results; completing a future that was derived from it does not. Such a run may have written some of its outputs.
   *
   * @param options the options; null for none. Ending the run sets their terminate flag, which is that of all runs with them
   * @param executor runs the call; null for threads of this library
   * @return references to the outputs by name, to be closed by whoever gets them
   */
  public CompletableFuture<OrtValues> runAsync(RunOptions options, Executor executor) {
    return AsyncRun.start(api, options, executor, this::runWithBindings);
  }

  /** {@return names of the bound outputs, in the order in which they were first bound} */
  public List<String> getBoundOutputNames() {
    return result(results::names);
  }

  /** {@return references to the outputs by name, to be closed by the caller; empty values before the first run} */
  public OrtValues getBoundOutputValues() {
    return result(binding -> new OrtValues(results.values(binding)));
  }

  /**
   * Views of the outputs on the host; those on devices are copied. Outputs bound to segments are these segments. Other views
   * end at the next run, at the next call of this, at clearing and closing: reading them then throws {@link IllegalStateException}.
   *
   * @return memory of the outputs by name
   * @throws OrtException if an output is not a tensor of numbers
   */
  public Map<String, MemorySegment> getBoundOutputCpuValues() {
    return result(results::views);
  }

  /**
   * Copies of the outputs on the host.
   *
   * @param arena where they are allocated
   * @return memory of the outputs by name, which lives as long as the arena
   * @throws OrtException if an output is not a tensor of numbers
   */
  public Map<String, MemorySegment> getBoundOutputCpuValues(Arena arena) {
    return result(binding -> results.copies(binding, arena));
  }

  /**
   * Brings the outputs to the host.
   *
   * @return references to the outputs by name, to be closed by the caller: copies of those on devices, the others themselves
   */
  public OrtValues copyOutputsToCpu() {
    return result(binding -> new OrtValues(results.onHost(binding)));
  }

  private interface Result<T> {
    T of(BindingHandle binding);
  }

  private <T> T result(Result<T> result) {
    BindingHandle binding = (BindingHandle) enter();
    try {
      binding.session.there();
      return result.of(binding);
    } finally {
      binding.leave();
    }
  }

  /** Waits until bound inputs are where the session reads them. */
  public void synchronizeInputs() {
    with(binding -> api.check(api.c.synchronizeBoundInputs(binding.address)));
  }

  /** Waits until the outputs are written: on devices a run may end earlier. */
  public void synchronizeOutputs() {
    with(binding -> api.check(api.c.synchronizeBoundOutputs(binding.address)));
  }

  /** Unbinds all inputs; values that only the binding held are released. */
  public void clearBoundInputs() {
    with(binding -> {
      api.c.clearBoundInputs(binding.address);
      binding.clear(binding.inputs);
    });
  }

  /** Unbinds all outputs; values that only the binding held are released. */
  public void clearBoundOutputs() {
    with(binding -> {
      binding.show(List.of());
      api.c.clearBoundOutputs(binding.address);
      binding.clear(binding.outputs);
    });
  }
}
