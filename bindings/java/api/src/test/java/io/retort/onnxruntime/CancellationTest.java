package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that cancel runs in other threads before, during and after the run. */
@Timeout(120)
class CancellationTest extends Fixture {
  private static final int ROUNDS = Integer.getInteger("retort.races", 1500);
  private static final long[] FOUR = {4};
  private static final long WIDE = 256;
  private static final long LONGEST_MS = 60_000;

  private Arena memory;
  private OrtSessionFFM session;

  @BeforeEach
  void load() {
    memory = Arena.ofShared();
    session = session(Models.add(4));
  }

  @AfterEach
  void unload() throws Exception {
    session.close();
    // Cancelled runs release their objects a little later, because nothing waits for them.
    for (int i = 0; i < 1000 && LiveObjects.count(ObjectKind.SESSION) + LiveObjects.count(ObjectKind.RUN_OPTIONS) + LiveObjects.count(ObjectKind.VALUE) > 0; ++i) Thread.sleep(5);
    memory.close();
  }

  private OrtIoBindingFFM binding() {
    OrtIoBindingFFM binding = session.createBinding();
    MemorySegment numbers = memory.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4);
    for (String input : List.of("x", "y")) binding.bindInput(input, numbers, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindOutputToDevice("z", DeviceSpec.CPU);
    return binding;
  }

  @Test
  void atAnyMoment() throws Exception {
    int cancelled = 0;
    int finished = 0;
    for (int round = 0; round < ROUNDS; ++round) {
      try (OrtIoBindingFFM binding = binding()) {
        CompletableFuture<OrtValues> run = binding.runAsync(null, null);
        for (int spin = round * 37 % 5000; spin > 0; --spin) Thread.onSpinWait();
        if (run.cancel(true)) {
          ++cancelled;
          assertThrows(CancellationException.class, run::get);
        } else {
          ++finished;
          try (OrtValues values = run.get()) {
            assertArrayEquals(new float[] {2, 4, 6, 8}, values.get("z").toFloats());
          }
        }
      }
    }
    assertEquals(ROUNDS, cancelled + finished);
  }

