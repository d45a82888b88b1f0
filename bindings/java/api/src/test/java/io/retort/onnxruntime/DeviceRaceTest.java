package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that close objects of devices while other threads use them. */
@Timeout(120)
class DeviceRaceTest extends DeviceFixture {
  private static final int ROUNDS = Integer.getInteger("retort.races", 1500) / 10;
  private static final float[] NUMBERS = {1, 2, 3, 4};

  private final ExecutorService threads = Executors.newFixedThreadPool(2);

  @AfterEach
  void end() {
    threads.shutdownNow();
  }

  private static Void untilClosed(Runnable use, CountDownLatch begun) {
    while (true) {
      try {
        use.run();
      } catch (IllegalStateException closed) {
        assertTrue(closed.getMessage().endsWith("is closed"), closed.getMessage());
        return null;
      } finally {
        begun.countDown();
      }
    }
  }

  /** Starts two threads, each with objects of its own, that use an object until it is closed. */
  private void race(int round, NativeObject object, Supplier<Runnable> user) throws Exception {
    CountDownLatch begun = new CountDownLatch(2);
    List<Future<Void>> users = new ArrayList<>();
    for (int i = 0; i < 2; ++i) {
      Runnable use = user.get();
      users.add(threads.submit(() -> untilClosed(use, begun)));
    }
    begun.await();
    for (int spin = round * 37 % 5000; spin > 0; --spin) Thread.onSpinWait();
    object.close();
    for (Future<Void> one : users) one.get();
  }

  @Test
  void streams() throws Exception {
    try (OrtSessionFFM session = onDevice(AFFINE); OrtValueRef host = OrtValueRef.ofFloats(env, NUMBERS, OnnxTensorElementType.FLOAT, 4)) {
      for (int round = 0; round < ROUNDS; ++round) {
        SyncStream stream = env.createSyncStream(device, Map.of());
        race(round, stream, () -> () -> {
          try (OrtValueRef there = onDevice(4); OrtIoBindingFFM binding = session.createBinding(); RunOptions options = RunOptions.create(API)) {
            env.copyTensors(List.of(host), List.of(there), stream);
            binding.bindInput("x", there);
            binding.bindOutputToDevice("y", place);
            binding.run(options.setSyncStream(stream));
            binding.synchronizeOutputs();
          }
        });
      }
    }
  }

  @Test
  void values() throws Exception {
    try (OrtSessionFFM session = onDevice(AFFINE)) {
      for (int round = 0; round < ROUNDS; ++round) {
        OrtValueRef x = uploaded(NUMBERS);
        race(round, x, () -> () -> {
          try (OrtIoBindingFFM binding = session.createBinding()) {
            binding.bindInput("x", x);
            binding.bindOutputToDevice("y", place);
            binding.run();
            assertTrue(download(x)[3] == 4);
          }
        });
      }
    }
  }

  @Test
  void sessions() throws Exception {
    try (OrtValueRef x = uploaded(NUMBERS)) {
      for (int round = 0; round < ROUNDS / 5; ++round) {
        OrtSessionFFM session = onDevice(AFFINE);
        race(round, session, () -> () -> {
          try (OrtIoBindingFFM binding = session.createBinding()) {
            binding.bindInput("x", x);
            binding.bindOutputToDevice("y", place);
            binding.runWithBindings().close();
          }
        });
      }
    }
  }
}
