package io.retort.onnxruntime;

import static io.retort.onnxruntime.testing.ModelBuilder.FLOAT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.retort.onnxruntime.testing.ModelBuilder;
import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of sessions, their options, and the properties of models. */
class SessionTest extends Fixture {
  @TempDir Path folder;

  private float ten(OrtSessionFFM session) {
    try (session; OrtValueRef x = tensor(floats(1, 2, 3, 4), 4); OrtValueRef y = tensor(floats(9, 9, 9, 9), 4); OrtValues values = session.run(Map.of("x", x, "y", y))) {
      return values.get("z").toFloats()[0];
    }
  }

  @Test
  void fromFileBytesAndMemory() throws Exception {
    byte[] model = Models.add(4);
    Path file = Files.write(folder.resolve("add of ü.onnx"), model);
    assertEquals(10, ten(OrtSessionFFM.create(env, file, null)));
    assertEquals(10, ten(OrtSessionFFM.create(env, model, null)));
    assertEquals(10, ten(OrtSessionFFM.create(env, MemorySegment.ofArray(model), null)));
    try (FileChannel channel = FileChannel.open(file); Arena mapped = Arena.ofConfined()) {
      assertEquals(10, ten(OrtSessionFFM.create(env, channel.map(FileChannel.MapMode.READ_ONLY, 0, model.length, mapped), null)));
    }
  }

  @Test
  void inputsAndOutputsHaveTypes() {
    try (OrtSessionFFM session = session(Models.relu("batch", 3))) {
      assertEquals("['x' FLOAT[batch,3]]", session.inputs().toString());
      assertEquals(new ValueInfo("y", new TypeInfo.Tensor(OnnxTensorElementType.FLOAT, true, new long[] {-1, 3}, List.of("batch", ""), false)), session.outputs().get(0));
      assertEquals(List.of(), session.overridableInitializers());
    }
  }

  @Test
  void inputsAndOutputsHavePlaces() {
    needs(24, "what drives outputs");
    try (OrtSessionFFM session = session(Models.relu("batch", 3))) {
      assertEquals(List.of(DeviceSpec.CPU), session.inputDevices());
      assertEquals(List.of(DeviceSpec.CPU), session.outputDevices());
      assertEquals("CPUExecutionProvider", session.inputEpDevices().get(0).epName());
      assertEquals("CPUExecutionProvider", session.outputEpDevices().get(0).epName());
    }
  }

  @Test
  void metadata() {
    try (OrtSessionFFM session = OrtSessionFFM.create(env, MODELS.resolve("dense.onnx"), null)) {
      assertEquals(new ModelMetadata("clients", "dense", "tiny", "", "", 3, Map.of("made_by", "make.py")), session.metadata());
    }
  }

  @Test
  void initializersThatARunReplaces() {
    byte[] model = new ModelBuilder("defaults").input("x", FLOAT, 4).input("y", FLOAT, 4).floats("y", new long[] {4}, 1, 1, 1, 1).node("Add", "x y", "z")
        .output("z", FLOAT, 4).bytes();
    try (OrtSessionFFM session = session(model); OrtValueRef x = tensor(floats(1, 2, 3, 4), 4); OrtIoBindingFFM binding = session.createBinding()) {
      assertEquals("['x' FLOAT[4]]", session.inputs().toString());
      assertEquals("['y' FLOAT[4]]", session.overridableInitializers().toString());
      try (OrtValues values = session.run(Map.of("x", x))) {
        assertEquals(5, values.get("z").toFloats()[3]);
      }
      try (OrtValues values = session.run(Map.of("x", x, "y", x))) {
        assertEquals(8, values.get("z").toFloats()[3]);
      }
      binding.bindInput("x", x);
      binding.bindInput("y", x);
      binding.bindOutputToDevice("z", DeviceSpec.CPU);
      try (OrtValues values = binding.runWithBindings()) {
        assertEquals(8, values.get("z").toFloats()[3]);
      }
    }
  }

  @Test
  void typesOfSequencesAndMaps() {
    try (OrtSessionFFM session = OrtSessionFFM.create(env, MODELS.resolve("zipmap.onnx"), null)) {
      TypeInfo.Sequence sequence = (TypeInfo.Sequence) session.outputs().get(0).type();
      TypeInfo.Mapping map = (TypeInfo.Mapping) sequence.element();
      assertEquals(OnnxTensorElementType.INT64, map.key());
      assertEquals(OnnxTensorElementType.FLOAT, ((TypeInfo.Tensor) map.value()).element());
    }
  }

