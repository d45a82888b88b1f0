package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests of values. */
class ValueTest extends Fixture {
  @Test
  void aTensorUsesItsSegmentInPlace() {
    MemorySegment memory = floats(1, 2, 3, 4, 5, 6, 7);
    try (OrtValueRef value = tensor(memory, 2, 3)) {
      assertEquals(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 2, 3), value.descriptor());
      assertEquals(memory.address(), value.asSegment().address());
      assertEquals(24, value.asSegment().byteSize());
      assertEquals(memory.address(), value.deviceAddress().address());
      assertEquals(DeviceSpec.CPU, value.device());
      assertEquals(ValueType.TENSOR, value.valueType());
      value.asFloatBuffer().put(0, 9);
      assertEquals(9, memory.get(ValueLayout.JAVA_FLOAT, 0));
    }
  }

  @Test
  void allTypesThroughTheLibrary() {
    for (OnnxTensorElementType type : List.of(OnnxTensorElementType.FLOAT, OnnxTensorElementType.DOUBLE, OnnxTensorElementType.INT8, OnnxTensorElementType.UINT8, OnnxTensorElementType.INT32, OnnxTensorElementType.INT64, OnnxTensorElementType.BOOL, OnnxTensorElementType.FLOAT16)) {
      try (OrtSessionFFM session = session(Models.identity(type, 3)); OrtValueRef x = OrtValueRef.allocate(env, type, 3)) {
        x.asByteBuffer().put(0, (byte) 1);
        try (OrtValues values = session.run(Map.of("x", x))) {
          assertEquals(new MemoryDescriptor(type, 3), values.get("y").descriptor());
          assertEquals(-1, x.asSegment().mismatch(values.get("y").asSegment()), type.toString());
        }
      }
    }
  }

  @Test
  void aViewWithAnArenaKeepsTheValueAlive() {
    MemorySegment view;
    try (Arena step = Arena.ofConfined()) {
      try (OrtSessionFFM session = session(Models.relu(3)); OrtValueRef x = tensor(floats(-1, 0, 1), 3); OrtValues values = session.run(Map.of("x", x))) {
        OrtValueRef y = values.get("y");
        view = y.asSegment(step);
        assertEquals(y.asSegment().address(), view.address());
        assertEquals(x.asSegment().address(), x.asSegment(step).address());
      }
      assertEquals(1, LiveObjects.count(ObjectKind.VALUE));
      assertArrayEquals(new float[] {0, 0, 1}, floats(view));
    }
    assertEquals(0, LiveObjects.count(ObjectKind.VALUE));
    closed(() -> floats(view));
    Arena over = Arena.ofConfined();
    over.close();
    try (OrtValueRef y = OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, 3)) {
      closed(() -> y.asSegment(over));
    }
    assertEquals(0, LiveObjects.count(ObjectKind.VALUE));
  }

  @Test
  void viewsOfEachType() {
    try (OrtValueRef longs = OrtValueRef.allocate(env, OnnxTensorElementType.INT64, 2); OrtValueRef ints = OrtValueRef.allocate(env, OnnxTensorElementType.UINT32, 2);
        OrtValueRef doubles = OrtValueRef.allocate(env, OnnxTensorElementType.DOUBLE, 2); OrtValueRef shorts = OrtValueRef.allocate(env, OnnxTensorElementType.BFLOAT16, 2)) {
      longs.asLongBuffer().put(1, 7);
      assertEquals(7, longs.asSegment().getAtIndex(ValueLayout.JAVA_LONG, 1));
      ints.asIntBuffer().put(1, 8);
      assertEquals(8, ints.asSegment().getAtIndex(ValueLayout.JAVA_INT, 1));
      doubles.asDoubleBuffer().put(1, 9);
      assertEquals(9, doubles.asSegment().getAtIndex(ValueLayout.JAVA_DOUBLE, 1));
      shorts.asShortBuffer().put(1, (short) 0x3f80);
      assertEquals(1, shorts.toFloats()[1]);
    }
  }

  @Test
  void halfFloats() {
    float[] numbers = {0, -0f, 1, -1.5f, 65504, 1e-7f, Float.POSITIVE_INFINITY, 3.14159f};
    for (OnnxTensorElementType type : List.of(OnnxTensorElementType.FLOAT, OnnxTensorElementType.FLOAT16, OnnxTensorElementType.BFLOAT16)) {
      try (OrtValueRef value = OrtValueRef.ofFloats(env, numbers, type, numbers.length)) {
        float[] back = value.toFloats();
        double most = type == OnnxTensorElementType.FLOAT ? 0 : type == OnnxTensorElementType.FLOAT16 ? 1.0 / 2048 : 1.0 / 256;
        for (int i = 0; i < numbers.length; ++i) {
          if (Math.abs(numbers[i]) < 1e-6 || Float.isInfinite(numbers[i])) assertEquals(numbers[i], back[i], 6e-8, type.toString());
          else assertEquals(numbers[i], back[i], most * Math.abs(numbers[i]), type.toString());
        }
      }
    }
    assertEquals((short) 0x3f80, HalfFloats.toBfloat16(1));
    // Ties go to even: 1 + 2^-8 is halfway between 1 and 1 + 2^-7.
    assertEquals((short) 0x3f80, HalfFloats.toBfloat16(Float.intBitsToFloat(0x3f808000)));
    assertEquals((short) 0x3f82, HalfFloats.toBfloat16(Float.intBitsToFloat(0x3f818000)));
    assertTrue(Float.isNaN(HalfFloats.fromBfloat16(HalfFloats.toBfloat16(Float.intBitsToFloat(0x7f800001)))));
  }

  @Test
  void texts() {
    String[] texts = {"", "plain", "ünïcödé ✓", "\ud83d\ude00"};
    try (OrtValueRef value = OrtValueRef.ofStrings(env, texts, 2, 2); OrtSessionFFM session = session(Models.identity(OnnxTensorElementType.STRING, 2, 2));
        OrtValues values = session.run(Map.of("x", value))) {
      assertArrayEquals(texts, value.strings());
      assertArrayEquals(texts, values.get("y").strings());
      assertArrayEquals(new long[] {2, 2}, values.get("y").shape());
    }
    try (OrtValueRef none = OrtValueRef.ofStrings(env, new String[0], 0)) {
      assertEquals(0, none.strings().length);
    }
  }

  @Test
  void sequencesAndMaps() {
    try (OrtSessionFFM session = OrtSessionFFM.create(env, MODELS.resolve("zipmap.onnx"), null); OrtValueRef x = tensor(floats(1, 2, 3, 4, 5, 6), 2, 3);
        OrtValues values = session.run(Map.of("x", x))) {
      OrtValueRef z = values.get("z");
      assertEquals(ValueType.SEQUENCE, z.valueType());
      invalid(z::descriptor, "SEQUENCE, not a TENSOR");
      List<OrtValueRef> maps = z.elements();
      assertEquals(2, maps.size());
      assertEquals(Map.of(10L, 4f, 20L, 5f, 30L, 6f), maps.get(1).entries());
      maps.forEach(OrtValueRef::close);
    }
  }

  @Test
  void sequencesAndMapsOfTheProgram() {
    try (OrtValueRef keys = OrtValueRef.ofStrings(env, new String[] {"a", "b"}, 2); OrtValueRef counts = OrtValueRef.allocate(env, OnnxTensorElementType.INT64, 2)) {
      counts.asLongBuffer().put(0, 3).put(1, 4);
      try (OrtValueRef map = OrtValueRef.ofMap(env, keys, counts)) {
        assertEquals(Map.of("a", 3L, "b", 4L), map.entries());
      }
    }
    OrtValueRef a = tensor(floats(1, 2), 2);
    OrtValueRef sequence = OrtValueRef.ofSequence(env, List.of(a, a));
    a.close();
    List<OrtValueRef> parts = sequence.elements();
    sequence.close();
    assertArrayEquals(new float[] {1, 2}, parts.get(1).toFloats());
    parts.forEach(OrtValueRef::close);
  }

  @Test
  void subByteElementsArePacked() {
    assertEquals(2, new MemoryDescriptor(OnnxTensorElementType.INT4, 3).bytes());
    assertEquals(1, new MemoryDescriptor(OnnxTensorElementType.UINT2, 4).bytes());
    assertEquals(0, new MemoryDescriptor(OnnxTensorElementType.FLOAT, 0, 5).bytes());
    assertEquals(4, new MemoryDescriptor(OnnxTensorElementType.FLOAT).bytes());
  }

  @Test
  void copies() {
    try (OrtValueRef from = tensor(floats(1, 2, 3), 3); OrtValueRef to = OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, 3)) {
      env.copyTensors(List.of(from), List.of(to), null);
      assertArrayEquals(new float[] {1, 2, 3}, to.toFloats());
      MemorySegment out = floats(0, 0, 0);
      to.copyFrom(floats(4, 5, 6));
      to.copyTo(out);
      assertArrayEquals(new float[] {4, 5, 6}, floats(out));
    }
  }

  @Test
  void valuesOfTheEnvironmentsAllocator() {
    try (OrtAllocatorFFM allocator = env.sharedAllocator(DeviceSpec.CPU)) {
      assertEquals(DeviceSpec.CPU, allocator.device());
      OrtValueRef value = allocator.allocate(new MemoryDescriptor(OnnxTensorElementType.INT32, 5));
      allocator.close();
      value.asIntBuffer().put(4, 1);
      value.close();
    }
  }

  @Test
  void outputsAreEmptyBeforeTheFirstRun() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = session.createBinding()) {
      binding.bindOutputToDevice("z", DeviceSpec.CPU);
      try (OrtValues values = binding.getBoundOutputValues()) {
        fails(OrtErrorCode.FAIL, () -> values.get("z").shape(), "value is empty");
      }
    }
  }

  @Test
  void valuesHaveDescriptions() {
    OrtValueRef value = OrtValueRef.ofFloats(env, new float[] {1, 2}, OnnxTensorElementType.FLOAT, 1, 2);
    assertEquals("FLOAT[1, 2] on Cpu (CPU 0)", value.toString());
    try (OrtValueRef sequence = OrtValueRef.ofSequence(env, List.of(value))) {
      assertEquals("SEQUENCE", sequence.toString());
    }
    value.close();
    assertEquals("value (closed)", value.toString());
    OrtEnvironmentFFM own = OrtEnvironmentFFM.create(API, EnvironmentOptions.DEFAULT);
    assertEquals("environment of " + API, own.toString());
    own.close();
    assertEquals("environment (closed)", own.toString());
  }

  @Test
  void mapsOfClosedMemoryAreErrors() {
    Arena own = Arena.ofShared();
    try (OrtValueRef keys = OrtValueRef.wrap(env, own.allocateFrom(ValueLayout.JAVA_LONG, 1, 2), OnnxTensorElementType.INT64, 2);
        OrtValueRef values = OrtValueRef.wrap(env, own.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2), OnnxTensorElementType.FLOAT, 2)) {
      try (OrtValueRef map = OrtValueRef.ofMap(env, keys, values)) {
        assertEquals(Map.of(1L, 1f, 2L, 2f), map.entries());
      }
      own.close();
      closed(() -> OrtValueRef.ofMap(env, keys, values), "a part of the MAP is in memory whose arena is closed");
    }
  }
}
