package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.KeptCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.Buffer;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Binds inputs and outputs of a session to memory once. A run is then one call without names, and data stays in the
 * place where it is used.
 *
 * <p>The binding keeps bound values alive, so the program may close its references to them. The memory behind tensors
 * over segments must stay open. During a run, the arenas of its segments cannot be closed: the thread that tries gets
 * an exception.
 *
 * <p>Not thread-safe: if a second thread uses a binding, it gets an {@link OrtException}. Several bindings of one
 * session may run at the same time.
 */
public final class OrtIoBindingFFM extends NativeObject {
  private final OrtSessionFFM session;
  private final OrtApiFFM api;
  private final BoundResults results;

  /**
   * Creates a binding with nothing bound.
   *
   * @param session the session; it may be closed, since the binding keeps what it needs
   */
  public OrtIoBindingFFM(OrtSessionFFM session) {
    this(session, false);
  }

  /**
   * Creates a binding for a session of the official Java package. It uses the same native session.
   *
   * @param session an {@code ai.onnxruntime.OrtSession}, which must stay open while the binding is used. The type of the
   * parameter is wider, because a program without that package could not be compiled if a constructor named its class
   * @throws OrtException as for {@link OrtSessionFFM#createFromOrtSession}, and for any other object
   */
  public OrtIoBindingFFM(AutoCloseable session) {
    this(ofOfficial(session), true);
  }

  private static OrtSessionFFM ofOfficial(AutoCloseable session) {
    if (OfficialJava.isSession(Objects.requireNonNull(session, "session"))) return OrtSessionFFM.createFromOrtSession((ai.onnxruntime.OrtSession) session);
    throw OrtException.invalid("a binding was to be made for a " + session.getClass().getName() + ": give an OrtSessionFFM, or an ai.onnxruntime.OrtSession");
  }

  private OrtIoBindingFFM(OrtSessionFFM session, boolean own) {
    super(make(session, own));
    this.session = session;
    api = session.environment().api();
    results = new BoundResults(api);
  }

  /**
   * Creates the native binding. Closes the session if it was made for the binding alone, since the binding keeps what
   * it needs.
   */
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

