package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.MemorySegment;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Tests that mistakes are reported before the library is called, and change nothing. */
class MisuseTest extends Fixture {
  private static final long[] FOUR = {4};

  @Test
  void bindings() {
    MemorySegment four = floats(1, 2, 3, 4);
    MemorySegment z = floats(0, 0, 0, 0);
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = session.createBinding()) {
      invalid(() -> binding.bindInput("xx", four, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU), "no input has the name 'xx'", "[x, y]", "did you mean 'x'?");
      invalid(() -> binding.bindOutput("w", z, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU), "no output has the name 'w'", "[z]");
      invalid(() -> binding.bindOutputToDevice("w", DeviceSpec.CPU), "no output has the name 'w'");
      invalid(() -> binding.bindInput("x", four, FOUR, OnnxTensorElementType.INT32, DeviceSpec.CPU), "input 'x' FLOAT[4] was given INT32[4]");
      invalid(() -> binding.bindInput("x", four, new long[] {2, 2}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU), "input 'x' FLOAT[4] was given FLOAT[2, 2]");
      invalid(() -> binding.bindInput("x", four, new long[] {3}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU), "FLOAT[4] was given FLOAT[3]");
      invalid(() -> binding.bindInput("x", four, new long[] {-4}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU), "negative extent");
      invalid(() -> binding.bindInput("x", four.asSlice(0, 12), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU), "FLOAT[4] takes 16 bytes, the segment has 12");
      invalid(() -> binding.bindInput("x", MemorySegment.ofArray(new float[4]), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU), "is on the heap", "Arena");
      invalid(() -> binding.bindInput("x", MemorySegment.NULL, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU), "segment has 0");
      invalid(() -> binding.bindOutput("z", z.asReadOnly(), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU), "read-only");
      invalid(() -> binding.bindOutput("z", z, FOUR, OnnxTensorElementType.INT64, DeviceSpec.CPU), "output 'z' FLOAT[4] was given INT64[4]");
      assertThrows(OrtException.class, binding::run);
      // The mistakes above had no effect.
      binding.bindInput("x", four, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindInput("y", four, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindOutput("z", z, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.run();
      assertArrayEquals(new float[] {2, 4, 6, 8}, floats(z));
    }
  }

  @Test
  void outputsOfTheWrongShapeAreReportedByTheRun() {
    MemorySegment four = floats(1, 2, 3, 4);
    try (OrtSessionFFM session = session(Models.add("n")); OrtIoBindingFFM binding = session.createBinding()) {
      binding.bindInput("x", four, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindInput("y", four, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindOutput("z", floats(0, 0), new long[] {2}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      assertThrows(OrtException.class, binding::run);
    }
  }

  @Test
  void runsByName() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtValueRef x = tensor(floats(1, 2, 3, 4), 4); OrtValueRef two = tensor(floats(1, 2), 2)) {
      invalid(() -> session.run(Map.of("x", x, "Y", x)), "no input has the name 'Y'", "did you mean 'y'?");
      invalid(() -> session.run(Map.of("x", x, "y", two)), "input 'y' FLOAT[4] was given FLOAT[2]");
      invalid(() -> session.run(Map.of("x", x, "y", x), List.of(), null), "no outputs", "[z]");
      invalid(() -> session.run(Map.of("x", x, "y", x), List.of("zz"), null), "no output has the name 'zz'");
      assertThrows(OrtException.class, () -> session.run(Map.of("x", x)));
    }
  }

  @Test
  void values() {
    try (OrtValueRef floats = OrtValueRef.ofFloats(env, new float[] {1, 2}, OnnxTensorElementType.FLOAT, 2); OrtValueRef texts = OrtValueRef.ofStrings(env, new String[] {"a"}, 1)) {
      invalid(floats::asLongBuffer, "elements are FLOAT, not long");
      invalid(floats::strings, "elements are FLOAT, not STRING");
      invalid(texts::asSegment, "use strings()");
      invalid(floats::elements, "a TENSOR, not a SEQUENCE");
      invalid(floats::entries, "a TENSOR, not a MAP");
      invalid(() -> floats.copyTo(floats(1)), "takes 8 bytes, the segment has 4");
      invalid(() -> floats.copyFrom(floats(1)), "takes 8 bytes, the segment has 4");
      invalid(() -> OrtValueRef.ofFloats(env, new float[3], OnnxTensorElementType.FLOAT, 2), "2 elements, 3 were given");
      invalid(() -> OrtValueRef.ofFloats(env, new float[2], OnnxTensorElementType.INT32, 2), "not FLOAT");
      invalid(() -> OrtValueRef.ofStrings(env, new String[3], 2), "2 elements, 3 were given");
      invalid(() -> OrtValueRef.wrap(env, floats(1), OnnxTensorElementType.STRING, 1), "use OrtValueRef.ofStrings");
      invalid(() -> OrtValueRef.allocate(env, OnnxTensorElementType.UNDEFINED, 2), "UNDEFINED is none: give another OnnxTensorElementType");
      invalid(() -> OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, Long.MAX_VALUE, 2), "more elements than fit in memory");
      invalid(() -> OrtValueRef.wrap(env, floats(1), OnnxTensorElementType.FLOAT, Long.MAX_VALUE / 2), "do not fit in memory");
    }
    assertEquals(0, LiveObjects.count(ObjectKind.VALUE));
  }

  @Test
  void runsWithoutABoundOutput() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = session.createBinding()) {
      invalid(binding::run, "no output is bound", "[z]", "bindOutputToDevice");
    }
  }

