package io.retort.onnxruntime;

import static io.retort.onnxruntime.testing.ModelBuilder.FLOAT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.retort.onnxruntime.testing.ModelBuilder;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that an arena cannot be closed while a segment of it is copied to or from a device. */
@Timeout(120)
class DeviceArenaTest extends DeviceFixture {
  private static final int ROUNDS = Integer.getInteger("retort.races", 1500) / 5;
  private static final int ATTEMPTS = 10;
  /** Large enough that the provider reads the elements in place instead of buffering them. */
  private static final int COUNT = 1 << 15;
  private static final byte[] NEGATIVE = new ModelBuilder("negative").input("x", FLOAT, COUNT).output("y", FLOAT, COUNT).node("Neg", "x", "y").bytes();

  private static final float[] NUMBERS = new float[COUNT];

  static {
    for (int i = 0; i < COUNT; ++i) NUMBERS[i] = i;
  }

  private final ExecutorService threads = Executors.newFixedThreadPool(1);

  @AfterEach
  void end() {
    threads.shutdownNow();
    if (loopback != null) loopback.set("latency_us", "0");
  }

  private static MemorySegment numbers(Arena memory) {
    return memory.allocateFrom(ValueLayout.JAVA_FLOAT, NUMBERS);
  }

  private void bound(OrtIoBindingFFM binding, MemorySegment segment) {
    binding.bindInput("x", segment, new long[] {COUNT}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
  }

  private void copiedTo(OrtValueRef there, MemorySegment segment) {
    try (OrtValueRef host = tensor(segment, COUNT)) {
      env.copyTensors(List.of(host), List.of(there), null);
    }
  }

  private void copiedFrom(OrtValueRef there, MemorySegment segment) {
    try (OrtValueRef host = tensor(segment, COUNT)) {
      env.copyTensors(List.of(there), List.of(host), null);
    }
  }

  /** Makes copies slow, and checks that the arena cannot be closed during one. */
  private void held(Consumer<MemorySegment> copy) throws Exception {
    loopback.set("latency_us", "100000");
    boolean held = false;
    for (int attempt = 0; attempt < ATTEMPTS && !held; ++attempt) {
      Arena own = Arena.ofShared();
      MemorySegment segment = numbers(own);
      CountDownLatch begun = new CountDownLatch(1);
      Future<?> user = threads.submit(() -> {
        begun.countDown();
        copy.accept(segment);
      });
      begun.await();
      Thread.sleep(40);
      try {
        own.close();
      } catch (IllegalStateException inUse) {
        held = true;
      }
      try {
        user.get();
      } catch (ExecutionException closedFirst) {
        assertTrue(!held && closedFirst.getCause() instanceof IllegalStateException, String.valueOf(closedFirst.getCause()));
      }
      if (held) own.close();
    }
    assertTrue(held, "the arena was closed while its memory was copied");
  }

  @Test
  void inputsThatAreCopiedWhenTheyAreBound() throws Exception {
    try (OrtSessionFFM session = onDevice(NEGATIVE); OrtIoBindingFFM binding = session.createBinding()) {
      held(segment -> bound(binding, segment));
    }
  }

  @Test
  void tensorsThatAreCopied() throws Exception {
    try (OrtValueRef there = uploaded(NUMBERS)) {
      held(segment -> copiedTo(there, segment));
      held(segment -> copiedFrom(there, segment));
      loopback.set("latency_us", "0");
      assertArrayEquals(NUMBERS, download(there));
    }
  }

  @Test
  void closedAtAnyMoment() throws Exception {
    try (OrtSessionFFM session = onDevice(NEGATIVE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef there = uploaded(NUMBERS)) {
      for (int round = 0; round < ROUNDS; ++round) {
        Arena own = Arena.ofShared();
        MemorySegment segment = numbers(own);
        CountDownLatch begun = new CountDownLatch(1);
        Future<Integer> user = threads.submit(() -> untilClosed(() -> {
          bound(binding, segment);
          copiedTo(there, segment);
          copiedFrom(there, segment);
        }, begun));
        begun.await();
        for (int spin = round * 37 % 5000; spin > 0; --spin) Thread.onSpinWait();
        while (own.scope().isAlive()) {
          try {
            own.close();
          } catch (IllegalStateException inUse) {
            Thread.onSpinWait();
          }
        }
        assertTrue(user.get() >= 1);
      }
      assertArrayEquals(NUMBERS, download(there));
    }
  }

  private static int untilClosed(Runnable use, CountDownLatch begun) {
    for (int uses = 0;; ++uses) {
      try {
        use.run();
        begun.countDown();
      } catch (IllegalStateException e) {
        begun.countDown();
        String text = e.getMessage();
        assertTrue(text.contains("is in memory whose arena is closed") || text.equals("the arena of the segment is closed"), text);
        return uses;
      }
    }
  }

  @Test
  void arenasOfAnotherThreadAreRefused() throws Exception {
    MemorySegment confined = numbers(arena);
    try (OrtSessionFFM session = onDevice(NEGATIVE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef there = uploaded(new float[COUNT])) {
      threads.submit(() -> {
        invalid(() -> bound(binding, confined), "'x' is in a confined arena of another thread", "Arena.ofShared()");
        invalid(() -> copiedTo(there, confined), "a tensor of the copy is in a confined arena of another thread");
      }).get();
      assertArrayEquals(new float[COUNT], download(there));
      assertEquals(0, binding.getBoundOutputNames().size());
    }
  }
}
