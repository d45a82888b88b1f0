package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;

/** A stream of a device: what is put into it is done in order. Runs and copies that use it hold it. Thread-safe. */
public final class SyncStream extends NativeObject {
  private static final class StreamHandle extends Handle {
    StreamHandle(OrtApiFFM api, MemorySegment address, Handle env) {
      super(api, ObjectKind.SYNC_STREAM, address, env);
    }

    @Override
    void free() {
      api.c.releaseSyncStream(address);
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
   * @return the stream in the language of the device (a {@code cudaStream_t}), of no size; it belongs to this object
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
