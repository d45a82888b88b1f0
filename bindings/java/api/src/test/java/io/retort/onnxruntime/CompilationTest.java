package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.retort.onnxruntime.testing.Models;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Models that are compiled ahead of their use. */
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

  @Test
  void weightsBesideTheModel() {
    Path to = folder.resolve("compiled.onnx");
    try (SessionOptions options = SessionOptions.create(env); ModelCompilation compilation = ModelCompilation.create(env, options)) {
      compilation.setInput(MODELS.resolve("dense.onnx")).setExternalInitializers(Path.of("weights.bin"), 32).compile(to);
      assertTrue(Files.exists(folder.resolve("weights.bin")));
      OrtSessionFFM.create(env, to, null).close();
    }
  }
}