  @Test
  void options() {
    List<String> log = Collections.synchronizedList(new ArrayList<>());
    try (SessionOptions options = SessionOptions.create(env)) {
      options.setIntraOpThreads(1).setInterOpThreads(1).setExecutionMode(ExecutionMode.SEQUENTIAL).setMemoryPattern(false)
          .setMemoryPattern(true).setDeterministicCompute(true).setOptimizationLevel(OptimizationLevel.BASIC).setLogId("mine")
          .addConfigEntry("session.disable_prepacking", "1").setLogLevel(LogLevel.VERBOSE).setDimension("n", 4).setOptimizedModelPath(folder.resolve("optimised.onnx"))
          .setLogSink((level, category, id, at, text) -> log.add(id + ": " + text));
      if (API.apiVersion() >= 22) options.setEpSelectionPolicy(EpSelectionPolicy.PREFER_CPU);
      assertEquals("1", options.configEntry("session.disable_prepacking"));
      assertNull(options.configEntry("not.set"));
      try (OrtSessionFFM session = OrtSessionFFM.create(env, Models.add("n"), options)) {
        options.close();
        assertEquals("['x' FLOAT[4], 'y' FLOAT[4]]", session.inputs().toString());
        assertEquals(10, ten(session));
      }
    }
    assertTrue(Files.exists(folder.resolve("optimised.onnx")));
    assertFalse(log.isEmpty(), "nothing was logged");
    assertTrue(log.stream().anyMatch(line -> line.startsWith("mine: ")), log.toString());
  }

  @Test
  void profiling() {
    try (SessionOptions options = SessionOptions.create(env).enableProfiling(folder.resolve("profile").toString());
        OrtSessionFFM session = OrtSessionFFM.create(env, Models.add(4), options)) {
      Path file = session.endProfiling();
      assertTrue(Files.exists(file), file.toString());
    }
  }

  @Test
  void initializersOfTheProgram() {
    // The value must outlive the session, even if its reference is closed.
    byte[] model = Models.relu(4);
    try (SessionOptions options = SessionOptions.create(env)) {
      OrtValueRef value = tensor(floats(1, 2, 3, 4), 4);
      options.addInitializer("not_there", value);
      value.close();
      assertEquals(1, LiveObjects.count(ObjectKind.VALUE));
      try (OrtSessionFFM session = OrtSessionFFM.create(env, model, options)) {
        options.close();
        assertEquals(1, LiveObjects.count(ObjectKind.VALUE));
        assertEquals(1, session.inputs().size());
      } catch (OrtException unknownName) {
        assertTrue(unknownName.getMessage().contains("not_there"), unknownName.getMessage());
      }
    }
    assertEquals(0, LiveObjects.count(ObjectKind.VALUE));
  }

  @Test
  void devicesAndTheirChoice() {
    needs(22, "a choice of devices");
    List<EpDevice> devices = env.epDevices();
    EpDevice cpu = devices.stream().filter(d -> d.epName().equals("CPUExecutionProvider")).findFirst().orElseThrow();
    assertEquals(DeviceType.CPU, cpu.hardware().type());
    assertEquals(RETORT ? "Retort" : "Microsoft", cpu.epVendor());
    try (SessionOptions options = SessionOptions.create(env).addDevices(List.of(cpu), Map.of()); OrtSessionFFM session = OrtSessionFFM.create(env, Models.add(4), options)) {
      assertEquals(10, ten(session));
    }
    List<EpDevice> offered = new ArrayList<>();
    try (SessionOptions options = SessionOptions.create(env).setEpSelector((all, model, runtime, most) -> {
      offered.addAll(all);
      return all.stream().filter(d -> d.epName().equals("CPUExecutionProvider")).limit(most).toList();
    })) {
      assertEquals(10, ten(OrtSessionFFM.create(env, Models.add(4), options)));
    }
    assertTrue(offered.stream().anyMatch(d -> d.epName().equals("CPUExecutionProvider")), offered.toString());
    try (SessionOptions options = SessionOptions.create(env).setEpSelector((all, model, runtime, most) -> {
      throw new IllegalArgumentException("none is good");
    })) {
      OrtException e = assertThrows(OrtException.class, () -> OrtSessionFFM.create(env, Models.add(4), options));
      assertTrue(e.getMessage().contains("none is good"), e.getMessage());
    }
    assertThrows(OrtException.class, () -> env.createSyncStream(cpu, Map.of()));
    assertThrows(OrtException.class, () -> env.createSharedAllocator(cpu, MemoryKind.DEFAULT, Map.of()));
    assertThrows(OrtException.class, () -> env.registerExecutionProviderLibrary("none", Path.of("/no/such/library.so")));
    assertThrows(OrtException.class, () -> env.unregisterExecutionProviderLibrary("none"));
  }

