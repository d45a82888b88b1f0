package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;

/**
 * Measures the resident memory of the process, as Linux counts it. The measurement is only meaningful if the Java heap
 * has a fixed size and is touched at the start, and if the JIT compiler finishes early. The pom starts these tests with
 * such options.
 */
final class ResidentMemory {
  /** A number of cycles after which even rarely executed code is compiled before the windows begin. */
  static final int ENOUGH = 100_000;
  /**
   * The number of cycles for tests of leaks. With fewer than {@link #ENOUGH}, the tests only count native objects, and
   * print the memory without checking it.
   */
  static final int CYCLES = Integer.getInteger("retort.cycles", ENOUGH);
  /**
   * After a warm-up, memory is read after each window of cycles. A leak grows in every window. The JIT compiler,
   * however, takes memory when it compiles a method that was called two hundred times, which on a busy machine happens
   * late. Therefore the last windows are sorted by their growth, and the median counts. If it grew, more windows
   * follow, because a real leak grows in each of them.
   */
  private static final int WINDOWS = 5;
  /** Maximum number of windows to wait for until memory stops growing. */
  private static final int AT_MOST = 60;
  /** Bytes by which memory may grow per cycle in the median window: three quarters of the smallest block of malloc. */
  private static final int PER_CYCLE = 24;
  /**
   * Bytes by which memory may grow in the last windows together. We saw up to 5 MiB in 75,000 cycles, and no growth in
   * the next 300,000.
   */
  private static final long TOGETHER = 8 << 20;

  private static final Path STATM = Path.of("/proc/self/statm");

  private ResidentMemory() {}

  private static long bytes() {
    try {
      Linker linker = Linker.nativeLinker();
      MethodHandle page = linker.downcallHandle(linker.defaultLookup().find("getpagesize").orElseThrow(), FunctionDescriptor.of(ValueLayout.JAVA_INT));
      System.gc();
      return Long.parseLong(Files.readString(STATM).split(" ")[1]) * (int) page.invokeExact();
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Runs cycles. After the warm-up, neither memory nor the number of native objects may grow. */
  static void staysFlat(String what, IntConsumer cycle) {
    staysFlat(what, CYCLES, cycle);
  }

  static void staysFlat(String what, int cycles, IntConsumer cycle) {
    assumeTrue(Files.exists(STATM), "no " + STATM + " on this system");
    Runtime java = Runtime.getRuntime();
    assumeTrue(java.totalMemory() == java.maxMemory(), "the heap of Java may grow: use the options of the pom");
    long objects = LiveObjects.total();
    int window = cycles * 3 / 4 / WINDOWS;
    int done = cycles - window * WINDOWS;
    for (int i = 0; i < done; ++i) cycle.accept(i);
    List<Long> growth = new ArrayList<>();
    long last = bytes();
    long begin = System.nanoTime();
    do {
      for (int i = 0; i < window; ++i) cycle.accept(done++);
      long now = bytes();
      growth.add(now - last);
      last = now;
    } while (growth.size() < WINDOWS || CYCLES >= ENOUGH && growth.size() < AT_MOST && !settled(growth, window));
    double micros = (System.nanoTime() - begin) / 1e3 / Math.max(1, window * growth.size());
    System.out.printf("%s: %d cycles of %.1f us; resident memory grew by these bytes in windows of %d cycles: %s%n", what, done, micros, window, growth);
    assertEquals(objects, LiveObjects.total(), () -> "native objects: " + LiveObjects.counts());
    if (CYCLES < ENOUGH) return;
    assertTrue(settled(growth, window), () -> what + ": resident memory grows by these bytes in windows of " + window + " cycles: " + growth);
  }

  /** Returns whether memory stopped growing in the last windows. */
  private static boolean settled(List<Long> growth, int window) {
    List<Long> latest = growth.subList(growth.size() - WINDOWS, growth.size());
    long middle = latest.stream().sorted().skip(WINDOWS / 2).findFirst().orElseThrow();
    return middle <= (long) PER_CYCLE * window + 64 * 1024 && latest.stream().mapToLong(Long::longValue).sum() <= TOGETHER;
  }
}
