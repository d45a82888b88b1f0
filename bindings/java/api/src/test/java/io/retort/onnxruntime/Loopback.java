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
 * The loopback provider of the examples: it has two devices whose memory the host cannot access, and counts what they
 * do. Its settings apply to the whole process, as the devices do.
 */
final class Loopback {
  private static final String NAME = "loopback-of-tests";
  private static final Path LIBRARY = Path.of(System.getenv().getOrDefault("RETORT_LOOPBACK",
      System.getProperty("retort.loopback", "../../../build/release/examples/providers/loopback/libloopback.so"))).toAbsolutePath().normalize();

  /** The oldest version of the C interface that can load the provider. */
  static final int NEEDS = 22;

  /**
   * What both devices did since {@link #reset}, and which objects are alive.
   *
   * @param toDevice copies from the host to a device; {@code fromDevice} counts copies to the host, {@code onDevice}
   * those between devices
   * @param kernels kernels that ran
   * @param alive blocks of memory that have not been freed
   * @param streams streams that have not been released
   */
  record Counts(long toDevice, long fromDevice, long onDevice, long allocations, long runs, long kernels, long alive, long streams) {
    /** Returns whether nothing was copied. */
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

  /** Returns whether the provider was built. */
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

  /** Returns the devices of the provider. */
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

  /** Sets an option; the README of the provider lists them. */
  void set(String key, String value) {
    try (Arena arena = Arena.ofConfined()) {
      if ((int) set.invokeExact(arena.allocateFrom(key), arena.allocateFrom(value)) == 0) throw new AssertionError("no option " + key + " = " + value);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Makes an entry point of the provider fail during a call. */
  void failing(String entry, Runnable call) {
    set("fail", entry);
    try {
      call.run();
    } finally {
      set("fail", "");
    }
  }
}