  @Test
  void runsInAnotherThread() throws Exception {
    try (Arena memory = Arena.ofShared(); OrtSessionFFM session = session(Models.add(4))) {
      OrtValueRef x = tensor(memory.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4), 4);
      var future = session.runAsync(Map.of("x", x, "y", x), List.of("z"), null, null);
      x.close();
      try (OrtValues values = future.get()) {
        assertArrayEquals(new float[] {2, 4, 6, 8}, values.get("z").toFloats());
      }
    }
  }

  @Test
  void theLibrary() {
    assertTrue(API.availableProviders().contains("CPUExecutionProvider"), API.availableProviders().toString());
    assertTrue(API.apiVersion() >= 17);
    assertTrue(API.versionString().startsWith("1."), API.versionString());
  }

  @Test
  void exceptionsOfCallbacksAreCaught() {
    Thread thread = Thread.currentThread();
    Thread.UncaughtExceptionHandler before = thread.getUncaughtExceptionHandler();
    int[] messages = {0};
    thread.setUncaughtExceptionHandler((t, e) -> {
      ++messages[0];
      throw new IllegalStateException("of the handler");
    });
    try (SessionOptions options = SessionOptions.create(env).setLogLevel(LogLevel.VERBOSE).setLogSink((level, category, id, at, text) -> {
      throw new AssertionError("of the sink");
    })) {
      assertEquals(10, ten(OrtSessionFFM.create(env, Models.add(4), options)));
    } finally {
      thread.setUncaughtExceptionHandler(before);
    }
    assertTrue(messages[0] > 0);
  }

  @Test
  void whatASelectorThrowsIsReported() {
    needs(22, "a choice of devices");
    try (SessionOptions options = SessionOptions.create(env).setEpSelector((all, model, runtime, most) -> {
      throw new AssertionError("of the selector");
    })) {
      fails(OrtErrorCode.FAIL, () -> OrtSessionFFM.create(env, Models.add(4), options), "of the selector");
    }
  }

  @Test
  void anExecutorThatThrowsDoesNotLeak() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtValueRef x = tensor(floats(1, 2, 3, 4), 4); OrtIoBindingFFM binding = session.createBinding()) {
      assertThrows(UnsupportedOperationException.class, () -> binding.runAsync(null, run -> {
        throw new UnsupportedOperationException();
      }));
      assertThrows(UnsupportedOperationException.class, () -> session.runAsync(Map.of("x", x, "y", x), List.of("z"), null, run -> {
        throw new UnsupportedOperationException();
      }));
    }
  }

  @Test
  void aModelInMemoryOfAnotherThread() throws Exception {
    byte[] model = Models.add(4);
    MemorySegment confined = arena.allocateFrom(ValueLayout.JAVA_BYTE, model);
    Thread other = new Thread(() -> invalid(() -> OrtSessionFFM.create(env, confined, null), "confined arena of another thread"));
    List<Throwable> wrong = new ArrayList<>();
    other.setUncaughtExceptionHandler((t, e) -> wrong.add(e));
    other.start();
    other.join();
    assertEquals(List.of(), wrong);
    Arena over = Arena.ofConfined();
    MemorySegment gone = over.allocateFrom(ValueLayout.JAVA_BYTE, model);
    over.close();
    closed(() -> OrtSessionFFM.create(env, gone, null), "arena of the model is closed");
  }

  @Test
  void memoryAndPowerOfASession() {
    assumeTrue(API.apiVersion() >= 23, "the library is too old");
    try (OrtSessionFFM session = session(Models.add(4)); OrtValueRef x = tensor(floats(1, 2, 3, 4), 4)) {
      for (String type : List.of("Efficient", "Default")) {
        session.setEpDynamicOptions(Map.of("ep.dynamic.workload_type", type));
        try (OrtValues values = session.run(Map.of("x", x, "y", x))) {
          assertArrayEquals(new float[] {2, 4, 6, 8}, values.get("z").toFloats());
        }
      }
      Map<String, String> statistics = session.allocatorStatistics(DeviceSpec.CPU);
      assertTrue(statistics.keySet().containsAll(List.of("InUse", "MaxInUse")), statistics::toString);
      assertThrows(OrtException.class, () -> session.allocatorStatistics(DeviceSpec.cuda(7)));
    }
    assertEquals(0, LiveObjects.count(ObjectKind.ALLOCATOR));
  }

  /** Adds 1,000 and 100,000 numbers in sessions that share an arena of 300,000 bytes. */
  @Test
  void sessionsShareAnArenaOfTheEnvironment() {
    env.createAndRegisterAllocator(Map.of("max_mem", 300_000L));
    try (SessionOptions options = SessionOptions.create(env).addConfigEntry("session.use_env_allocators", "1"); OrtSessionFFM one = OrtSessionFFM.create(env, Models.add("n"), options);
        OrtSessionFFM other = OrtSessionFFM.create(env, Models.add("n"), options); OrtValueRef few = tensor(floats(new float[1_000]), 1_000);
        OrtValueRef many = tensor(floats(new float[100_000]), 100_000)) {
      for (OrtSessionFFM session : List.of(one, other)) {
        session.run(Map.of("x", few, "y", few)).close();
        assertThrows(OrtException.class, () -> session.run(Map.of("x", many, "y", many)));
        session.run(Map.of("x", few, "y", few)).close();
      }
      if (API.apiVersion() >= 23) assertEquals("300000", one.allocatorStatistics(DeviceSpec.CPU).get("Limit"));
      invalid(() -> env.createAndRegisterAllocator(Map.of("max_mem", -1L)), "max_mem of the arena is -1");
      assertThrows(OrtException.class, () -> env.createAndRegisterAllocator(Map.of("no_such_setting", 1L)));
    } finally {
      env.unregisterAllocator();
    }
    assertThrows(OrtException.class, env::unregisterAllocator);
    try (OrtSessionFFM free = session(Models.add("n")); OrtValueRef many = tensor(floats(new float[100_000]), 100_000)) {
      free.run(Map.of("x", many, "y", many)).close();
    }
  }
}
