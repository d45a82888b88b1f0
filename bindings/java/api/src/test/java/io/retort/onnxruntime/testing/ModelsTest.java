package io.retort.onnxruntime.testing;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import io.retort.onnxruntime.OrtValueRef;
import io.retort.onnxruntime.OrtValues;
import io.retort.onnxruntime.ValueInfo;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Tests that the models of the tests are valid, and compute what their documentation says. */
class ModelsTest {
  private static final OrtEnvironmentFFM ENV = OrtEnvironmentFFM.create();

  @AfterAll
  static void close() {
    ENV.close();
  }

  private static OrtValueRef longs(Arena arena, long[] values, long... shape) {
    MemorySegment data = arena.allocateFrom(ValueLayout.JAVA_LONG, values);
    return OrtValueRef.wrap(ENV, data, OnnxTensorElementType.INT64, shape);
  }

  private static OrtValueRef floats(float[] values, long... shape) {
    return OrtValueRef.ofFloats(ENV, values, OnnxTensorElementType.FLOAT, shape);
  }

  private static float[] ramp(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (i * 7 % 11 - 5) * 0.125f;
    }
    return values;
  }

  @Test
  void commonModelsRunForAnyBatch() {
    Map<String, Map<String, long[]>> inputs = Map.of("mlp", Map.of("x", new long[] {0, 24}), "convolution", Map.of("x", new long[] {0, 3, 16, 16}),
        "normalised", Map.of("x", new long[] {0, 32}), "embedding", Map.of("ids", new long[] {0, 9}),
        "attention", Map.of("q", new long[] {0, 6, 8}, "k", new long[] {0, 7, 8}, "v", new long[] {0, 7, 8}));
    assertEquals(inputs.keySet(), Models.common().keySet());
    Models.common().forEach((name, model) -> {
      for (int batch : new int[] {1, 3}) {
        assertRuns(name, model, inputs.get(name), batch);
      }
    });
  }

  private static void assertRuns(String name, byte[] model, Map<String, long[]> inputs, int batch) {
    try (Arena arena = Arena.ofConfined(); OrtSessionFFM session = OrtSessionFFM.create(ENV, model, null)) {
      Map<String, OrtValueRef> values = new HashMap<>();
      inputs.forEach((input, dims) -> {
        long[] shape = dims.clone();
        shape[0] = batch;
        int count = 1;
        for (long d : shape) {
          count *= (int) d;
        }
        values.put(input, input.equals("ids") ? longs(arena, new long[count], shape) : floats(ramp(count), shape));
      });
      try (OrtValues results = session.run(values)) {
        float[] y = results.get("y").toFloats();
        assertEquals(batch, results.get("y").shape()[0], name);
        assertTrue(IntStream.range(0, y.length).allMatch(i -> Float.isFinite(y[i])), name);
      }
      values.values().forEach(OrtValueRef::close);
    }
  }

  @Test
  void addAndFreeSizesCompute() {
    try (OrtSessionFFM add = OrtSessionFFM.create(ENV, Models.add(2, "n"), null); OrtValueRef x = floats(new float[] {1, 2, 3, 4}, 2, 2);
        OrtValues sum = add.run(Map.of("x", x, "y", x))) {
      assertArrayEquals(new float[] {2, 4, 6, 8}, sum.get("z").toFloats());
    }
    try (OrtSessionFFM free = OrtSessionFFM.create(ENV, Models.freeSizes(), null); OrtValueRef a = floats(new float[] {1, 2, 3, 4}, 2, 2);
        OrtValueRef b = floats(new float[] {1, 0, 2, 0, 1, 5}, 2, 3); OrtValues results = free.run(Map.of("a", a, "b", b))) {
      assertArrayEquals(new float[] {1, 2, 12, 3, 4, 26}, results.get("product").toFloats());
      assertArrayEquals(new float[] {12, 26}, results.get("largest").toFloats());
    }
  }

  @Test
  void theDecoderKeepsItsCache() {
    Models.DecoderSize size = new Models.DecoderSize(2, 4, 8, 50);
    try (Arena arena = Arena.ofConfined(); OrtSessionFFM session = OrtSessionFFM.create(ENV, Models.decoder(size), null)) {
      assertEquals(5, session.inputs().size());
      Map<String, OrtValueRef> values = new HashMap<>();
      for (ValueInfo input : session.inputs()) {
        if (!input.name().equals("ids")) {
          values.put(input.name(), floats(ramp(4 * 3 * 8), 1, 4, 3, 8));
        }
      }
      values.put("ids", longs(arena, new long[] {7}, 1, 1));
      try (OrtValues results = session.run(values)) {
        assertArrayEquals(new long[] {1, 1, 50}, results.get("logits").shape());
        assertArrayEquals(new long[] {1, 4, 4, 8}, results.get("present_key.1").shape());
        float[] present = results.get("present_value.0").toFloats();
        float[] past = ramp(4 * 3 * 8);
        for (int head = 0; head < 4; head++) {
          assertArrayEquals(Arrays.copyOfRange(past, head * 24, head * 24 + 24), Arrays.copyOfRange(present, head * 32, head * 32 + 24));
        }
      }
      values.values().forEach(OrtValueRef::close);
    }
  }

  @Test
  void stringsAreJoined() {
    try (OrtSessionFFM session = OrtSessionFFM.create(ENV, Models.strings(), null); OrtValueRef first = OrtValueRef.ofStrings(ENV, new String[] {"a", "größer"}, 2);
        OrtValueRef second = OrtValueRef.ofStrings(ENV, new String[] {"", "als"}, 2); OrtValues results = session.run(Map.of("first", first, "second", second))) {
      assertEquals(List.of("a ", "größer als"), List.of(results.get("joined").strings()));
      assertEquals(List.of("a", "größer"), List.of(results.get("same").strings()));
    }
  }
}
