package io.retort.onnxruntime;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The loopback provider of the project's examples: two devices whose memory the host cannot touch, which count what they do. What is set here
 * is of the process, as the devices are.
 */
final class Loopback {
  private static final String NAME = "loopback-of-tests";
  private static final Path LIBRARY = Path.of(System.getenv().getOrDefault("RETORT_LOOPBACK",
      System.getProperty("retort.loopback", "../../../build/release/examples/providers/loopback/libloopback.so"))).toAbsolutePath().normalize();

  /** Version of the library that can load it. */
  static final int NEEDS = 22;

  /**
   * What both devices did since {@link #reset}, and what is alive.
   *
   * @param toDevice copies from the host, and {@code fromDevice} to it, {@code onDevice} between devices
   * @param kernels operators that were computed
   * @param alive blocks of memory that were not given back
   * @param streams that were not released
   */
  record Counts(long toDevice, long fromDevice, long onDevice, long allocations, long runs, long kernels, long alive, long streams) {
    /** Whether nothing was copied. */
    boolean nothingCopied() {
      return toDevice == 0 && fromDevice == 0 && onDevice == 0;
    }
  }

  private final MethodHandle counters;
  private final MethodHandle reset;
  private final MethodHandle set;

  private Loopback() {
    Linker linker = Linker.nativeLinker();
    SymbolLookup symbols = SymbolLookup.libraryLookup(LIBRARY, Arena.global());
    counters = linker.downcallHandle(symbols.find("LoopbackCounters").orElseThrow(), FunctionDescriptor.ofVoid(ValueLayout.ADDRESS));
    reset = linker.downcallHandle(symbols.find("LoopbackReset").orElseThrow(), FunctionDescriptor.ofVoid());
    set = linker.downcallHandle(symbols.find("LoopbackSet").orElseThrow(), FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS));
  }

  /** Whether the provider was built. */
  static boolean isThere() {
    return Files.isRegularFile(LIBRARY);
  }

  /** Loads the provider into the environment. */
  static Loopback register(OrtEnvironmentFFM env) {
    Loopback loopback = new Loopback();
    env.registerExecutionProviderLibrary(NAME, LIBRARY);
    return loopback;
  }

  static void unregister(OrtEnvironmentFFM env) {
    env.unregisterExecutionProviderLibrary(NAME);
  }

  /** The devices of the provider. */
  static List<EpDevice> devices(OrtEnvironmentFFM env) {
    return env.epDevices().stream().filter(d -> d.epName().startsWith("loopback")).toList();
  }

  Counts counts() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment c = arena.allocate(ValueLayout.JAVA_LONG, 12);
      counters.invokeExact(c);
      long[] n = c.toArray(ValueLayout.JAVA_LONG);
      return new Counts(n[0], n[2], n[4], n[6], n[8], n[9], n[10], n[11]);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  void reset() {
    try {
      reset.invokeExact();
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Sets an option of the provider's README. */
  void set(String key, String value) {
    try (Arena arena = Arena.ofConfined()) {
      if ((int) set.invokeExact(arena.allocateFrom(key), arena.allocateFrom(value)) == 0) throw new AssertionError("no option " + key + " = " + value);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Lets an entry point fail while the call is made. */
  void failing(String entry, Runnable call) {
    set("fail", entry);
    try {
      call.run();
    } finally {
      set("fail", "");
    }
  }
}
