package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that the measurement for leaks finds a leak, and accepts growth that ends. */
@Tag("stress")
@Timeout(300)
class ResidentMemoryTest {
  private static final int CYCLES = 10_000;
  private static final int BLOCK = 256;

  /** Leaks memory until the process ends. The memory is written so that it is resident. */
  private static void leak() {
    Arena.global().allocate(BLOCK).fill((byte) 1);
  }

  @BeforeEach
  void whereMemoryIsJudged() {
    assumeTrue(ResidentMemory.CYCLES >= ResidentMemory.ENOUGH, "few cycles only count native objects");
  }

  @Test
  void aLeakInEachCycleIsFound() {
    assertThrows(AssertionError.class, () -> ResidentMemory.staysFlat("a leak", CYCLES, i -> leak()));
  }

  @Test
  void growthThatEndsIsNotALeak() {
    AtomicInteger most = new AtomicInteger();
    ResidentMemory.staysFlat("growth that ends", CYCLES, i -> {
      most.set(i);
      if (i < 3 * CYCLES) leak();
    });
    assertTrue(most.get() > 3 * CYCLES, "windows followed until memory stopped growing");
  }
}
