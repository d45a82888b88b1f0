package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.function.Executable;

/**
 * The base of most tests: has an environment of the library under test, and checks that each test leaves as many native
 * objects as it found.
 */
abstract class Fixture {
  static final OrtApiFFM API = OrtApiFFM.get();
  static final boolean RETORT = API.buildInfo().contains("Retort");
  static final Path MODELS = Path.of(System.getProperty("retort.abi", System.getenv().getOrDefault("RETORT_ABI", "../../../abi"))).resolve("../tests/clients/data");

  private long before;
  OrtEnvironmentFFM env;
  Arena arena;

  @BeforeEach
  void open() {
    before = LiveObjects.total();
    env = OrtEnvironmentFFM.create(API, EnvironmentOptions.DEFAULT);
    arena = Arena.ofConfined();
  }

  @AfterEach
  void nothingIsLeft() {
    arena.close();
    env.close();
    assertEquals(before, LiveObjects.total(), () -> "native objects: " + LiveObjects.counts());
  }

  /** Skips a test that needs a newer library. */
  static void needs(int version, String what) {
    assumeTrue(API.apiVersion() >= version, what + " came with ONNX Runtime 1." + version);
  }

  OrtSessionFFM session(byte[] model) {
    return OrtSessionFFM.create(env, model, null);
  }

  MemorySegment floats(float... values) {
    return arena.allocateFrom(ValueLayout.JAVA_FLOAT, values);
  }

  OrtValueRef tensor(MemorySegment floats, long... shape) {
    return OrtValueRef.wrap(env, floats, OnnxTensorElementType.FLOAT, shape);
  }

  static float[] floats(MemorySegment segment) {
    return segment.toArray(ValueLayout.JAVA_FLOAT);
  }

  /** Checks that a call fails with this code, and that its message contains these words. */
  static OrtException fails(OrtErrorCode code, Executable call, String... words) {
    OrtException e = assertThrows(OrtException.class, call);
    assertEquals(code, e.code(), e.getMessage());
    for (String word : words) assertTrue(e.getMessage().contains(word), () -> "'" + word + "' is not in: " + e.getMessage());
    return e;
  }

  static OrtException invalid(Executable call, String... words) {
    return fails(OrtErrorCode.INVALID_ARGUMENT, call, words);
  }

  static IllegalStateException closed(Executable call, String... words) {
    IllegalStateException e = assertThrows(IllegalStateException.class, call);
    for (String word : words) assertTrue(e.getMessage().contains(word), () -> "'" + word + "' is not in: " + e.getMessage());
    return e;
  }
}
