package io.retort.onnxruntime.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;

/**
 * Views of memory that the library handed out as addresses. All restricted calls of the project are in this package, so that
 * programs grant native access to one module. Thread-safe.
 */
public final class Memory {
  private Memory() {}

  /**
   * @param address where it begins
   * @param bytes how long it is
   * @return a view that nothing keeps alive: for use within a call
   */
  public static MemorySegment view(MemorySegment address, long bytes) {
    return address.reinterpret(bytes);
  }

  /**
   * @param address where it begins
   * @param bytes how long it is
   * @param arena its closing ends the view
   * @param cleanup called when the arena is closed; null for nothing
   * @return a view that lives as long as the arena
   */
  public static MemorySegment view(MemorySegment address, long bytes, Arena arena, Consumer<MemorySegment> cleanup) {
    return address.reinterpret(bytes, arena, cleanup);
  }

  /**
   * @param address of bytes that end with zero
   * @return the text, in UTF-8; null for a null address
   */
  public static String string(MemorySegment address) {
    return address.address() == 0 ? null : address.reinterpret(Long.MAX_VALUE).getString(0);
  }
}