  @Test
  void runsByNameAtAnyMoment() throws Exception {
    for (int round = 0; round < ROUNDS; ++round) {
      OrtValueRef x = tensor(memory.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4), 4);
      CompletableFuture<OrtValues> run = session.runAsync(Map.of("x", x, "y", x), List.of("z"), null, null);
      x.close();
      for (int spin = round * 37 % 5000; spin > 0; --spin) Thread.onSpinWait();
      if (!run.cancel(false)) run.get().close();
    }
  }

  @Test
  void aLongRunEndsSoon() throws Exception {
    long[] shape = {WIDE, WIDE};
    try (OrtSessionFFM slow = session(Models.slow(4000, WIDE)); OrtIoBindingFFM binding = slow.createBinding(); RunOptions options = RunOptions.create(API)) {
      binding.bindInput("x", memory.allocate(4 * WIDE * WIDE, 64), shape, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindOutputToDevice("y", DeviceSpec.CPU);
      for (int round = 0; round < 5; ++round) {
        CompletableFuture<OrtValues> run = binding.runAsync(options, null);
        Thread.sleep(10);
        assertFalse(run.isDone(), "use a longer run");
        long begin = System.nanoTime();
        options.terminate();
        ExecutionException e = assertThrows(ExecutionException.class, run::get);
        long ms = (System.nanoTime() - begin) / 1_000_000;
        assertTrue(e.getCause() instanceof OrtException, String.valueOf(e.getCause()));
        assertTrue(ms < 2000, ms + " ms");
        options.unsetTerminate();
      }
    }
  }

  @Test
  void aCancelledRunThatWaitsForAThreadNeverStarts() throws Exception {
    ExecutorService one = Executors.newSingleThreadExecutor();
    CompletableFuture<Void> gate = new CompletableFuture<>();
    one.execute(gate::join);
    try (OrtIoBindingFFM binding = binding(); OrtIoBindingFFM other = binding()) {
      CompletableFuture<OrtValues> waiting = binding.runAsync(null, one);
      CompletableFuture<OrtValues> next = other.runAsync(null, one);
      assertTrue(waiting.cancel(false));
      gate.complete(null);
      next.get().close();
      assertTrue(waiting.isCancelled());
      // The run never started.
      OrtException empty = assertThrows(OrtException.class, () -> {
        try (OrtValues values = binding.getBoundOutputValues()) {
          values.get("z").toFloats();
          values.entrySet();
        }
      });
      assertTrue(empty.getMessage().contains("empty"), empty.getMessage());
    } finally {
      one.shutdown();
    }
  }

  @Test
  void anExecutorThatRefusesTasks() {
    ExecutorService none = Executors.newSingleThreadExecutor();
    none.shutdown();
    try (OrtIoBindingFFM binding = binding(); OrtValueRef x = tensor(memory.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4), 4)) {
      assertThrows(RejectedExecutionException.class, () -> binding.runAsync(null, none));
      assertThrows(RejectedExecutionException.class, () -> session.runAsync(Map.of("x", x, "y", x), List.of("z"), null, none));
      binding.run();
    }
  }

  @Test
  void manyAtOnce() throws Exception {
    List<OrtIoBindingFFM> bindings = new ArrayList<>();
    for (int i = 0; i < 16; ++i) bindings.add(binding());
    for (int round = 0; round < 50; ++round) {
      List<CompletableFuture<OrtValues>> runs = new ArrayList<>();
      for (OrtIoBindingFFM binding : bindings) runs.add(binding.runAsync(null, null));
      for (CompletableFuture<OrtValues> run : runs) {
        try (OrtValues values = run.get(LONGEST_MS, TimeUnit.MILLISECONDS)) {
          assertEquals(8, values.get("z").toFloats()[3]);
        }
      }
    }
    bindings.forEach(OrtIoBindingFFM::close);
  }

  @Test
  void futuresCompletedByTheProgram() throws Exception {
    try (OrtIoBindingFFM binding = binding()) {
      CompletableFuture<OrtValues> run = binding.runAsync(null, null);
      if (run.completeExceptionally(new IllegalArgumentException("mine"))) {
        CompletionException e = assertThrows(CompletionException.class, run::join);
        assertEquals("mine", e.getCause().getMessage());
      } else {
        run.join().close();
      }
    }
    try (OrtIoBindingFFM binding = binding(); OrtValues values = binding.runAsync(null, null).thenApply(v -> v).orTimeout(LONGEST_MS, TimeUnit.MILLISECONDS).get()) {
      assertEquals(1, values.size());
    }
  }

  @Test
  void cancellingOneRunTerminatesAllWithTheSameOptions() throws Exception {
    long[] shape = {WIDE, WIDE};
    MemorySegment x = memory.allocate(4 * WIDE * WIDE, 64);
    List<OrtIoBindingFFM> bindings = new ArrayList<>();
    try (OrtSessionFFM slow = session(Models.slow(4000, WIDE)); RunOptions options = RunOptions.create(API)) {
      List<CompletableFuture<OrtValues>> runs = new ArrayList<>();
      for (int i = 0; i < 4; ++i) {
        OrtIoBindingFFM binding = slow.createBinding();
        binding.bindInput("x", x, shape, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
        binding.bindOutputToDevice("y", DeviceSpec.CPU);
        bindings.add(binding);
        runs.add(binding.runAsync(options, null));
      }
      Thread.sleep(10);
      // Cancelling one future sets the terminate flag of the options, which all runs share.
      assertTrue(runs.get(2).cancel(false));
      for (CompletableFuture<OrtValues> run : runs) assertThrows(Exception.class, () -> run.get(LONGEST_MS, TimeUnit.MILLISECONDS));
    } finally {
      bindings.forEach(OrtIoBindingFFM::close);
    }
  }

  @Test
  void completingAFutureTerminatesItsRun() throws Exception {
    long[] shape = {WIDE, WIDE};
    try (OrtSessionFFM slow = session(Models.slow(4000, WIDE)); OrtIoBindingFFM binding = slow.createBinding(); RunOptions options = RunOptions.create(API)) {
      binding.bindInput("x", memory.allocate(4 * WIDE * WIDE, 64), shape, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindOutputToDevice("y", DeviceSpec.CPU);
      List<Consumer<CompletableFuture<OrtValues>>> ends = List.of(run -> run.cancel(false), run -> run.completeExceptionally(new IllegalArgumentException("mine")),
          run -> run.complete(null), run -> run.orTimeout(1, TimeUnit.MILLISECONDS), run -> run.completeOnTimeout(null, 1, TimeUnit.MILLISECONDS));
      for (Consumer<CompletableFuture<OrtValues>> end : ends) {
        CompletableFuture<Void> over = new CompletableFuture<>();
        CompletableFuture<OrtValues> run = binding.runAsync(options, task -> new Thread(() -> {
          task.run();
          over.complete(null);
        }).start());
        end.accept(run);
        over.get(LONGEST_MS, TimeUnit.MILLISECONDS);
        assertTrue(run.isDone());
        fails(OrtErrorCode.FAIL, () -> binding.run(options), "erminate");
        options.unsetTerminate();
      }
      // A derived future is a separate one: completing it does not terminate the run.
      CompletableFuture<OrtValues> run = binding.runAsync(options, null);
      assertTrue(run.thenApply(v -> v).cancel(false));
      assertFalse(run.isDone());
      run.cancel(false);
    }
  }

  @Test
  void aCompletedRunDoesNotSetTheTerminateFlag() throws Exception {
    try (OrtIoBindingFFM binding = binding(); RunOptions options = RunOptions.create(API)) {
      binding.runAsync(options, null).get().close();
      binding.run(options);
    }
  }
}