  /** {@return the session; it is closed if the binding was created from a session of the official Java package} */
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
   * @param segment native memory with the elements. If the session reads the input in this kind of memory, each run
   * reads it in place; otherwise it is copied now
   * @param shape the extents, outermost first
   * @param type type of the elements
   * @param device place of the memory. For a device, a segment of size 0 (a pointer) is assumed to be long enough
   * @throws OrtException if the name is unknown, type or shape are not those of the model, or the segment is too short,
   * not aligned, on the heap, or confined to another thread
   */
  public void bindInput(String name, MemorySegment segment, long[] shape, OnnxTensorElementType type, DeviceSpec device) {
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
   * @param value the value; the binding keeps it alive
   * @throws OrtException if the name is unknown, type or shape are not those of the model, or the value is in a segment
   * that is confined to another thread
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

  /**
   * Binds an input to a value that is in a known place.
   *
   * @param name name of the input
   * @param value the value; the binding keeps it alive
   * @param device the place where the value is
   * @throws OrtException as for {@link #bindInput(String, OrtValueRef)}, and if the value is in another place
   */
  public void bindInput(String name, OrtValueRef value, DeviceSpec device) {
    Objects.requireNonNull(device, "device");
    DeviceSpec place = value.valueType() == ValueType.TENSOR ? value.device() : DeviceSpec.CPU;
    if (!place.sameMemory(device)) throw OrtException.invalid("input '" + name + "' is on " + place + ", not on " + device + ": name the place of the value, or copy it with copyTensors");
    bindInput(name, value);
  }

  /**
   * Binds an input to memory of the program, with the element type and the shape of the model. One extent may be left
   * open in the model: it follows from the size of the memory.
   *
   * @param name name of the input
   * @param segment native memory with the elements, which is used as {@link #bindInput(String, MemorySegment, long[],
   * OnnxTensorElementType, DeviceSpec)} does
   * @param device place of the memory
   * @throws OrtException as for that method, and if the shape does not follow from the size
   */
  public void bindInput(String name, MemorySegment segment, DeviceSpec device) {
    MemoryDescriptor what = InputBuffers.shapeOf(session.inputPorts().get(name).info(), segment.byteSize());
    bindInput(name, segment, what.shape(), what.type(), device);
  }

  /**
   * Binds an input to a buffer of Java, with the element type and the shape of the model. A direct buffer is used in
   * place, and stays alive while it is bound. A buffer on Java's heap is copied now: bind it again after you change its
   * contents.
   *
   * @param name name of the input
   * @param buffer the elements from the position of the buffer to its limit
   * @param device place of the buffer; it must be memory of the host
   * @throws OrtException if the buffer has another element type than the input or another byte order than the machine,
   * or if the shape does not follow from its size
   */
  public void bindInput(String name, Buffer buffer, DeviceSpec device) {
    ValueInfo input = session.inputPorts().get(name).info();
    MemorySegment segment = InputBuffers.segmentOf(input, buffer, device);
    if (segment.isNative()) {
      bindInput(name, segment, device);
      return;
    }
    try (OrtValueRef copy = new OrtValueRef(ValueMaker.onHost(api, InputBuffers.shapeOf(input, segment.byteSize())))) {
      copy.copyFrom(segment);
      bindInput(name, copy);
    }
  }

  /**
   * Binds an input. If the session reads the input on another device, the value is copied now, and its arena stays open
   * during the copy.
   */
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
   * @param value a tensor of the shape that the run computes; the binding keeps it alive
   * @throws OrtException if the name is unknown, the type is not that of the model, or the memory is read-only or on a
   * device that no provider of the session drives
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
   * @param shape the extents, outermost first
   * @param type type of the elements
   * @param device place of the memory. For a device, a segment of size 0 (a pointer) is assumed to be long enough
   * @throws OrtException if the name is unknown, the type is not that of the model, or the segment is too short, not
   * aligned, read-only, or on the heap
   */
  public void bindOutput(String name, MemorySegment segment, long[] shape, OnnxTensorElementType type, DeviceSpec device) {
    MemoryDescriptor what = new MemoryDescriptor(type, shape);
    session.outputPorts().fits(session.outputPorts().get(name), what);
    try (OrtValueRef value = new OrtValueRef(ValueMaker.wrap(api, segment, what, device))) {
      bindOutput(name, value);
    }
  }

  /**
   * Binds an output to a new tensor, which is allocated once, now.
   *
   * @param name name of the output
   * @param what element type and shape
   * @param device place of the new tensor
   * @throws OrtException if the name is unknown, the type is not that of the model, or no allocator exists for the
   * place
   */
  public void bindOutput(String name, MemoryDescriptor what, DeviceSpec device) {
    session.outputPorts().fits(session.outputPorts().get(name), what);
    try (OrtAllocatorFFM allocator = result(b -> OrtAllocatorFFM.of(b.session, device)); OrtValueRef value = allocator.allocate(what)) {
      bindOutput(name, value);
    }
  }

  /**
   * Binds an output to a new tensor, which is allocated once, now.
   *
   * @param name name of the output
   * @param shape the extents, outermost first
   * @param type type of the elements
   * @param device place of the new tensor
   * @throws OrtException as for {@link #bindOutput(String, MemoryDescriptor, DeviceSpec)}
   */
  public void bindOutput(String name, long[] shape, OnnxTensorElementType type, DeviceSpec device) {
    bindOutput(name, new MemoryDescriptor(shape, type), device);
  }

  /**
   * Binds an output to a place. Each run allocates its result there. On official ONNX Runtime, bind the output again
   * when its shape changes.
   *
   * @param name name of the output
   * @param device the place
   * @throws OrtException if the name is unknown, or no provider of the session drives the device
   */
  public void bindOutputToDevice(String name, DeviceSpec device) {
    Ports.Port port = session.outputPorts().get(name);
    with(binding -> {
      binding.session.requireDrives("output '" + name + "' was to be allocated", device);
      api.check(api.c.bindOutputToDevice(binding.address, port.nativeName(), api.memoryInfo(device)));
      binding.put(binding.outputs, name, null);
    });
  }

  /** Runs the model. Nothing is allocated; the results are in the bound memory. */
  public void run() {
    run(null);
  }

  /**
   * Runs the model. Nothing is allocated; the results are in the bound memory.
   *
   * @param options the options; null for none
   * @throws OrtException if the run fails or is terminated, an input or output is not bound, or another thread uses the
   * binding
   * @throws IllegalStateException if the binding or the arena of a bound segment is closed
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
    binding.endResults();
    if (binding.outputs.isEmpty()) throw OrtException.invalid("no output is bound, bind at least one of " + session.outputPorts().names() + ": use bindOutput or bindOutputToDevice");
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
   * @return the outputs by name, which may be ignored; see {@link OrtValues}
   * @throws OrtException as for {@link #run(RunOptions)}
   */
  public OrtValues runWithBindings() {
    return runWithBindings((RunOptions) null);
  }

  /**
   * Runs the model with config entries.
   *
   * @param runOptions keys and values for {@link RunOptions#addConfigEntry}; may be empty
   * @return the outputs by name, which may be ignored; see {@link OrtValues}
   * @throws OrtException as for {@link #run(RunOptions)}, and if the library rejects an entry
   */
  public OrtValues runWithBindings(Map<String, String> runOptions) {
    try (RunOptions options = RunOptions.create(api)) {
      runOptions.forEach(options::addConfigEntry);
      return runWithBindings(options);
    }
  }

  /**
   * Runs the model.
   *
   * @param options the options; null for none
   * @return the outputs by name, which may be ignored. If the program reads one of them, it closes them. On Retort,
   * later runs do not overwrite values that were read, except for values that were bound
   * @throws OrtException as for {@link #run(RunOptions)}
   */
  public OrtValues runWithBindings(RunOptions options) {
    BindingHandle binding = (BindingHandle) enter();
    try {
      run(binding, options);
      return later(binding, results::values);
    } finally {
      binding.leave();
    }
  }

  /** Returns results that are fetched when the first one is read, if they have not ended. */
  private OrtValues later(BindingHandle binding, Function<BindingHandle, Map<String, ValueHandle>> fetch) {
    long epoch = binding.epoch();
    return new OrtValues(() -> result(again -> {
      again.requireEpoch(epoch);
      return fetch.apply(again);
    }));
  }

  /** Runs the model for a receiver in another thread, and returns references to the outputs. */
  private OrtValues runAndFetch(RunOptions options) {
    BindingHandle binding = (BindingHandle) enter();
    try {
      run(binding, options);
      return new OrtValues(results.values(binding));
    } finally {
      binding.leave();
    }
  }

  /**
   * Runs the model in another thread. Arenas of bound segments must be shared. The binding is in use until the run has
   * ended. If the program completes the future ({@code cancel}, {@code orTimeout}, {@code complete}), the run is
   * terminated at the next opportunity and its results are released; it may have written some of its outputs.
   * Completing a future that was derived from this one does not terminate the run.
   *
   * @param options the options; null for none. Terminating the run sets their terminate flag, which affects all runs
   * with these options
   * @param executor executes the run; null for threads of this package
   * @return references to the outputs by name; the receiver closes them
   */
  public CompletableFuture<OrtValues> runAsync(RunOptions options, Executor executor) {
    return AsyncRun.start(api, options, executor, this::runAndFetch);
  }

  /** {@return the names of the bound outputs, in the order of their first binding} */
  public List<String> getBoundOutputNames() {
    return result(results::names);
  }

  /**
   * {@return the outputs by name, which may be ignored; see {@link OrtValues}. If the program reads one of them, it closes
   * them. Before the first run, the values are empty}
   */
  public OrtValues getBoundOutputValues() {
    return result(binding -> later(binding, results::values));
  }

  /**
   * Returns views of the outputs on the host. Outputs on devices are copied. For an output that is bound to a segment,
   * the view is that segment. Other views end at the next run, at the next call of this method, and when the outputs
   * are cleared or the binding is closed: reading them then throws {@link IllegalStateException}.
   *
   * @return the memory of the outputs by name
   * @throws OrtException if an output is not a tensor of numbers
   */
  public Map<String, MemorySegment> getBoundOutputCpuValues() {
    return result(results::views);
  }

  /**
   * Copies the outputs to the host.
   *
   * @param arena arena in which the copies are allocated
   * @return the copies by name; they live as long as the arena
   * @throws OrtException if an output is not a tensor of numbers
   */
  public Map<String, MemorySegment> getBoundOutputCpuValues(Arena arena) {
    return result(binding -> results.copies(binding, arena));
  }

  /**
   * Copies the outputs that are on devices to the host, now. The binding keeps the copies until its next run, and {@link
   * #getBoundOutputCpuValues()} gives views of them.
   *
   * @return the outputs on the host by name, which may be ignored; see {@link OrtValues}. If the program reads one of
   * them, it closes them. Outputs that are on the host are returned without a copy
   */
  public OrtValues copyOutputsToCpu() {
    return result(binding -> {
      results.copyToHost(binding);
      return later(binding, results::onHost);
    });
  }

  private <T> T result(Function<BindingHandle, T> result) {
    BindingHandle binding = (BindingHandle) enter();
    try {
      binding.session.there();
      return result.apply(binding);
    } finally {
      binding.leave();
    }
  }

  /** Waits until the bound inputs have been copied to the place where the session reads them. */
  public void synchronizeInputs() {
    with(binding -> api.check(api.c.synchronizeBoundInputs(binding.address)));
  }

  /** Waits until the outputs have been written. On a device, a run may return earlier. */
  public void synchronizeOutputs() {
    with(binding -> api.check(api.c.synchronizeBoundOutputs(binding.address)));
  }

  /** Unbinds all inputs. Values that nothing else references are released. */
  public void clearBoundInputs() {
    with(binding -> {
      api.c.clearBoundInputs(binding.address);
      binding.clear(binding.inputs);
    });
  }

  /** Unbinds all outputs. Values that nothing else references are released. */
  public void clearBoundOutputs() {
    with(binding -> {
      binding.endResults();
      api.c.clearBoundOutputs(binding.address);
      binding.clear(binding.outputs);
    });
  }
}
