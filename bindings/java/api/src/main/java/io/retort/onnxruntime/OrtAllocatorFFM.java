package io.retort.onnxruntime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/**
 * Allocates tensors in one place. An allocator belongs to the environment, whose sessions share it, or to one session.
 * A tensor keeps its allocator alive. Thread-safe.
 */
public final class OrtAllocatorFFM extends NativeObject {
  private static final class AllocatorHandle extends Handle {
    private final boolean owned;

    AllocatorHandle(OrtApiFFM api, MemorySegment address, boolean owned, Handle parent) {
      super(api, ObjectKind.ALLOCATOR, address, parent);
      this.owned = owned;
    }

    @Override
    void free() {
      if (owned) api.c.releaseAllocator(address);
    }
  }

  private final OrtApiFFM api;
  private final DeviceSpec device;
  /** The environment that owns the allocator and may remove it; null if the allocator cannot be removed. */
  private final Handle lender;

  private OrtAllocatorFFM(OrtApiFFM api, MemorySegment address, boolean owned, Handle parent, DeviceSpec device) {
    super(new AllocatorHandle(api, address, owned, parent));
    this.api = api;
    this.device = device;
    lender = owned || address.equals(api.defaultAllocator) ? null : parent;
  }

  /** Wraps an allocator that belongs to the environment. */
  static OrtAllocatorFFM shared(OrtApiFFM api, MemorySegment address, Handle env) {
    return new OrtAllocatorFFM(api, address, false, env, place(api, address));
  }

  /** Returns the environment's allocator for a place. */
  static OrtAllocatorFFM shared(Handle env, DeviceSpec device) {
    OrtApiFFM api = env.api;
    if (device.equals(DeviceSpec.CPU)) return shared(api, api.defaultAllocator, env);
    api.require(23, "a shared allocator");
    MemorySegment found = api.pointer(out -> api.c.getSharedAllocator(env.address, api.memoryInfo(device), out));
    if (found.address() == 0)
      throw new OrtException(OrtErrorCode.NOT_FOUND, "no shared allocator for " + device + ": create one with createSharedAllocator, or use the allocator of a session");
    return shared(api, found, env);
  }

  /**
   * Returns an allocator for a session: the environment's shared one if it exists, otherwise one that the session
   * creates.
   */
  static OrtAllocatorFFM of(SessionHandle session, DeviceSpec device) {
    OrtApiFFM api = session.api;
    if (device.equals(DeviceSpec.CPU) || api.apiVersion() >= 23) {
      try {
        return shared(session.env, device);
      } catch (OrtException none) {
        if (none.code() != OrtErrorCode.NOT_FOUND) throw none;
      }
    }
    return ofSession(session, device);
  }

  /** Creates an allocator of a session. */
  static OrtAllocatorFFM ofSession(SessionHandle session, DeviceSpec device) {
    MemorySegment made = session.newAllocator(device);
    return new OrtAllocatorFFM(session.api, made, true, session, place(session.api, made));
  }

  private static DeviceSpec place(OrtApiFFM api, MemorySegment allocator) {
    return api.device(api.pointer(out -> api.c.allocatorGetInfo(allocator, out)));
  }

  /**
   * Adds a reference for a call. Throws if the environment no longer has the allocator: the library may have reused it
   * for a new one.
   */
  private Handle useIfThere() {
    Handle allocator = use();
    if (lender == null) return allocator;
    MemorySegment now = api.pointer(out -> api.c.getSharedAllocator(lender.address, api.memoryInfo(device), out));
    if (now.address() == allocator.address.address()) return allocator;
    allocator.release();
    throw new IllegalStateException("the shared allocator of " + device + " was replaced or released: ask the environment for sharedAllocator() again");
  }

  @Override
  String title() {
    return "allocator";
  }

  /**
   * {@return a new tensor whose contents are undefined; its strings are empty}
   *
   * @param what element type and shape
   * @throws OrtException if there is not enough memory
   */
  public OrtValueRef allocate(MemoryDescriptor what) {
    Handle allocator = useIfThere();
    try {
      return new OrtValueRef(ValueMaker.allocated(api, allocator, what));
    } finally {
      allocator.release();
    }
  }

  /** {@return the place of the tensors} */
  public DeviceSpec device() {
    return device;
  }

  /** {@return statistics by names that the allocator defines; empty if it has none} */
  public Map<String, String> statistics() {
    api.require(23, "statistics of an allocator");
    Handle allocator = useIfThere();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pairs = api.pointer(arena, out -> api.c.allocatorGetStats(allocator.address, out));
      Map<String, String> all = api.keyValues(pairs);
      api.c.releaseKeyValuePairs(pairs);
      return all;
    } finally {
      allocator.release();
    }
  }
}
