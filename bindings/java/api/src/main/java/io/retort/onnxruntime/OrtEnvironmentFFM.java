package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.OrtApi;
import io.retort.onnxruntime.ffm.Upcalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The environment of a library: its log, devices and shared allocators. A process has one environment per library,
 * which several objects of this class may share. Thread-safe.
 */
public final class OrtEnvironmentFFM extends NativeObject {
  private static final class EnvironmentHandle extends Handle {
    EnvironmentHandle(OrtApiFFM api, MemorySegment address) {
      super(api, ObjectKind.ENVIRONMENT, address);
    }

    @Override
    void free() {
      api.c.releaseEnv(address);
    }
  }

  private final OrtApiFFM api;

  private OrtEnvironmentFFM(OrtApiFFM api, MemorySegment address) {
    super(new EnvironmentHandle(api, address));
    this.api = api;
  }

  /** {@return the environment of {@link OrtApiFFM#get()}; the caller closes it} */
  public static OrtEnvironmentFFM create() {
    return create(OrtApiFFM.get(), EnvironmentOptions.DEFAULT);
  }

  /**
   * {@return the environment; the caller closes it}
   *
   * @param api the library
   * @param options options, which apply if this is the first environment of the process
   * @throws OrtException if the environment cannot be created
   */
  public static OrtEnvironmentFFM create(OrtApiFFM api, EnvironmentOptions options) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = OrtApiFFM.text(arena, "the name of the environment", options.name());
      MemorySegment threads = options.threads() == null ? MemorySegment.NULL : options.threads().create(api);
      try {
        return new OrtEnvironmentFFM(api, api.pointer(arena, out -> create(api.c, options, name, threads, out)));
      } finally {
        api.c.releaseThreadingOptions(threads);
      }
    }
  }

  private static MemorySegment create(OrtApi c, EnvironmentOptions options, MemorySegment name, MemorySegment threads, MemorySegment out) {
    int level = options.level().value();
    boolean own = threads.address() == 0;
    LogSink log = options.log();
    if (log == null) return own ? c.createEnv(level, name, out) : c.createEnvWithGlobalThreadPools(level, name, threads, out);
    // The global arena, because the library may log until the process ends, from threads that are never joined.
    MemorySegment sink = Upcalls.logging((l, category, id, at, text) -> log.log(LogLevel.of(l), category, id, at, text), Arena.global());
    return own ? c.createEnvWithCustomLogger(sink, MemorySegment.NULL, level, name, out)
        : c.createEnvWithCustomLoggerAndGlobalThreadPools(sink, MemorySegment.NULL, level, name, threads, out);
  }

  @Override
  String title() {
    return "environment";
  }

  /** {@return the library} */
  public OrtApiFFM api() {
    return api;
  }

  /** Returns the library, for objects that are created in this environment. Throws if the environment is closed. */
  OrtApiFFM requireOpen() {
    requireNotClosed();
    return api;
  }

  /**
   * Changes the log level of the process.
   *
   * @param level least severe level that is logged from now on
   */
  public void setLogLevel(LogLevel level) {
    Handle env = use();
    try {
      api.check(api.c.updateEnvWithCustomLogLevel(env.address, level.value()));
    } finally {
      env.release();
    }
  }

  /**
   * Loads a library of execution providers.
   *
   * @param name name by which {@link #unregisterExecutionProviderLibrary} finds the library
   * @param library file of the library
   * @throws OrtException if the library cannot be loaded, or the name is in use
   */
  public void registerExecutionProviderLibrary(String name, Path library) {
    api.require(22, "registering a library of providers");
    Handle env = use();
    try (Arena arena = Arena.ofConfined()) {
      api.check(api.c.registerExecutionProviderLibrary(env.address, OrtApiFFM.text(arena, "name", name), OrtApiFFM.path(arena, library)));
      describe(env);
    } finally {
      env.release();
    }
  }

  /**
   * Unloads a library of execution providers. First close all sessions that use it and all tensors in its memory.
   *
   * @param name name that the library was registered with
   * @throws OrtException if no library has that name
   */
  public void unregisterExecutionProviderLibrary(String name) {
    api.require(22, "unregistering a library of providers");
    Handle env = use();
    try (Arena arena = Arena.ofConfined()) {
      api.check(api.c.unregisterExecutionProviderLibrary(env.address, OrtApiFFM.text(arena, "name", name)));
      api.forgetProviders();
      describe(env);
    } finally {
      env.release();
    }
  }

  /** {@return the devices of all providers, including the processor} */
  public List<EpDevice> epDevices() {
    api.require(22, "the list of devices");
    Handle env = use();
    try {
      return describe(env);
    } finally {
      env.release();
    }
  }

  /** Lists the devices. From then on, the OrtMemoryInfo objects of their providers are used for their places. */
  private List<EpDevice> describe(Handle env) {
    List<EpDevice> devices = new ArrayList<>();
    for (MemorySegment device : deviceAddresses(env)) devices.add(new EpDevice(api, device));
    return devices;
  }

  private List<MemorySegment> deviceAddresses(Handle env) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment count = arena.allocate(ValueLayout.JAVA_LONG);
      MemorySegment array = api.pointer(arena, out -> api.c.getEpDevices(env.address, out, count));
      return OrtApiFFM.pointers(array, count.get(ValueLayout.JAVA_LONG, 0));
    }
  }

  /** Throws if the library of a device was unregistered, because the native device no longer exists. */
  void present(Handle env, EpDevice device) {
    for (MemorySegment one : deviceAddresses(env)) {
      if (one.address() == device.address.address()) return;
    }
    throw OrtException.invalid("device " + device + " is gone: its library was unregistered, or it belongs to another engine; call epDevices() of this environment");
  }

  /**
   * {@return how much memory of a kind a device has}
   *
   * @param device the device
   * @param kind kind of the memory
   * @throws OrtException if the library is older than 1.32, or if the provider does not say; that of the processor does
   *     not
   */
  public MemoryCapacity memoryCapacity(EpDevice device, MemoryKind kind) {
    api.require(32, "the capacity of a device's memory");
    Handle env = use();
    try (Arena arena = Arena.ofConfined()) {
      present(env, device);
      MemorySegment out = arena.allocate(ValueLayout.JAVA_LONG, 2);
      api.check(api.c.epDevice_GetMemoryCapacity(device.address, kind.value(), out, out.asSlice(8)));
      return new MemoryCapacity(out.getAtIndex(ValueLayout.JAVA_LONG, 0), out.getAtIndex(ValueLayout.JAVA_LONG, 1));
    } finally {
      env.release();
    }
  }

  /**
   * Creates the allocator of a device that all sessions share. It replaces an existing one.
   *
   * @param device the device
   * @param kind kind of the memory
   * @param options options for the provider
   * @return the allocator
   * @throws OrtException if the device has no such memory; the processor has none
   */
  public OrtAllocatorFFM createSharedAllocator(EpDevice device, MemoryKind kind, Map<String, String> options) {
    api.require(23, "a shared allocator");
    Handle env = use();
    try (Arena arena = Arena.ofConfined()) {
      present(env, device);
      MemorySegment pairs = api.keyValues(arena, options);
      try {
        MemorySegment made = api.pointer(arena, out -> api.c.createSharedAllocator(env.address, device.address, kind.value(), 0, pairs, out));
        return OrtAllocatorFFM.shared(api, made, env);
      } finally {
        api.c.releaseKeyValuePairs(pairs);
      }
    } finally {
      env.release();
    }
  }

  /**
   * {@return the allocator that sessions share for a place; for the processor, the default allocator}
   *
   * @param device the place
   * @throws OrtException if the place has no shared allocator
   */
  public OrtAllocatorFFM sharedAllocator(DeviceSpec device) {
    Handle env = use();
    try {
      return OrtAllocatorFFM.shared(env, device);
    } finally {
      env.release();
    }
  }

  /**
   * Removes the shared allocator of a device.
   *
   * @param device the device
   * @param kind kind of the memory
   * @throws OrtException if the device has no shared allocator
   */
  public void releaseSharedAllocator(EpDevice device, MemoryKind kind) {
    api.require(23, "a shared allocator");
    Handle env = use();
    try {
      present(env, device);
      api.check(api.c.releaseSharedAllocator(env.address, device.address, kind.value()));
    } finally {
      env.release();
    }
  }

  /**
   * Registers an arena of host memory, in place of the one that was registered before. Sessions that are created while
   * it is registered, with the config entry {@code session.use_env_allocators} = 1, take workspaces and results from it
   * together; their {@link OrtSessionFFM#allocatorStatistics} are those of the arena.
   *
   * @param settings settings of the arena by name: {@code max_mem} is the most bytes that may be in use, and a run that
   * needs more fails; the others have no effect in Retort (docs/memory.md). Empty for the defaults, without a limit
   * @throws OrtException if the library does not know a setting, or a number is negative
   */
  public void createAndRegisterAllocator(Map<String, Long> settings) {
    HostArena.register(use(), settings);
  }

  /**
   * Removes the arena that {@link #createAndRegisterAllocator} registered. Sessions that use it keep it.
   *
   * @throws OrtException if none is registered
   */
  public void unregisterAllocator() {
    HostArena.unregister(use());
  }

  /**
   * Copies tensors between devices, or between a device and the host. Copies from host to host do not use a provider.
   *
   * @param from the sources, all in the same place
   * @param to the targets: as many tensors of the same types and shapes, all in the same place
   * @param stream stream in which the device copies; the copies may then still run when this returns. Null to wait for
   * them
   * @throws OrtException if the tensors do not match, or no provider copies between the places
   */
  public void copyTensors(List<OrtValueRef> from, List<OrtValueRef> to, SyncStream stream) {
    List<Handle> held = new ArrayList<>(List.of(use()));
    try {
      List<ValueHandle> sources = OrtValueRef.hold(from, held);
      List<ValueHandle> targets = OrtValueRef.hold(to, held);
      if (stream != null) held.add(stream.use());
      TensorCopies.copy(held.get(0), sources, targets, stream == null ? null : (SyncStream.StreamHandle) stream.handle());
    } finally {
      held.forEach(Handle::release);
    }
  }

  /**
   * {@return a new stream of a device; the caller closes it}
   *
   * @param device a device whose provider supports streams
   * @param options options for the provider
   * @throws OrtException if the device has no streams; the processor has none
   */
  public SyncStream createSyncStream(EpDevice device, Map<String, String> options) {
    api.require(23, "a stream");
    Handle env = use();
    try (Arena arena = Arena.ofConfined()) {
      present(env, device);
      MemorySegment pairs = api.keyValues(arena, options);
      try {
        return new SyncStream(api, api.pointer(arena, out -> api.c.createSyncStreamForEpDevice(device.address, pairs, out)), env);
      } finally {
        api.c.releaseKeyValuePairs(pairs);
      }
    } finally {
      env.release();
    }
  }

  /** Returns the library, or reports that the environment is closed; for messages. */
  @Override
  public String toString() {
    return isClosed() ? "environment (closed)" : "environment of " + api;
  }
}
