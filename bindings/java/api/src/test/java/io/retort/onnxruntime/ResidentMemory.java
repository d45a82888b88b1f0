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
 * Memory that the process has, as Linux counts it. It says something only where the heap of Java has one size and is touched, and
 * the compiler of Java soon has nothing left to do: the pom starts these tests so.
 */
final class ResidentMemory {
  /** As many cycles as it takes until what happens rarely is compiled before the windows begin. */
  static final int ENOUGH = 100_000;
  /** How often the tests repeat what must not leak; with fewer than {@link #ENOUGH}, native objects are counted and memory is only told. */
  static final int CYCLES = Integer.getInteger("retort.cycles", ENOUGH);
  /**
   * After a warm-up, memory is read after each window of cycles. What leaks does so in all of them; the compiler of Java takes memory
   * for what is called for the two hundredth time, and on a busy machine it comes to that late. So of the last windows the one in the
   * middle counts, of those sorted by growth, and where that one grew, more windows follow: what leaks grows in each of them.
   */
  private static final int WINDOWS = 5;
  /** So many windows are waited for until memory stays as it is. */
  private static final int AT_MOST = 60;
  /** Bytes that a cycle of that window may take: three quarters of the smallest block of malloc. */
  private static final int PER_CYCLE = 24;
  /** Bytes that the last windows may take together. Up to 5 MiB was seen in 75,000 cycles, and nothing more in the next 300,000. */
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

  /** Runs cycles; after the warm-up neither memory nor the number of native objects may grow. */
  static void staysFlat(String what, IntConsumer cycle) {
    staysFlat(what, CYCLES, cycle);
  }

  static void staysFlat(String what, int cycles, IntConsumer cycle) {
    assumeTrue(Files.exists(STATM), "no " + STATM + " on this system");
    Runtime java = Runtime.getRuntime();
    assumeTrue(java.totalMemory() == java.maxMemory(), "the heap of Java may grow: give the options of the pom");
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

  /** Whether memory stayed as it was in the last windows of so many cycles each. */
  private static boolean settled(List<Long> growth, int window) {
    List<Long> latest = growth.subList(growth.size() - WINDOWS, growth.size());
    long middle = latest.stream().sorted().skip(WINDOWS / 2).findFirst().orElseThrow();
    return middle <= (long) PER_CYCLE * window + 64 * 1024 && latest.stream().mapToLong(Long::longValue).sum() <= TOGETHER;
  }
}
