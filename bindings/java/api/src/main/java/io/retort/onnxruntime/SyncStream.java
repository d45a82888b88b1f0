package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * A stream of a device, which does its work in order. Runs that use a stream keep it alive. The stream keeps the host
 * tensors that are copied in it alive until it is closed, because the library does not report when a copy is complete;
 * therefore use the same tensors for many copies. Thread-safe.
 */
public final class SyncStream extends NativeObject {
  static final class StreamHandle extends Handle {
    private final Set<Handle> kept = Collections.newSetFromMap(new IdentityHashMap<>());

    StreamHandle(OrtApiFFM api, MemorySegment address, Handle env) {
      super(api, ObjectKind.SYNC_STREAM, address, env);
    }

    /** Keeps a value alive that a copy reads or writes. */
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

  /**
   * {@return the device's own handle of the stream (such as a {@code cudaStream_t}), as a segment of size 0; this
   * object owns it}
   */
  public MemorySegment nativeHandle() {
    Handle stream = use();
    try {
      return stream.api.c.syncStream_GetHandle(stream.address);
    } finally {
      stream.release();
    }
  }
}
