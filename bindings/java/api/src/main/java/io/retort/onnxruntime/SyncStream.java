package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * A stream of a device, which does its work in order. Runs that use it hold it. It holds the tensors of the host that are copied in
 * it until it is closed, since nothing tells when a copy is over: use the same ones for many copies. Thread-safe.
 */
public final class SyncStream extends NativeObject {
  static final class StreamHandle extends Handle {
    private final Set<Handle> kept = Collections.newSetFromMap(new IdentityHashMap<>());

    StreamHandle(OrtApiFFM api, MemorySegment address, Handle env) {
      super(api, ObjectKind.SYNC_STREAM, address, env);
    }

    /** Holds what a copy reads or writes. */
    synchronized void keep(Handle value) {
      if (kept.add(value)) value.retain();
    }

    @Override
    void free() {
      api.c.releaseSyncStream(address);
      kept.forEach(Handle::release);
    }
  }

  SyncStream(OrtApiFFM api, MemorySegment address, Handle env) {
    super(new StreamHandle(api, address, env));
  }

  @Override
  String title() {
    return "stream";
  }

  /** {@return the stream as its device names it (a {@code cudaStream_t}), without a size; it belongs to this object} */
  public MemorySegment nativeHandle() {
    Handle stream = use();
    try {
      return stream.api.c.syncStream_GetHandle(stream.address);
    } finally {
      stream.release();
    }
  }
}
