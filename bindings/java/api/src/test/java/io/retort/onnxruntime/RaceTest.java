package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests that close objects of each kind while other threads use them, thousands of times at varying moments. Such a
 * thread must get a result, or an error that names the closed object. Native objects are released when their last user
 * is done.
 */
@Timeout(120)
class RaceTest extends Fixture {
  private static final int ROUNDS = Integer.getInteger("retort.races", 1500);
  private static final int USERS = 2;
  private static final long[] FOUR = {4};

  private final ExecutorService threads = Executors.newFixedThreadPool(USERS);
  private OrtSessionFFM session;
  private Arena memory;
  private MemorySegment numbers;

  /** A use of an object that a thread repeats until it gets the error that the object is closed. */
  private interface Use {
    void once();
  }

  @BeforeEach
  void load() {
    session = session(Models.add(4));
    memory = Arena.ofShared();
    numbers = memory.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4);
  }

  @AfterEach
  void unload() {
    threads.shutdownNow();
    session.close();
    memory.close();
  }

  /**
   * Returns whether an error is one that two threads may get: the object is closed or, if it is for one thread at a
   * time, in use.
   */
  private static boolean expected(RuntimeException e, String title) {
    String text = String.valueOf(e.getMessage());
    if (e instanceof IllegalStateException) return text.equals(title + " is closed");
    return e instanceof OrtException && text.contains("is used by another thread");
  }

  private Void until(Use use, String title, CountDownLatch begun, AtomicInteger uses) {
    while (true) {
      try {
        use.once();
        uses.incrementAndGet();
      } catch (RuntimeException e) {
        if (!expected(e, title)) throw e;
        if (e instanceof IllegalStateException) return null;
      } finally {
        begun.countDown();
      }
    }
  }

  /** Closes an object while threads use it. The moment varies from round to round. */
  private void race(int round, NativeObject object, Use use) throws Exception {
    CountDownLatch begun = new CountDownLatch(USERS);
    AtomicInteger uses = new AtomicInteger();
    List<Future<Void>> users = new ArrayList<>();
    for (int i = 0; i < USERS; ++i) users.add(threads.submit(() -> until(use, object.title(), begun, uses)));
    begun.await();
    for (int spin = round * 37 % 2000; spin > 0; --spin) Thread.onSpinWait();
    object.close();
    for (Future<Void> user : users) user.get();
    assertTrue(uses.get() > 0, "no thread used the object");
  }

  private OrtIoBindingFFM binding(OrtSessionFFM of) {
    OrtIoBindingFFM binding = of.createBinding();
    for (String input : List.of("x", "y")) binding.bindInput(input, numbers, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindOutputToDevice("z", DeviceSpec.CPU);
    return binding;
  }

  @Test
  void bindingsThatRun() throws Exception {
    for (int round = 0; round < ROUNDS; ++round) {
      OrtIoBindingFFM binding = binding(session);
      race(round, binding, binding::run);
    }
  }

  @Test
  void bindingsThatAreBoundAndRead() throws Exception {
    for (int round = 0; round < ROUNDS; ++round) {
      OrtIoBindingFFM binding = binding(session);
      AtomicInteger turn = new AtomicInteger();
      race(round, binding, () -> {
        switch (turn.getAndIncrement() % 5) {
          case 0 -> binding.bindInput("x", numbers, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
          case 1 -> binding.runWithBindings().close();
          case 2 -> binding.getBoundOutputNames();
          case 3 -> binding.bindOutput("z", new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4), DeviceSpec.CPU);
          default -> binding.getBoundOutputValues().close();
        }
      });
    }
  }

  @Test
  void valuesThatAreReadAndBound() throws Exception {
    try (OrtIoBindingFFM binding = binding(session)) {
      for (int round = 0; round < ROUNDS; ++round) {
        OrtValueRef value = OrtValueRef.ofFloats(env, new float[] {1, 2, 3, 4}, OnnxTensorElementType.FLOAT, 4);
        AtomicInteger turn = new AtomicInteger();
        race(round, value, () -> {
          switch (turn.getAndIncrement() % 4) {
            case 0 -> binding.bindInput("x", value);
            case 1 -> assertEquals(4, value.toFloats()[3]);
            case 2 -> value.retain().close();
            default -> session.run(Map.of("x", value, "y", value)).close();
          }
        });
      }
    }
  }

  @Test
  void viewsThatAreRead() throws Exception {
    for (int round = 0; round < ROUNDS / 3; ++round) {
      OrtValueRef value = OrtValueRef.ofFloats(env, new float[] {1, 2, 3, 4}, OnnxTensorElementType.FLOAT, 4);
      MemorySegment view = value.asSegment();
      race(round, value, () -> {
        try {
          assertEquals(3, view.get(ValueLayout.JAVA_FLOAT, 8));
        } catch (IllegalStateException ended) {
          throw new IllegalStateException("value is closed", ended);
        }
      });
    }
  }

  @Test
  void sessionsThatRun() throws Exception {
    for (int round = 0; round < ROUNDS / 5; ++round) {
      OrtSessionFFM own = session(Models.add(4));
      AtomicInteger turn = new AtomicInteger();
      try (OrtValueRef value = tensor(numbers, 4)) {
        race(round, own, () -> {
          switch (turn.getAndIncrement() % 3) {
            case 0 -> own.run(Map.of("x", value, "y", value)).close();
            case 1 -> {
              try (OrtIoBindingFFM binding = binding(own)) {
                binding.run();
              }
            }
            default -> own.metadata();
          }
        });
      }
    }
  }

  @Test
  void optionsOfRuns() throws Exception {
    try (OrtIoBindingFFM one = binding(session); OrtIoBindingFFM other = binding(session)) {
      for (int round = 0; round < ROUNDS; ++round) {
        RunOptions options = RunOptions.create(API);
        AtomicInteger turn = new AtomicInteger();
        race(round, options, () -> (turn.getAndIncrement() % 2 == 0 ? one : other).run(options));
      }
    }
  }

  @Test
  void optionsOfSessions() throws Exception {
    byte[] model = Models.add(4);
    for (int round = 0; round < ROUNDS / 10; ++round) {
      SessionOptions options = SessionOptions.create(env).setIntraOpThreads(1);
      race(round, options, () -> OrtSessionFFM.create(env, model, options).close());
    }
  }

  @Test
  void allocators() throws Exception {
    for (int round = 0; round < ROUNDS; ++round) {
      OrtAllocatorFFM allocator = env.sharedAllocator(DeviceSpec.CPU);
      race(round, allocator, () -> {
        try (OrtValueRef value = allocator.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4))) {
          value.copyFrom(numbers);
        }
      });
    }
  }

  @Test
  void environments() throws Exception {
    byte[] model = Models.add(4);
    for (int round = 0; round < ROUNDS / 10; ++round) {
      OrtEnvironmentFFM own = OrtEnvironmentFFM.create(API, EnvironmentOptions.DEFAULT);
      race(round, own, () -> OrtSessionFFM.create(own, model, null).close());
    }
  }

  @Test
  void arenasOfRuns() throws Exception {
    try (OrtIoBindingFFM binding = binding(session)) {
      for (int round = 0; round < ROUNDS / 3; ++round) {
        Arena own = Arena.ofShared();
        binding.bindInput("x", own.allocateFrom(ValueLayout.JAVA_FLOAT, 5, 6, 7, 8), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
        CountDownLatch begun = new CountDownLatch(1);
        Future<Integer> user = threads.submit(() -> runsUntilTheArenaIsClosed(binding, begun));
        begun.await();
        // A run keeps the arena open, so closing it may have to be tried several times.
        while (own.scope().isAlive()) {
          try {
            own.close();
          } catch (IllegalStateException held) {
            Thread.onSpinWait();
          }
        }
        assertTrue(user.get() >= 1);
      }
    }
  }

  private static int runsUntilTheArenaIsClosed(OrtIoBindingFFM binding, CountDownLatch begun) {
    for (int runs = 0;; ++runs) {
      try {
        binding.run();
        begun.countDown();
      } catch (IllegalStateException e) {
        begun.countDown();
        assertTrue(e.getMessage().contains("'x' is in memory whose arena is closed"), e.getMessage());
        return runs;
      }
    }
  }

  @Test
  void bindingsOfOneSessionRunAtOnce() throws Exception {
    List<Future<Void>> users = new ArrayList<>();
    ExecutorService many = Executors.newFixedThreadPool(6);
    try {
      for (int t = 0; t < 6; ++t) {
        int base = t * 100;
        users.add(many.submit(() -> ownNumbers(base)));
      }
      for (Future<Void> user : users) user.get();
    } finally {
      many.shutdown();
    }
  }

  private Void ownNumbers(int base) {
    try (Arena own = Arena.ofConfined(); OrtIoBindingFFM binding = session.createBinding()) {
      MemorySegment x = own.allocate(16, 4);
      MemorySegment z = own.allocate(16, 4);
      binding.bindInput("x", x, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindInput("y", numbers, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      for (int i = 0; i < 5000; ++i) {
        x.fill((byte) 0);
        x.setAtIndex(ValueLayout.JAVA_FLOAT, 0, base + i);
        if (i % 2 == 0) binding.bindOutput("z", z, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
        else binding.bindOutputToDevice("z", DeviceSpec.CPU);
        try (OrtValues values = binding.runWithBindings()) {
          assertArrayEquals(new float[] {base + i + 1, 2, 3, 4}, values.get("z").toFloats());
        }
      }
      return null;
    }
  }
}
