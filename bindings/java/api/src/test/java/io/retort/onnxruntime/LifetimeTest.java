package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.retort.onnxruntime.testing.ModelBuilder;
import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that closing objects at any moment never crashes. */
@Timeout(120)
class LifetimeTest extends Fixture {
  private static final long[] FOUR = {4};
  private static final long WIDE = 384;

  private OrtIoBindingFFM slow(OrtSessionFFM session, Arena memory) {
    long[] shape = {WIDE, WIDE};
    OrtIoBindingFFM binding = session.createBinding();
    binding.bindInput("x", memory.allocate(4 * WIDE * WIDE, 64), shape, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindOutput("y", memory.allocate(4 * WIDE * WIDE, 64), shape, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    return binding;
  }

  @Test
  void closedObjectsAreErrors() {
    OrtSessionFFM session = session(Models.add(4));
    OrtIoBindingFFM binding = session.createBinding();
    RunOptions run = RunOptions.create(API);
    SessionOptions options = SessionOptions.create(env);
    OrtValueRef value = OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, 4);
    OrtAllocatorFFM allocator = env.sharedAllocator(DeviceSpec.CPU);
    for (AutoCloseable one : List.of(session, binding, run, options, value, allocator)) {
      assertFalse(((NativeObject) one).isClosed());
      ((NativeObject) one).close();
      ((NativeObject) one).close();
      assertTrue(((NativeObject) one).isClosed());
    }
    closed(() -> session.run(Map.of()), "session is closed");
    closed(session::createBinding, "session is closed");
    closed(binding::run, "I/O binding is closed");
    closed(run::terminate, "run options is closed");
    closed(() -> options.setIntraOpThreads(1), "session options is closed");
    closed(value::shape, "value is closed");
    closed(() -> allocator.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4)), "allocator is closed");
    OrtEnvironmentFFM other = OrtEnvironmentFFM.create(API, EnvironmentOptions.DEFAULT);
    other.close();
    closed(() -> OrtSessionFFM.create(other, Models.add(4), null), "environment is closed");
  }

  @Test
  void childrenKeepTheirParents() {
    OrtEnvironmentFFM own = OrtEnvironmentFFM.create(API, EnvironmentOptions.DEFAULT);
    OrtSessionFFM session = OrtSessionFFM.create(own, Models.add(4), null);
    OrtIoBindingFFM binding = session.createBinding();
    MemorySegment z = floats(0, 0, 0, 0);
    binding.bindInput("x", floats(1, 2, 3, 4), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    OrtValueRef y = tensor(floats(1, 1, 1, 1), 4);
    binding.bindInput("y", y);
    y.close();
    binding.bindOutput("z", z, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    own.close();
    session.close();
    binding.run();
    assertArrayEquals(new float[] {2, 3, 4, 5}, floats(z));
    binding.bindOutput("z", new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4), DeviceSpec.CPU);
    binding.run();
    binding.close();
  }

  @Test
  void aClosedArenaIsFoundBeforeTheRun() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = session.createBinding()) {
      binding.bindInput("x", floats(1, 2, 3, 4), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindOutput("z", floats(0, 0, 0, 0), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      for (Arena other : new Arena[] {Arena.ofConfined(), Arena.ofShared()}) {
        MemorySegment y = other.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4);
        try (OrtValueRef value = tensor(y, 4)) {
          binding.bindInput("y", value);
          binding.run();
          other.close();
          closed(binding::run, "'y'", "arena is closed");
          closed(() -> session.run(Map.of("x", value, "y", value)), "arena is closed");
          closed(value::toFloats);
          closed(() -> binding.bindInput("x", value), "arena is closed");
        }
        closed(() -> tensor(y, 4), "arena of the segment is closed");
      }
    }
  }

  @Test
  void initializersInClosedArenasAreErrors() {
    byte[] model = new ModelBuilder("weights").input("x", ModelBuilder.FLOAT, 4).floats("w", new long[] {4}, 1, 1, 1, 1).node("Add", "x w", "z")
        .output("z", ModelBuilder.FLOAT, 4).bytes();
    Arena weights = Arena.ofShared();
    try (SessionOptions options = SessionOptions.create(env); OrtValueRef w = tensor(weights.allocateFrom(ValueLayout.JAVA_FLOAT, 5, 6, 7, 8), 4)) {
      options.addInitializer("w", w);
      try (OrtSessionFFM session = OrtSessionFFM.create(env, model, options); OrtValueRef x = tensor(floats(1, 2, 3, 4), 4); OrtIoBindingFFM binding = session.createBinding()) {
        binding.bindInput("x", x);
        binding.bindOutputToDevice("z", DeviceSpec.CPU);
        binding.run();
        assertEquals(12, binding.getBoundOutputCpuValues().get("z").getAtIndex(ValueLayout.JAVA_FLOAT, 3));
        weights.close();
        closed(binding::run, "initializer", "arena is closed");
        closed(() -> session.run(Map.of("x", x)), "initializer", "arena is closed");
        closed(() -> OrtSessionFFM.create(env, model, options), "initializer", "arena is closed");
      }
    }
  }

  @Test
  void nothingIsCreatedInAClosedEnvironment() {
    OrtEnvironmentFFM over = OrtEnvironmentFFM.create(API, EnvironmentOptions.DEFAULT);
    over.close();
    closed(() -> OrtValueRef.wrap(over, floats(1), OnnxTensorElementType.FLOAT, 1), "environment is closed");
    closed(() -> OrtValueRef.allocate(over, OnnxTensorElementType.FLOAT, 1), "environment is closed");
    closed(() -> OrtValueRef.ofFloats(over, new float[1], OnnxTensorElementType.FLOAT, 1), "environment is closed");
    closed(() -> OrtValueRef.ofStrings(over, new String[] {"a"}, 1), "environment is closed");
    closed(() -> RunOptions.create(over), "environment is closed");
    closed(() -> SessionOptions.create(over), "environment is closed");
  }

  @Test
  void elementsOfASequenceInAnArena() {
    Arena other = Arena.ofShared();
    try (OrtValueRef a = tensor(other.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2), 2); OrtValueRef sequence = OrtValueRef.ofSequence(env, List.of(a))) {
      OrtValueRef element = sequence.elements().get(0);
      assertEquals(2, element.toFloats()[1]);
      other.close();
      try (element) {
        // If the element is a copy, it may still be read; otherwise reading it must be refused.
        assertEquals(2, element.toFloats()[1]);
      } catch (IllegalStateException shared) {
        assertTrue(shared.getMessage() != null);
      }
    }
  }

  @Test
  void anArenaCannotBeClosedDuringARun() throws Exception {
    try (OrtSessionFFM session = session(Models.slow(300, WIDE)); RunOptions options = RunOptions.create(API)) {
      Arena memory = Arena.ofShared();
      OrtIoBindingFFM binding = slow(session, memory);
      CompletableFuture<OrtValues> run = binding.runAsync(options, null);
      Thread.sleep(50);
      assertThrows(IllegalStateException.class, memory::close);
      assertFalse(run.isDone(), "the run was over before the arena was closed: use a longer one");
      // Closing everything else during the run does no harm either.
      binding.close();
      session.close();
      options.terminate();
      ExecutionException e = assertThrows(ExecutionException.class, run::get);
      assertTrue(e.getCause() instanceof OrtException, () -> String.valueOf(e.getCause()));
      memory.close();
    }
  }

  @Test
  void aConfinedArenaIsUsableInItsThreadOnly() throws Exception {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = session.createBinding()) {
      binding.bindInput("x", floats(1, 2, 3, 4), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindInput("y", floats(1, 2, 3, 4), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindOutputToDevice("z", DeviceSpec.CPU);
      ExecutionException e = assertThrows(ExecutionException.class, () -> binding.runAsync(null, null).get());
      assertEquals(OrtErrorCode.INVALID_ARGUMENT, ((OrtException) e.getCause()).code());
      assertTrue(e.getCause().getMessage().contains("'x' is in a confined arena of another thread"), e.getCause().getMessage());
    }
  }

  @Test
  void cancelledFromAnotherThread() throws Exception {
    try (Arena memory = Arena.ofShared(); OrtSessionFFM session = session(Models.slow(1000, WIDE)); OrtIoBindingFFM binding = slow(session, memory)) {
      CompletableFuture<OrtValues> run = binding.runAsync(null, null);
      Thread.sleep(50);
      long begin = System.nanoTime();
      assertTrue(run.cancel(false));
      assertThrows(CancellationException.class, run::get);
      // The run itself ends soon. Then the binding can be used again.
      while (System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(10)) {
        try {
          binding.synchronizeOutputs();
          break;
        } catch (OrtException busy) {
          assertTrue(busy.getMessage().contains("used by another thread"), busy.getMessage());
          Thread.sleep(1);
        }
      }
      assertTrue(System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(5), "the run continued");
    }
  }

  @Test
  void terminatedOptionsEndRunsUntilTheyAreUnset() {
    try (OrtSessionFFM session = session(Models.add(4)); RunOptions options = RunOptions.create(API); OrtValueRef x = tensor(floats(1, 2, 3, 4), 4)) {
      options.terminate();
      assertThrows(OrtException.class, () -> session.run(Map.of("x", x, "y", x), List.of("z"), options));
      options.unsetTerminate().setTag("again").setLogLevel(LogLevel.ERROR).addConfigEntry("some.key", "1");
      session.run(Map.of("x", x, "y", x), List.of("z"), options).close();
    }
  }

  @Test
  void oneBindingInTwoThreadsIsAnErrorAndManyBindingsAreNot() throws Exception {
    try (Arena memory = Arena.ofShared(); OrtSessionFFM session = session(Models.add(4))) {
      AtomicInteger runs = new AtomicInteger();
      AtomicInteger refused = new AtomicInteger();
      AtomicReference<Throwable> wrong = new AtomicReference<>();
      OrtIoBindingFFM shared = bindings(session, memory);
      Thread[] threads = new Thread[4];
      for (int t = 0; t < threads.length; ++t) {
        threads[t] = new Thread(() -> {
          try (OrtIoBindingFFM own = bindings(session, memory)) {
            for (int i = 0; i < 20000; ++i) {
              own.run();
              try {
                shared.run();
                runs.incrementAndGet();
              } catch (OrtException busy) {
                if (!busy.getMessage().contains("used by another thread")) throw busy;
                refused.incrementAndGet();
              }
            }
          } catch (Throwable e) {
            wrong.set(e);
          }
        });
        threads[t].start();
      }
      for (Thread thread : threads) thread.join();
      shared.close();
      assertEquals(null, wrong.get());
      assertEquals(80000, runs.get() + refused.get());
      assertTrue(runs.get() > 0);
    }
  }

  private OrtIoBindingFFM bindings(OrtSessionFFM session, Arena memory) {
    OrtIoBindingFFM binding = session.createBinding();
    for (String input : List.of("x", "y")) binding.bindInput(input, memory.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindOutput("z", memory.allocate(16, 4), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    return binding;
  }

  @Test
  void closedWhileAnotherThreadRuns() throws Exception {
    for (int round = 0; round < 200; ++round) {
      Arena memory = Arena.ofShared();
      OrtSessionFFM session = session(Models.add(4));
      OrtIoBindingFFM binding = bindings(session, memory);
      CountDownLatch running = new CountDownLatch(1);
      AtomicReference<Throwable> end = new AtomicReference<>();
      Thread thread = new Thread(() -> {
        try {
          while (true) {
            binding.run();
            running.countDown();
          }
        } catch (Throwable e) {
          end.set(e);
        }
      });
      thread.start();
      running.await();
      binding.close();
      session.close();
      thread.join();
      assertEquals("java.lang.IllegalStateException: I/O binding is closed", String.valueOf(end.get()));
      memory.close();
    }
  }

  @Test
  void forgottenObjectsAreReleasedByTheCollector() throws Exception {
    long before = LiveObjects.count(ObjectKind.VALUE);
    for (int i = 0; i < 100; ++i) OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, 4);
    for (int i = 0; i < 100 && LiveObjects.count(ObjectKind.VALUE) != before; ++i) {
      System.gc();
      Thread.sleep(20);
    }
    assertEquals(before, LiveObjects.count(ObjectKind.VALUE));
  }
}
