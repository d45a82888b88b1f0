package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Repeats binding, running and closing, and checks that memory does not grow and no object is left. */
@Tag("stress")
@Timeout(300)
class LeakTest extends Fixture {
  private static final long[] FOUR = {4};
  private static final float[] NUMBERS = {1, 2, 3, 4};

  private SessionOptions options;
  private OrtSessionFFM session;
  private OrtSessionFFM texts;
  private OrtValueRef y;
  private MemorySegment x;
  private MemorySegment z;

  @BeforeEach
  void load() {
    options = SessionOptions.create(env).setIntraOpThreads(1);
    session = OrtSessionFFM.create(env, Models.add(4), options);
    texts = OrtSessionFFM.create(env, Models.identity(OnnxTensorElementType.STRING, "n"), options);
    y = tensor(floats(NUMBERS), 4);
    x = floats(NUMBERS);
    z = floats(0, 0, 0, 0);
  }

  @AfterEach
  void unload() {
    for (NativeObject one : List.of(session, texts, y, options)) one.close();
  }

  private OrtIoBindingFFM bound() {
    OrtIoBindingFFM binding = session.createBinding();
    bind(binding);
    return binding;
  }

  private void bind(OrtIoBindingFFM binding) {
    binding.bindInput("x", x, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindInput("y", y);
    binding.bindOutput("z", z, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
  }

  @Test
  void successfulRuns() {
    ResidentMemory.staysFlat("successful runs", this::cycle);
  }

  private void cycle(int i) {
    try (OrtIoBindingFFM binding = bound()) {
      binding.run();
      switch (i % 8) {
        case 0 -> result(binding);
        case 1 -> binding.bindOutput("z", new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4), DeviceSpec.CPU);
        case 2 -> inOwnArena(binding, Arena.ofConfined());
        case 3 -> named();
        case 4 -> withOptions(binding);
        case 5 -> cleared(binding);
        default -> { }
      }
      rarely(i, binding);
      bind(binding);
      binding.run();
    }
  }

  /** Does what takes longer, or waits for other threads. */
  private void rarely(int i, OrtIoBindingFFM binding) {
    switch (i % 256) {
      case 7, 135 -> compound();
      case 15 -> copied(binding);
      case 23 -> binding.getBoundOutputCpuValues();
      case 31 -> inOwnArena(binding, Arena.ofShared());
      case 39 -> later(binding);
      case 47 -> makeSession();
      case 55 -> allocate();
      default -> { }
    }
  }

  private void result(OrtIoBindingFFM binding) {
    binding.bindOutputToDevice("z", DeviceSpec.CPU);
    try (OrtValues values = binding.runWithBindings(); OrtValues again = binding.getBoundOutputValues(); OrtValueRef kept = values.get("z").retain()) {
      assertEquals(2, kept.toFloats()[0]);
      assertEquals(List.of("z"), List.copyOf(again.keySet()));
    }
  }

  private void copied(OrtIoBindingFFM binding) {
    try (Arena own = Arena.ofConfined()) {
      assertEquals(16, binding.getBoundOutputCpuValues(own).get("z").byteSize());
    }
  }

  private void cleared(OrtIoBindingFFM binding) {
    binding.clearBoundInputs();
    binding.clearBoundOutputs();
    assertEquals(List.of(), binding.getBoundOutputNames());
  }

  private void inOwnArena(OrtIoBindingFFM binding, Arena own) {
    try (own) {
      binding.bindInput("y", own.allocateFrom(ValueLayout.JAVA_FLOAT, NUMBERS), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.run();
    }
  }

  private void named() {
    try (OrtValueRef own = OrtValueRef.ofFloats(env, NUMBERS, OnnxTensorElementType.FLOAT, 4); OrtValues values = session.run(Map.of("x", y, "y", own))) {
      assertEquals(FOUR[0], values.get("z").shape()[0]);
    }
  }

  private void withOptions(OrtIoBindingFFM binding) {
    try (RunOptions run = RunOptions.create(API)) {
      binding.run(run.setTag("cycle").addConfigEntry("some.key", "1"));
    }
  }

  private void compound() {
    try (OrtValueRef text = OrtValueRef.ofStrings(env, new String[] {"a", "a text that is too long for a small string"}, 2); OrtValues values = texts.run(Map.of("x", text));
        OrtValueRef sequence = OrtValueRef.ofSequence(env, List.of(y, y))) {
      assertEquals("a", values.get("y").strings()[0]);
      sequence.elements().forEach(OrtValueRef::close);
    }
  }

  private void later(OrtIoBindingFFM binding) {
    try (Arena own = Arena.ofShared()) {
      for (String name : List.of("x", "y")) binding.bindInput(name, own.allocateFrom(ValueLayout.JAVA_FLOAT, NUMBERS), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindOutputToDevice("z", DeviceSpec.CPU);
      binding.runAsync(null, null).join().close();
    }
  }

  private void makeSession() {
    try (OrtSessionFFM other = OrtSessionFFM.create(env, Models.add(4), options)) {
      assertEquals(2, other.inputs().size());
      other.metadata();
    }
  }

  private void allocate() {
    try (OrtAllocatorFFM allocator = session.allocator(DeviceSpec.CPU); OrtValueRef value = allocator.allocate(new MemoryDescriptor(OnnxTensorElementType.DOUBLE, 3))) {
      assertEquals(24, value.asSegment().byteSize());
    }
  }
}
