package io.retort.onnxruntime.ffm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** Calls functions of each table, and of each shape of signature, in the loaded library. */
class GroupTest {
  private static final OrtLibrary LIBRARY = OrtLibrary.open(NativeLibrary.load());
  private static final OrtApi API = LIBRARY.api();

  private static void succeeds(MemorySegment status) {
    assertEquals(0, status.address(), () -> Memory.string(API.getErrorMessage(status)));
  }

  /** Returns the object that a call writes to its out parameter. */
  private static MemorySegment made(Arena arena, UnaryOperator<MemorySegment> call) {
    MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
    succeeds(call.apply(out));
    MemorySegment result = out.get(ValueLayout.ADDRESS, 0);
    assertNotEquals(0, result.address());
    return result;
  }

  @Test
  void statuses() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment status = API.createStatus(OrtConstants.OrtErrorCode.ORT_NOT_IMPLEMENTED, arena.allocateFrom("nothing"));
      assertEquals(OrtConstants.OrtErrorCode.ORT_NOT_IMPLEMENTED, API.getErrorCode(status));
      assertEquals("nothing", Memory.string(API.getErrorMessage(status)));
      API.releaseStatus(status);
    }
  }

  @Test
  void valuesAndMemory() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment info = made(arena, out -> API.createCpuMemoryInfo(0, 0, out));
      MemorySegment data = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4, 5, 6);
      MemorySegment shape = arena.allocateFrom(ValueLayout.JAVA_LONG, 2, 3);
      MemorySegment value = made(arena, out -> API.createTensorWithDataAsOrtValue(info, data, 24, shape, 2, 1, out));
      MemorySegment out = arena.allocate(8);
      succeeds(API.getTensorMutableData(value, out));
      assertEquals(data.address(), out.get(ValueLayout.JAVA_LONG, 0));
      MemorySegment types = made(arena, at -> API.getTensorTypeAndShape(value, at));
      succeeds(API.getTensorShapeElementCount(types, out));
      assertEquals(6, out.get(ValueLayout.JAVA_LONG, 0));
      API.releaseTensorTypeAndShapeInfo(types);
      API.releaseValue(value);
      API.releaseMemoryInfo(info);
    }
  }

  @Test
  void optionsAndConfig() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment options = made(arena, API::createSessionOptions);
      succeeds(API.setIntraOpNumThreads(options, 1));
      succeeds(API.setDeterministicCompute(options, true));
      succeeds(API.addSessionConfigEntry(options, arena.allocateFrom("some.key"), arena.allocateFrom("7")));
      MemorySegment has = arena.allocate(ValueLayout.JAVA_INT);
      succeeds(API.hasSessionConfigEntry(options, arena.allocateFrom("some.key"), has));
      assertEquals(1, has.get(ValueLayout.JAVA_INT, 0));
      MemorySegment status = API.setSessionGraphOptimizationLevel(options, 12345);
      assertNotEquals(0, status.address());
      API.releaseStatus(status);
      API.releaseSessionOptions(options);
      MemorySegment run = made(arena, API::createRunOptions);
      succeeds(API.runOptionsSetTerminate(run));
      API.releaseRunOptions(run);
    }
  }

  @Test
  void environmentDevicesAndLog() {
    assumeTrue(LIBRARY.version() >= 22, "these functions came with ONNX Runtime 1.22");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment env = made(arena, out -> API.createEnv(3, arena.allocateFrom("groups"), out));
      MemorySegment devices = arena.allocate(ValueLayout.ADDRESS);
      MemorySegment count = arena.allocate(ValueLayout.JAVA_LONG);
      succeeds(API.getEpDevices(env, devices, count));
      assertTrue(count.get(ValueLayout.JAVA_LONG, 0) >= 1);
      MemorySegment first = Memory.view(devices.get(ValueLayout.ADDRESS, 0), 8).get(ValueLayout.ADDRESS, 0);
      assertEquals("CPUExecutionProvider", Memory.string(API.epDevice_EpName(first)));
      assertEquals(0, API.hardwareDevice_Type(API.epDevice_Device(first)));
      API.releaseEnv(env);
    }
  }

  /** Tests RunAsync, which calls back from a thread of the library and needs a session with more than one thread. */
  @Test
  void runsThatCallBack() throws Exception {
    Path model = Path.of(System.getProperty("retort.abi", System.getenv().getOrDefault("RETORT_ABI", "../../../abi"))).resolve("../tests/clients/data/step.onnx");
    CompletableFuture<Float> first = new CompletableFuture<>();
    try (Arena arena = Arena.ofShared()) {
      MemorySegment env = made(arena, out -> API.createEnv(3, arena.allocateFrom("groups"), out));
      MemorySegment options = made(arena, API::createSessionOptions);
      succeeds(API.setIntraOpNumThreads(options, 2));
      byte[] bytes = Files.readAllBytes(model);
      MemorySegment session = made(arena, out -> API.createSessionFromArray(env, arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes), bytes.length, options, out));
      MemorySegment info = made(arena, out -> API.createCpuMemoryInfo(0, 0, out));
      MemorySegment data = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4);
      MemorySegment shape = arena.allocateFrom(ValueLayout.JAVA_LONG, 4);
      MemorySegment value = made(arena, out -> API.createTensorWithDataAsOrtValue(info, data, 16, shape, 1, 1, out));
      MemorySegment names = pointers(arena, arena.allocateFrom("x"), arena.allocateFrom("state"));
      MemorySegment outputs = arena.allocate(ValueLayout.ADDRESS);
      MemorySegment callback = FinishedCall.stub((user, made, count, status) -> {
        MemorySegment at = Arena.ofAuto().allocate(ValueLayout.ADDRESS);
        API.getTensorMutableData(Memory.view(made, 8).get(ValueLayout.ADDRESS, 0), at);
        first.complete(status.address() != 0 || count != 1 ? Float.NaN : Memory.view(at.get(ValueLayout.ADDRESS, 0), 16).get(ValueLayout.JAVA_FLOAT, 0));
      }, arena);
      succeeds(API.runAsync(session, MemorySegment.NULL, names, pointers(arena, value, value), 2, pointers(arena, arena.allocateFrom("state_out")), 1, outputs, callback, MemorySegment.NULL));
      assertEquals(2, first.get(60, TimeUnit.SECONDS));
      // Releasing the session waits for its threads, so the callback has returned afterwards.
      API.releaseValue(outputs.get(ValueLayout.ADDRESS, 0));
      API.releaseValue(value);
      API.releaseSession(session);
      API.releaseSessionOptions(options);
      API.releaseMemoryInfo(info);
      API.releaseEnv(env);
    }
  }

  private static MemorySegment pointers(Arena arena, MemorySegment... all) {
    MemorySegment array = arena.allocate(ValueLayout.ADDRESS, all.length);
    for (int i = 0; i < all.length; ++i) array.setAtIndex(ValueLayout.ADDRESS, i, all[i]);
    return array;
  }

  @Test
  void keyValuePairs() {
    assumeTrue(LIBRARY.version() >= 22, "these functions came with ONNX Runtime 1.22");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
      API.createKeyValuePairs(out);
      MemorySegment pairs = out.get(ValueLayout.ADDRESS, 0);
      API.addKeyValuePair(pairs, arena.allocateFrom("k"), arena.allocateFrom("v"));
      assertEquals("v", Memory.string(API.getKeyValue(pairs, arena.allocateFrom("k"))));
      API.releaseKeyValuePairs(pairs);
    }
  }

  @Test
  void otherTables() {
    assumeTrue(LIBRARY.version() >= 22, "these functions came with ONNX Runtime 1.22");
    try (Arena arena = Arena.ofConfined()) {
      OrtModelEditorApi editor = new OrtModelEditorApi(API.getModelEditorApi(), LIBRARY.version());
      MemorySegment graph = made(arena, editor::createGraph);
      API.releaseGraph(graph);
      OrtCompileApi compile = new OrtCompileApi(API.getCompileApi(), LIBRARY.version());
      compile.releaseModelCompilationOptions(MemorySegment.NULL);
      if (LIBRARY.version() >= 24) {
        OrtEpApi provider = new OrtEpApi(API.getEpApi(), LIBRARY.version());
        MemorySegment builder = made(arena, provider::createKernelDefBuilder);
        succeeds(provider.kernelDefBuilder_SetOperatorType(builder, arena.allocateFrom("Relu")));
        provider.releaseKernelDefBuilder(builder);
        new OrtInteropApi(API.getInteropApi(), LIBRARY.version()).releaseExternalResourceImporter(MemorySegment.NULL);
      }
      if (LIBRARY.version() >= 31) {
        OrtModelPackageApi packages = new OrtModelPackageApi(API.getModelPackageApi(), LIBRARY.version());
        MemorySegment status = packages.createModelPackageContext(arena.allocateFrom("/no/such/folder"), arena.allocate(8));
        assertNotEquals(0, status.address());
        API.releaseStatus(status);
      }
      assertEquals(0, API.getTrainingApi(LIBRARY.version()).address());
    }
  }
}
