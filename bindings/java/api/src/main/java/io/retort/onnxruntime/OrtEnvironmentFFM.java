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
 * The environment of a library: its log, its devices, its allocators. A process has one per library; several of these objects
 * share it. Thread-safe.
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

  /** {@return the environment of {@link OrtApiFFM#get()}} */
  public static OrtEnvironmentFFM create() {
    return create(OrtApiFFM.get(), EnvironmentOptions.DEFAULT);
  }

  /**
   * {@return the environment, to be closed by the caller}
   *
   * @param api the library
   * @param options how it is made; they count for the first environment of the process only
   * @throws OrtException if it cannot be made
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
    // The library may log until the process ends, from threads that nobody waits for.
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

  /** The library, for what is made in this environment. */
  OrtApiFFM requireOpen() {
    requireNotClosed();
    return api;
  }

  /**
   * Changes what is logged, for the process.
   *
   * @param level messages below are not logged from now on
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
   * Loads a library that brings execution providers.
   *
   * @param name name for {@link #unregisterExecutionProviderLibrary}
   * @param library its file
   * @throws OrtException if it cannot be loaded, or the name is taken
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
   * Unloads a library of providers. Sessions that use it, and tensors in its memory, must be closed first.
   *
   * @param name name that it was registered under
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

  /** {@return the devices of all providers, the processor's included} */
  public List<EpDevice> epDevices() {
    api.require(22, "the list of devices");
    Handle env = use();
    try {
      return describe(env);
    } finally {
      env.release();
    }
  }

  /** Lists the devices; from then on places go by the descriptions of their providers. */
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

  /** Refuses devices whose library was unregistered: their memory is gone. */
  void present(Handle env, EpDevice device) {
    for (MemorySegment one : deviceAddresses(env)) {
      if (one.address() == device.address.address()) return;
    }
    throw OrtException.invalid("device " + device + " is gone: its library was unregistered, or it is one of another engine; ask this environment for epDevices()");
  }

  /**
   * Makes the allocator of a device that all sessions share, in place of an existing one.
   *
   * @param device the device
   * @param kind kind of its memory
   * @param options options of the provider
   * @return the allocator
   * @throws OrtException if the device has no such memory, as the processor
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
   * {@return the allocator that sessions share there; the default one for the processor}
   *
   * @param device a place
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
   * @param kind kind of its memory
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
   * Copies tensors, from and to devices. Between two tensors of the host, the host copies.
   *
   * @param from the sources, all in one place
   * @param to as many tensors of the same types and shapes, all in one place; they are written
   * @param stream the stream for copies of a device, which may still run when this returns; null to wait for them
   * @throws OrtException if they do not fit, or no provider copies between the places
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
   * {@return a stream of a device}
   *
   * @param device a device that computes in streams
   * @param options options of the provider
   * @throws OrtException if the device has none, as the processor
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

  /** The library, or that the environment is closed, for messages. */
  @Override
  public String toString() {
    return isClosed() ? "environment (closed)" : "environment of " + api;
  }
}
