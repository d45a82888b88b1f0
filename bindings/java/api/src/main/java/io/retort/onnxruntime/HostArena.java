package io.retort.onnxruntime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;

/** The arena of host memory that an environment shares with its sessions. */
final class HostArena {
  private static final int ORT_ARENA_ALLOCATOR = 1;
  private static final int ORT_MEM_TYPE_DEFAULT = 0;

  private HostArena() {}

  /** Registers an arena; takes over the reference to the environment. */
  static void register(Handle env, Map<String, Long> settings) {
    OrtApiFFM api = env.api;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment keys = OrtApiFFM.array(arena, "the name of a setting", settings.keySet());
      MemorySegment values = numbers(arena, settings);
      MemorySegment place = place(api, arena);
      MemorySegment config = MemorySegment.NULL;
      try {
        config = api.pointer(arena, out -> api.c.createArenaCfgV2(keys, values, settings.size(), out));
        api.check(api.c.createAndRegisterAllocator(env.address, place, config));
      } finally {
        api.c.releaseArenaCfg(config);
        api.c.releaseMemoryInfo(place);
      }
    } finally {
      env.release();
    }
  }

  /** Removes the arena; takes over the reference to the environment. */
  static void unregister(Handle env) {
    OrtApiFFM api = env.api;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment place = place(api, arena);
      try {
        api.check(api.c.unregisterAllocator(env.address, place));
      } finally {
        api.c.releaseMemoryInfo(place);
      }
    } finally {
      env.release();
    }
  }

  private static MemorySegment place(OrtApiFFM api, Arena arena) {
    return api.pointer(arena, out -> api.c.createCpuMemoryInfo(ORT_ARENA_ALLOCATOR, ORT_MEM_TYPE_DEFAULT, out));
  }

  private static MemorySegment numbers(Arena arena, Map<String, Long> settings) {
    MemorySegment values = arena.allocate(ValueLayout.JAVA_LONG, Math.max(1, settings.size()));
    int at = 0;
    for (Map.Entry<String, Long> setting : settings.entrySet()) {
      if (setting.getValue() == null || setting.getValue() < 0)
        throw OrtException.invalid("the setting " + setting.getKey() + " of the arena is " + setting.getValue() + ": give a number from 0");
      values.setAtIndex(ValueLayout.JAVA_LONG, at++, setting.getValue());
    }
    return values;
  }
}
