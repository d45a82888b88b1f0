package io.retort.onnxruntime;

import static io.retort.onnxruntime.testing.ModelBuilder.FLOAT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.retort.onnxruntime.testing.ModelBuilder;
import io.retort.onnxruntime.testing.Models;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of models that are compiled ahead of time. */
class CompilationTest extends Fixture {
  @TempDir Path folder;

  @BeforeEach
  void recent() {
    needs(23, "flags of a compilation");
  }

  private void adds(OrtSessionFFM session) {
    try (session; OrtValueRef x = tensor(floats(1, 2, 3, 4), 4); OrtValues values = session.run(Map.of("x", x, "y", x))) {
      assertArrayEquals(new float[] {2, 4, 6, 8}, values.get("z").toFloats());
    }
  }

  @Test
  void toAFileAndToBytes() throws Exception {
    Path model = Files.write(folder.resolve("add.onnx"), Models.add(4));
    Path to = folder.resolve("compiled.onnx");
    try (SessionOptions options = SessionOptions.create(env)) {
      try (ModelCompilation compilation = ModelCompilation.create(env, options)) {
        options.close();
        compilation.setInput(model).setEpContextEmbedMode(true).compile(to);
      }
      adds(OrtSessionFFM.create(env, to, null));
    }
    try (SessionOptions options = SessionOptions.create(env); ModelCompilation compilation = ModelCompilation.create(env, options)) {
      adds(session(compilation.setInput(Models.add(4)).compile()));
    }
    assertEquals(0, LiveObjects.count(ObjectKind.MODEL_COMPILATION));
  }

  @Test
  void mistakes() throws Exception {
    Path there = Files.write(folder.resolve("there.onnx"), new byte[1]);
    try (SessionOptions options = SessionOptions.create(env); ModelCompilation empty = ModelCompilation.create(env, options)) {
      assertThrows(OrtException.class, empty::compile);
      invalid(() -> empty.setExternalInitializers(Path.of("weights.bin"), -1), "-1 bytes");
      assertThrows(OrtException.class, () -> empty.setInput(Path.of("/no/such/model.onnx")).compile());
    }
    try (SessionOptions options = SessionOptions.create(env); ModelCompilation compilation = ModelCompilation.create(env, options)) {
      compilation.setInput(Models.add(4)).setErrors(false, true);
      assertThrows(OrtException.class, () -> compilation.compile(there));
      compilation.setErrors(true, false);
      assertThrows(OrtException.class, () -> compilation.compile(there));
      compilation.setErrors(false, false).compile(there);
      adds(OrtSessionFFM.create(env, there, null));
      compilation.close();
      closed(compilation::compile, "compilation is closed");
    }
  }

  /** No provider compiles here, so every mode gives the model again. */
  @Test
  void withoutWeights() {
    needs(32, "the mode of models without weights");
    for (WeightlessMode mode : WeightlessMode.values()) {
      try (SessionOptions options = SessionOptions.create(env); ModelCompilation compilation = ModelCompilation.create(env, options)) {
        adds(session(compilation.setInput(Models.add(4)).setWeightlessMode(mode).compile()));
      }
    }
  }

  @Test
  void weightsBesideTheModel() {
    Path to = folder.resolve("compiled.onnx");
    float[] weights = new float[64];
    weights[63] = 7;
    byte[] model = new ModelBuilder("weighted").input("x", FLOAT, 64).output("y", FLOAT, 64).floats("w", new long[] {64}, weights).node("Add", "x w", "y").bytes();
    try (SessionOptions options = SessionOptions.create(env); ModelCompilation compilation = ModelCompilation.create(env, options)) {
      compilation.setInput(model).setExternalInitializers(Path.of("weights.bin"), 128).compile(to);
      assertTrue(Files.exists(folder.resolve("weights.bin")));
      try (OrtSessionFFM session = OrtSessionFFM.create(env, to, null); OrtValueRef x = OrtValueRef.ofFloats(env, new float[64], OnnxTensorElementType.FLOAT, 64);
          OrtValues values = session.run(Map.of("x", x))) {
        assertArrayEquals(weights, values.get("y").toFloats());
      }
    }
  }
}
