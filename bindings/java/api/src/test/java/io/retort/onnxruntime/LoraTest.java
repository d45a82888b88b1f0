package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests that adapters supply the inputs that the program does not give. */
class LoraTest extends Fixture {
  private static final Path STATE = MODELS.resolve("state.onnx_adapter");

  @BeforeEach
  void recent() {
    needs(20, "adapters");
  }

  private float[] step(RunOptions options) {
    try (OrtSessionFFM session = OrtSessionFFM.create(env, MODELS.resolve("step.onnx"), null); OrtValueRef x = tensor(floats(1, 1, 1, 1), 4);
        OrtValues values = session.run(Map.of("x", x), session.outputs().stream().map(ValueInfo::name).filter("state_out"::equals).toList(), options)) {
      return values.get("state_out").toFloats();
    }
  }

  @Test
  void anAdapterSuppliesAnInput() throws Exception {
    float[] fromFile;
    try (RunOptions options = RunOptions.create(env)) {
      try (LoraAdapter adapter = LoraAdapter.create(env, STATE)) {
        options.addActiveLoraAdapter(adapter).addActiveLoraAdapter(adapter);
      }
      // The options keep the adapter alive.
      assertEquals(1, LiveObjects.count(ObjectKind.LORA_ADAPTER));
      fromFile = step(options);
      assertArrayEquals(fromFile, step(options));
    }
    assertEquals(0, LiveObjects.count(ObjectKind.LORA_ADAPTER));
    try (RunOptions options = RunOptions.create(env); LoraAdapter adapter = LoraAdapter.create(env, Files.readAllBytes(STATE))) {
      assertArrayEquals(fromFile, step(options.addActiveLoraAdapter(adapter)));
    }
    try (RunOptions options = RunOptions.create(env)) {
      assertThrows(OrtException.class, () -> step(options));
    }
  }

  @Test
  void boundRuns() {
    MemorySegment y = floats(0, 0, 0, 0);
    try (RunOptions options = RunOptions.create(env); LoraAdapter adapter = LoraAdapter.create(env, STATE); OrtValueRef x = tensor(floats(1, 1, 1, 1), 4);
        OrtSessionFFM session = OrtSessionFFM.create(env, MODELS.resolve("step.onnx"), null); OrtIoBindingFFM binding = session.createBinding()) {
      options.addActiveLoraAdapter(adapter);
      binding.bindInput("x", x);
      binding.bindOutput("state_out", y, new long[] {4}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      if (RETORT) {
        binding.run(options);
        assertArrayEquals(step(options), floats(y));
      } else {
        assertThrows(OrtException.class, () -> binding.run(options));
      }
    }
  }

  @Test
  void mistakes() {
    assertThrows(OrtException.class, () -> LoraAdapter.create(env, Path.of("/no/such.onnx_adapter")));
    assertThrows(OrtException.class, () -> LoraAdapter.create(env, new byte[3]));
    LoraAdapter gone = LoraAdapter.create(env, STATE);
    gone.close();
    try (RunOptions options = RunOptions.create(env)) {
      closed(() -> options.addActiveLoraAdapter(gone), "adapter is closed");
      try (LoraAdapter wrong = LoraAdapter.create(env, MODELS.resolve("double_state.onnx_adapter"))) {
        options.addActiveLoraAdapter(wrong);
        assertThrows(OrtException.class, () -> step(options));
      }
    }
  }
}
