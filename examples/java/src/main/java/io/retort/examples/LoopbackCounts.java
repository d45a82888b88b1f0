package io.retort.examples;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;

/**
 * Counters of the devices of the loopback provider since the last reset (loopback.h there). Only examples and tests
 * need them: other providers do not count.
 *
 * @param uploads copies from the host to a device
 * @param downloads copies from a device to the host
 * @param within copies on devices
 */
record LoopbackCounts(long uploads, long downloads, long within) {
  private static final int FIELDS = 12;

  private static MemorySegment symbol(Path library, String name) {
    return SymbolLookup.libraryLookup(library, Arena.global()).find(name).orElseThrow(() -> new IllegalArgumentException(library + " is not the loopback provider: it has no " + name));
  }

  static void reset(Path library) {
    try {
      Linker.nativeLinker().downcallHandle(symbol(library, "LoopbackReset"), FunctionDescriptor.ofVoid()).invokeExact();
    } catch (Throwable e) {
      throw new IllegalStateException("LoopbackReset", e);
    }
  }

  static LoopbackCounts of(Path library) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment counts = arena.allocate(ValueLayout.JAVA_LONG, FIELDS);
      Linker.nativeLinker().downcallHandle(symbol(library, "LoopbackCounters"), FunctionDescriptor.ofVoid(ValueLayout.ADDRESS)).invokeExact(counts);
      return new LoopbackCounts(counts.getAtIndex(ValueLayout.JAVA_LONG, 0), counts.getAtIndex(ValueLayout.JAVA_LONG, 2), counts.getAtIndex(ValueLayout.JAVA_LONG, 4));
    } catch (Throwable e) {
      throw new IllegalStateException("LoopbackCounters", e);
    }
  }
}
