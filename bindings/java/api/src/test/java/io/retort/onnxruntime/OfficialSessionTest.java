package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxTensorLike;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession;
import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/**
 * Runs models on sessions of the official Java package, and on bindings to the same native sessions. Both must give the
 * same bytes. Runs on the package's own library and on the one that {@code onnxruntime.native.onnxruntime.path} names.
 */
@Tag("official")
@Tag("dropin")
@Timeout(120)
class OfficialSessionTest {
  private static final Models.DecoderSize SIZE = new Models.DecoderSize(2, 4, 8, 50);
  private static final int STEPS = 12;
  private static final String LIBRARY = System.getProperty("onnxruntime.native.onnxruntime.path");
  private static OrtEnvironment official;
  private static boolean there;

  private long before;

  @BeforeAll
  static void start() {
    there = LIBRARY == null || Files.exists(Path.of(LIBRARY));
    if (there) official = OrtEnvironment.getEnvironment();
  }

  @BeforeEach
  void count() throws Exception {
    assumeTrue(there, "no library for the official Java package (make build)");
    // Create the first session before counting, because the environment that the package and the binding share stays
    // open.
    try (OrtSession session = official.createSession(Models.add(4)); OrtSessionFFM first = OrtSessionFFM.createFromOrtSession(session)) {
      assertEquals(2, first.inputs().size());
    }
    before = LiveObjects.total();
  }

  @AfterEach
  void nothingIsLeft() {
    assertEquals(before, LiveObjects.total(), () -> LiveObjects.counts().toString());
  }

