package io.retort.onnxruntime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/**
 * Makes tensors in one place: of the environment, shared by its sessions, or of a session. Tensors keep their allocator alive.
 * Thread-safe.
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
  /** The environment that the allocator belongs to and may take away; null where it stays. */
  private final Handle lender;

  private OrtAllocatorFFM(OrtApiFFM api, MemorySegment address, boolean owned, Handle parent, DeviceSpec device) {
    super(new AllocatorHandle(api, address, owned, parent));
    this.api = api;
    this.device = device;
    lender = owned || address.equals(api.defaultAllocator) ? null : parent;
  }

  /** An allocator that belongs to the environment. */
  static OrtAllocatorFFM shared(OrtApiFFM api, MemorySegment address, Handle env) {
    return new OrtAllocatorFFM(api, address, false, env, place(api, address));
  }

  /** The allocator that the environment has for a place. */
  static OrtAllocatorFFM shared(Handle env, DeviceSpec device) {
    OrtApiFFM api = env.api;
    if (device.equals(DeviceSpec.CPU)) return shared(api, api.defaultAllocator, env);
    api.require(23, "a shared allocator");
    MemorySegment found = api.pointer(out -> api.c.getSharedAllocator(env.address, api.memoryInfo(device), out));
    if (found.address() == 0)
      throw new OrtException(OrtErrorCode.NOT_FOUND, "no shared allocator for " + device + ": make one with createSharedAllocator, or take that of a session");
    return shared(api, found, env);
  }

  /** An allocator that a session made for the caller. */
  static OrtAllocatorFFM owned(OrtApiFFM api, MemorySegment address, Handle session) {
    return new OrtAllocatorFFM(api, address, true, session, place(api, address));
  }

  private static DeviceSpec place(OrtApiFFM api, MemorySegment allocator) {
    return api.device(api.pointer(out -> api.c.allocatorGetInfo(allocator, out)));
  }

  /** Holds the allocator for a call, if the environment has it still: a new one of the device takes its place. */
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
   * {@return a tensor whose contents are not set; texts are empty}
   *
   * @param what type and shape
   * @throws OrtException if there is not enough memory
   */
  public OrtValueRef allocate(MemoryDescriptor what) {
    Handle allocator = useIfThere();
    try {
      return OrtValueRef.allocated(api, allocator, what);
    } finally {
      allocator.release();
    }
  }

  /** {@return where it makes tensors} */
  public DeviceSpec device() {
    return device;
  }

  /** {@return what the allocator counts, by names that are its own; empty where it counts nothing} */
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