  @Test
  void outputsThatAreNotMemory() {
    try (OrtSessionFFM session = session(Models.identity(OnnxTensorElementType.STRING, "n")); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = OrtValueRef.ofStrings(env, new String[] {"a", "b"}, 2)) {
      binding.bindInput("x", x);
      binding.bindOutputToDevice("y", DeviceSpec.CPU);
      binding.run();
      for (Executable read : new Executable[] {binding::getBoundOutputCpuValues, () -> binding.getBoundOutputCpuValues(arena)})
        invalid(read, "output 'y' cannot be read as memory", "use strings()", "read it from getBoundOutputValues()");
      try (OrtValues values = binding.getBoundOutputValues()) {
        assertArrayEquals(new String[] {"a", "b"}, values.get("y").strings());
      }
    }
  }

  @Test
  void bindingsOfOtherObjects() {
    try (OrtValueRef x = OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, 1)) {
      invalid(() -> new OrtIoBindingFFM(x), "io.retort.onnxruntime.OrtValueRef", "give an OrtSessionFFM");
    }
  }

  @Test
  void readOnlyMemory() {
    MemorySegment locked = floats(1, 2).asReadOnly();
    try (OrtValueRef x = OrtValueRef.ofFloats(env, new float[] {3, 4}, OnnxTensorElementType.FLOAT, 2); OrtValueRef y = tensor(locked, 2)) {
      invalid(() -> x.copyTo(locked), "the segment is read-only");
      invalid(() -> y.copyFrom(floats(5, 6)), "the tensor is in a read-only segment");
      invalid(() -> env.copyTensors(List.of(x), List.of(y), null), "tensor 0 is in a read-only segment");
      x.copyFrom(locked);
      assertArrayEquals(new float[] {1, 2}, x.toFloats());
    }
  }

  @Test
  void devicesWithoutAProviderOfTheSession() {
    MemoryDescriptor four = new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4);
    MemorySegment there = MemorySegment.ofAddress(0x1000);
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = tensor(floats(1, 2, 3, 4), 4);
        OrtValueRef far = OrtValueRef.wrap(env, there, four, DeviceSpec.cuda(9))) {
      invalid(() -> session.run(Map.of("x", far, "y", x)), "input 'x' is on Cuda (GPU 9)", "add its provider");
      invalid(() -> binding.bindOutput("z", far), "output 'z' is on Cuda (GPU 9)", "no provider of the session drives");
      assertThrows(OrtException.class, () -> binding.bindInput("x", far));
    }
  }

  @Test
  void stringsWithAZero() {
    invalid(() -> OrtValueRef.ofStrings(env, new String[] {"a", "b\0c"}, 2), "string 1 'b\u2400c' contains U+0000");
  }

  @Test
  void nullArguments() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = session.createBinding(); SessionOptions options = SessionOptions.create(env)) {
      MemorySegment four = floats(1, 2, 3, 4);
      missing("name", () -> binding.bindInput(null, four, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU));
      missing("shape", () -> binding.bindInput("x", four, null, OnnxTensorElementType.FLOAT, DeviceSpec.CPU));
      missing("type", () -> binding.bindInput("x", four, FOUR, null, DeviceSpec.CPU));
      missing("device", () -> binding.bindInput("x", four, FOUR, OnnxTensorElementType.FLOAT, null));
      missing("device", () -> binding.bindOutputToDevice("z", null));
      missing("arena", () -> binding.getBoundOutputCpuValues(null));
      missing("key", () -> options.addConfigEntry(null, ""));
      missing("sink", () -> options.setLogSink(null));
      missing("buffer", () -> binding.bindInput("x", (FloatBuffer) null, DeviceSpec.CPU));
      missing("device", () -> binding.bindInput("x", FloatBuffer.allocate(4), null));
      missing("model", () -> OrtSessionFFM.create(env, (byte[]) null, null));
      missing("keys", () -> OrtValueRef.ofMap(env, null, null));
      missing("name", () -> options.addProvider(null, Map.of()));
      missing("prefix", () -> options.enableProfiling(null));
      missing("name", () -> session.run(Map.of(), Collections.singletonList(null), null));
      missing("selector", () -> options.setEpSelector(null));
    }
  }

  @Test
  void nullArgumentsOfValuesAndMemory() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = tensor(floats(1, 2, 3, 4), 4)) {
      Map<String, OrtValueRef> half = new HashMap<>(Map.of("x", x));
      half.put("y", null);
      for (Executable run : new Executable[] {() -> session.run(half), () -> session.runAsync(half, List.of("z"), null, null)}) missing("the value of input 'y'", run);
      missing("values", () -> session.run(null));
      missing("wanted", () -> session.run(Map.of("x", x), null, null));
      missing("wanted", () -> session.runAsync(Map.of("x", x), null, null, null));
      missing("name", () -> session.runAsync(Map.of("x", x), Collections.singletonList(null), null, null));
      missing("value 1", () -> OrtValueRef.ofSequence(env, Arrays.asList(x, null)));
      missing("device", () -> binding.bindInput("x", x, null));
      missing("session", () -> new OrtIoBindingFFM((AutoCloseable) null));
      missing("session", () -> OrtSessionFFM.createFromOrtSession(null));
      missing("arena", () -> x.asSegment(null));
      missing("session", () -> NativeMemory.pinned(null, DeviceSpec.CPU, 16, arena));
      missing("place", () -> NativeMemory.pinned(session, null, 16, arena));
      missing("arena", () -> NativeMemory.pinned(session, DeviceSpec.CPU, 16, null));
      missing("device", () -> NativeMemory.device(session, null, 16, arena));
      missing("adapter", () -> LoraAdapter.create(env, (byte[]) null));
      missing("file", () -> LoraAdapter.create(env, (Path) null));
      missing("env", () -> LoraAdapter.create(null, new byte[0]));
    }
    assertEquals(0, LiveObjects.count(ObjectKind.VALUE));
    assertEquals(0, LiveObjects.count(ObjectKind.ALLOCATOR));
  }

  @Test
  void outputsBeforeTheFirstRun() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = session.createBinding()) {
      binding.bindOutputToDevice("z", DeviceSpec.CPU);
      for (Executable read : new Executable[] {binding::copyOutputsToCpu, binding::getBoundOutputCpuValues, () -> binding.getBoundOutputCpuValues(arena)})
        fails(OrtErrorCode.FAIL, read, "output 'z'", "has not been computed yet");
    }
  }

  private static void missing(String what, Executable call) {
    assertEquals(what, assertThrows(NullPointerException.class, call).getMessage());
  }

  @Test
  void sessionsAndOptions() {
    fails(OrtErrorCode.NO_SUCH_FILE, () -> OrtSessionFFM.create(env, Path.of("/no/such/model.onnx"), null), "/no/such/model.onnx");
    fails(OrtErrorCode.INVALID_PROTOBUF, () -> OrtSessionFFM.create(env, new byte[] {1, 2, 3}, null));
    try (SessionOptions options = SessionOptions.create(env)) {
      invalid(() -> options.setIntraOpThreads(-1), "-1 threads");
      invalid(() -> options.setDimension("n", -2), "'n' cannot be -2");
      assertThrows(OrtException.class, () -> options.addProvider("NoSuchProvider", Map.of()));
      invalid(() -> options.addDevices(List.of(), Map.of()), "no devices");
      assertThrows(OrtException.class, () -> options.registerCustomOps(Path.of("/no/such/library.so")));
    }
    invalid(() -> new DeviceSpec("Cpu", DeviceType.CPU, 0, -1, MemoryKind.DEFAULT, 0), "device id -1");
    invalid(() -> new DeviceSpec("Cpu", DeviceType.CPU, 0, 0, MemoryKind.DEFAULT, 3), "alignment 3");
    try (OrtValueRef one = OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, 1); OrtValueRef two = OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, 2)) {
      invalid(() -> env.copyTensors(List.of(), List.of(one), null), "0 tensors are to be copied into 1");
      invalid(() -> env.copyTensors(List.of(two), List.of(one), null), "tensor 0 is FLOAT[2]", "FLOAT[1]");
    }
  }

  @Test
  void placesWithoutAProviderOfTheSession() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = session.createBinding()) {
      invalid(() -> binding.bindOutputToDevice("z", DeviceSpec.cuda(0)), "output 'z' was to be allocated on Cuda (GPU 0), which no provider of the session drives");
      invalid(() -> binding.bindOutputToDevice("z", DeviceSpec.cudaPinned(0)), "CudaPinned", "no provider of the session drives");
      assertEquals(List.of(), binding.getBoundOutputNames());
    }
  }

  @Test
  void unalignedSegments() {
    MemorySegment memory = arena.allocate(64, 8);
    for (OnnxTensorElementType type : List.of(OnnxTensorElementType.FLOAT, OnnxTensorElementType.INT64, OnnxTensorElementType.FLOAT16, OnnxTensorElementType.DOUBLE)) {
      int wanted = Math.min(type.bits() / 8, 8);
      for (int offset = 1; offset < wanted; ++offset) {
        MemorySegment begin = memory.asSlice(offset);
        invalid(() -> OrtValueRef.wrap(env, begin, type, 2), "begins at address " + begin.address(), type + " needs a multiple of " + wanted, "copy into");
        // A tensor without elements needs no alignment.
        OrtValueRef.wrap(env, begin, type, 0).close();
      }
      OrtValueRef.wrap(env, memory.asSlice(wanted), type, 2).close();
    }
    OrtValueRef.wrap(env, memory.asSlice(3), OnnxTensorElementType.UINT8, 5).close();
  }

  @Test
  void shapesWithoutElements() {
    MemoryDescriptor none = new MemoryDescriptor(OnnxTensorElementType.FLOAT, 1L << 40, 1L << 40, 0);
    assertEquals(0, none.elements());
    assertEquals(0, none.bytes());
    invalid(() -> new MemoryDescriptor(OnnxTensorElementType.FLOAT, 0, -1), "negative extent");
    invalid(() -> new MemoryDescriptor(OnnxTensorElementType.FLOAT, 1L << 40, 1L << 40), "more elements than fit in memory");
  }

  @Test
  void namesAndOptionsWithAZero() {
    String[] words = {"contains U+0000", "would cut it"};
    try (SessionOptions options = SessionOptions.create(env); RunOptions run = RunOptions.create(env)) {
      invalid(() -> options.addConfigEntry("a\0b", "1"), words);
      invalid(() -> options.addConfigEntry("a", "1\0"), words);
      invalid(() -> options.configEntry("a\0b"), words);
      invalid(() -> options.setLogId("\0"), words);
      invalid(() -> options.setDimension("n\0", 4), words);
      invalid(() -> options.addProvider("CPU\0", Map.of()), words);
      invalid(() -> options.addProvider("XNNPACK", Map.of("intra_op\0", "1")), "the key of an option 'intra_op\u2400' contains U+0000");
      invalid(() -> run.addConfigEntry("a\0b", "1"), words);
      invalid(() -> run.setTag("\0"), words);
      invalid(() -> OrtEnvironmentFFM.create(API, new EnvironmentOptions("a\0", LogLevel.WARNING, null)), words);
      assertNull(options.configEntry("a"));
    }
  }
}
