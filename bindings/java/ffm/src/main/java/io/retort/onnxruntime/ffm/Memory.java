package io.retort.onnxruntime.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;

/**
 * Creates views of memory whose addresses the library returned. All restricted calls of the project are in this
 * package, so that programs need to grant native access to one module only. Thread-safe.
 */
public final class Memory {
  private Memory() {}

  /**
   * @param address first byte
   * @param bytes size of the view
   * @return a view without a lifetime, for use within a call
   */
  public static MemorySegment view(MemorySegment address, long bytes) {
    return address.reinterpret(bytes);
  }

  /**
   * @param address first byte
   * @param bytes size of the view
   * @param arena closing it ends the view
   * @param cleanup called when the arena is closed; may be null
   * @return a view that lives as long as the arena
   */
  public static MemorySegment view(MemorySegment address, long bytes, Arena arena, Consumer<MemorySegment> cleanup) {
    return address.reinterpret(bytes, arena, cleanup);
  }

  /**
   * @param address address of a C string in UTF-8
   * @return the string; null for a null address
   */
  public static String string(MemorySegment address) {
    return address.address() == 0 ? null : address.reinterpret(Long.MAX_VALUE).getString(0);
  }
}