  private static float[] ramp(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; ++i) values[i] = (i * 7 % 23 - 11) * 0.0625f;
    return values;
  }

  /** Returns the first result of the package's own run. */
  private static float[] theirs(OrtSession session, Map<String, ? extends OnnxTensorLike> inputs, String output) throws Exception {
    try (OrtSession.Result result = session.run(inputs)) {
      FloatBuffer floats = ((OnnxTensor) result.get(output).orElseThrow()).getFloatBuffer();
      float[] values = new float[floats.remaining()];
      floats.get(values);
      return values;
    }
  }

  @Test
  void commonModels() throws Exception {
    Map<String, long[]> shapes = Map.of("mlp", new long[] {3, 24}, "convolution", new long[] {3, 3, 16, 16}, "normalised", new long[] {3, 32}, "embedding", new long[] {3, 9});
    for (var shape : shapes.entrySet()) {
      byte[] model = Models.common().get(shape.getKey());
      boolean ids = shape.getKey().equals("embedding");
      int count = (int) MemoryDescriptor.elements(shape.getValue());
      long[] whole = new long[count];
      Arrays.setAll(whole, i -> i * 13 % 100);
      try (Arena arena = Arena.ofConfined(); OrtSession session = official.createSession(model);
          OnnxTensor x = ids ? OnnxTensor.createTensor(official, LongBuffer.wrap(whole), shape.getValue()) : OnnxTensor.createTensor(official, FloatBuffer.wrap(ramp(count)), shape.getValue());
          OrtIoBindingFFM binding = new OrtIoBindingFFM(session)) {
        String name = session.getInputNames().iterator().next();
        MemorySegment data = ids ? arena.allocateFrom(ValueLayout.JAVA_LONG, whole) : arena.allocateFrom(ValueLayout.JAVA_FLOAT, ramp(count));
        binding.bindInput(name, data, shape.getValue(), ids ? OnnxTensorElementType.INT64 : OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
        binding.bindOutputToDevice("y", DeviceSpec.CPU);
        try (OrtValues values = binding.runWithBindings()) {
          assertArrayEquals(theirs(session, Map.of(name, x), "y"), values.get("y").toFloats(), shape.getKey());
        }
      }
    }
  }

  @Test
  void aDecoderWhoseCacheStaysBound() throws Exception {
    try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
      options.setIntraOpNumThreads(1);
      options.addConfigEntry("session.intra_op.allow_spinning", "0");
      try (OrtSession session = official.createSession(Models.decoder(SIZE), options)) {
        List<float[]> theirs = theirLoop(session);
        List<float[]> ours = ourLoop(session);
        for (int step = 0; step < STEPS; ++step) assertArrayEquals(theirs.get(step), ours.get(step), "step " + step);
        assertEquals(SIZE.vocabulary(), ours.get(STEPS - 1).length);
      }
    }
  }

  private static long token(int step) {
    return step * 17 % SIZE.vocabulary();
  }

  private static List<float[]> theirLoop(OrtSession session) throws Exception {
    List<float[]> logits = new ArrayList<>();
    Map<String, OnnxTensor> inputs = new HashMap<>();
    for (String name : session.getInputNames()) {
      if (!name.equals("ids")) inputs.put(name, OnnxTensor.createTensor(official, FloatBuffer.allocate(0), new long[] {1, SIZE.heads(), 0, SIZE.headSize()}));
    }
    for (int step = 0; step < STEPS; ++step) {
      inputs.put("ids", OnnxTensor.createTensor(official, LongBuffer.wrap(new long[] {token(step)}), new long[] {1, 1}));
      try (OrtSession.Result result = session.run(inputs)) {
        for (var output : result) {
          OnnxTensor value = (OnnxTensor) output.getValue();
          FloatBuffer copy = FloatBuffer.allocate(value.getFloatBuffer().remaining()).put(value.getFloatBuffer()).flip();
          if (output.getKey().equals("logits")) logits.add(copy.array());
          else inputs.put(output.getKey().replace("present", "past"), OnnxTensor.createTensor(official, copy, value.getInfo().getShape())).close();
        }
      }
      inputs.remove("ids").close();
    }
    inputs.values().forEach(OnnxTensor::close);
    return logits;
  }

  private static List<float[]> ourLoop(OrtSession session) {
    List<float[]> logits = new ArrayList<>();
    try (Arena arena = Arena.ofConfined(); OrtSessionFFM shared = OrtSessionFFM.createFromOrtSession(session); OrtIoBindingFFM binding = shared.createBinding()) {
      MemorySegment ids = arena.allocate(ValueLayout.JAVA_LONG);
      binding.bindInput("ids", ids, new long[] {1, 1}, OnnxTensorElementType.INT64, DeviceSpec.CPU);
      for (ValueInfo input : shared.inputs()) {
        if (input.name().equals("ids")) continue;
        try (OrtValueRef empty = OrtValueRef.allocate(shared.environment(), OnnxTensorElementType.FLOAT, 1, SIZE.heads(), 0, SIZE.headSize())) {
          binding.bindInput(input.name(), empty);
        }
      }
      for (int step = 0; step < STEPS; ++step) {
        ids.set(ValueLayout.JAVA_LONG, 0, token(step));
        for (ValueInfo output : shared.outputs()) binding.bindOutputToDevice(output.name(), DeviceSpec.CPU);
        try (OrtValues values = binding.runWithBindings()) {
          logits.add(values.get("logits").toFloats());
          values.forEach((name, value) -> {
            if (!name.equals("logits")) binding.bindInput(name.replace("present", "past"), value);
          });
        }
      }
    }
    return logits;
  }

  @Test
  void bindingsFailAfterTheOwnerClosesTheSession() throws Exception {
    OrtSession session = official.createSession(Models.add(4));
    OrtSessionFFM shared = OrtSessionFFM.createFromOrtSession(session);
    OrtEnvironmentFFM env = shared.environment();
    OrtIoBindingFFM binding = shared.createBinding();
    OrtValueRef x = OrtValueRef.ofFloats(env, new float[] {1, 2, 3, 4}, OnnxTensorElementType.FLOAT, 4);
    binding.bindInput("x", x);
    binding.bindInput("y", x);
    binding.bindOutputToDevice("z", DeviceSpec.CPU);
    OrtValues values = binding.runWithBindings();
    MemorySegment view = values.get("z").asSegment();
    session.close();
    for (Executable use : List.<Executable>of(binding::run, () -> binding.bindInput("x", x), binding::copyOutputsToCpu,
        binding::getBoundOutputValues, binding::getBoundOutputNames, binding::clearBoundInputs, () -> binding.bindOutputToDevice("z", DeviceSpec.CPU), binding::synchronizeOutputs,
        () -> shared.run(Map.of("x", x, "y", x)), shared::createBinding, shared::metadata, () -> shared.allocator(DeviceSpec.CPU), () -> new OrtIoBindingFFM(session))) {
      Fixture.closed(use, "OrtSession");
    }
    // Results and properties that were read before are still valid. The rest may be closed in any order.
    assertEquals(2, shared.inputs().size());
    assertArrayEquals(new float[] {2, 4, 6, 8}, values.get("z").toFloats());
    assertEquals(8, view.getAtIndex(ValueLayout.JAVA_FLOAT, 3));
    shared.close();
    binding.close();
    values.close();
    x.close();
  }

  @Test
  void bothBindingsRunAtTheSameTime() throws Exception {
    try (Arena arena = Arena.ofShared(); OrtSession session = official.createSession(Models.add(4)); OrtIoBindingFFM binding = new OrtIoBindingFFM(session);
        OnnxTensor x = OnnxTensor.createTensor(official, FloatBuffer.wrap(new float[] {1, 2, 3, 4}), new long[] {4})) {
      MemorySegment z = arena.allocate(16, 4);
      for (String input : List.of("x", "y")) binding.bindInput(input, arena.allocateFrom(ValueLayout.JAVA_FLOAT, 5, 6, 7, 8), new long[] {4}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindOutput("z", z, new long[] {4}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      CompletableFuture<Void> ours = CompletableFuture.runAsync(() -> {
        for (int i = 0; i < 5000; ++i) binding.run();
      });
      for (int i = 0; i < 2000; ++i) assertArrayEquals(new float[] {2, 4, 6, 8}, theirs(session, Map.of("x", x, "y", x), "z"));
      ours.get();
      assertArrayEquals(new float[] {10, 12, 14, 16}, z.toArray(ValueLayout.JAVA_FLOAT));
    }
  }

  @Test
  void manyBindingsOfManySessionsDoNotLeak() throws Exception {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment numbers = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4);
      for (int i = 0; i < 200; ++i) {
        // No try-with-resources for this session: closing it twice is an error in the package.
        OrtSession session = official.createSession(Models.add(4));
        try (OrtIoBindingFFM binding = new OrtIoBindingFFM(session)) {
          for (String input : List.of("x", "y")) binding.bindInput(input, numbers, new long[] {4}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
          binding.bindOutputToDevice("z", DeviceSpec.CPU);
          binding.runWithBindings().close();
          if (i % 2 == 0) session.close();
          if (i % 2 == 0) Fixture.closed(binding::run, "closed");
          else binding.run();
        }
        if (i % 2 == 1) session.close();
      }
    }
  }

  @Test
  void aSessionOnADevice() throws Exception {
    assumeTrue(Loopback.isThere(), "no loopback provider (make build, or RETORT_LOOPBACK=FILE)");
    OrtEnvironmentFFM env;
    try (OrtSession any = official.createSession(Models.add(4)); OrtSessionFFM shared = OrtSessionFFM.createFromOrtSession(any)) {
      env = shared.environment();
    }
    assumeTrue(env.api().apiVersion() >= 31, "the library of the package is older than the loopback provider");
    Loopback loopback = Loopback.register(env);
    try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
      options.addExecutionProvider(official.getEpDevices().stream().filter(d -> d.getEpName().equals("loopback")).toList(), Map.of());
      try (OrtSession session = official.createSession(DeviceFixture.AFFINE, options); OrtSessionFFM shared = OrtSessionFFM.createFromOrtSession(session);
          OrtIoBindingFFM binding = shared.createBinding(); OrtValueRef host = OrtValueRef.ofFloats(env, new float[] {1, 2, 3, 4}, OnnxTensorElementType.FLOAT, 4)) {
        DeviceSpec place = shared.inputDevices().get(0);
        binding.bindInput("x", host);
        loopback.reset();
        for (int i = 0; i < 20; ++i) {
          binding.bindOutputToDevice("y", place);
          try (OrtValues values = binding.runWithBindings()) {
            assertEquals(place, values.get("y").device());
            if (i < 19) binding.bindInput("x", values.get("y"));
          }
        }
        binding.synchronizeOutputs();
        assertTrue(loopback.counts().nothingCopied(), loopback.counts().toString());
        double expected = 1;
        for (int i = 0; i < 20; ++i) expected = 3 * expected + 1;
        assertEquals((float) expected, binding.getBoundOutputCpuValues().get("y").getAtIndex(ValueLayout.JAVA_FLOAT, 0), expected * 1e-5);
      }
    } finally {
      Loopback.unregister(env);
    }
  }
}
