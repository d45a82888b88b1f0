package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.retort.onnxruntime.testing.Models;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Tests of threads that sessions share. Each test creates its own environment: a process has one per library, and the
 * options of the first one apply.
 */
class GlobalThreadsTest {
  private static final OrtApiFFM API = OrtApiFFM.get();

  private static EnvironmentOptions with(GlobalThreads threads, LogSink sink) {
    return new EnvironmentOptions("threads", LogLevel.WARNING, sink, threads);
  }

  private static void runs(EnvironmentOptions environment) {
    try (OrtEnvironmentFFM env = OrtEnvironmentFFM.create(API, environment); SessionOptions options = SessionOptions.create(env).disablePerSessionThreads();
        OrtSessionFFM session = OrtSessionFFM.create(env, Models.add(4), options); OrtValueRef x = OrtValueRef.ofFloats(env, new float[] {1, 2, 3, 4}, OnnxTensorElementType.FLOAT, 4);
        OrtValues values = session.run(Map.of("x", x, "y", x))) {
      assertArrayEquals(new float[] {2, 4, 6, 8}, values.get("z").toFloats());
    }
  }

  @Test
  void sessionsUseTheThreadsOfTheEnvironment() {
    assumeTrue(LiveObjects.count(ObjectKind.ENVIRONMENT) == 0, "another test left an environment");
    runs(with(new GlobalThreads(2, 1, false, true), null));
    runs(with(new GlobalThreads(0, 0, true, false), (level, category, id, at, text) -> {}));
    assertEquals(0, LiveObjects.total());
  }

  @Test
  void sessionsFailIfTheEnvironmentHasNoThreads() {
    assumeTrue(LiveObjects.count(ObjectKind.ENVIRONMENT) == 0, "another test left an environment");
    Fixture.fails(OrtErrorCode.FAIL, () -> runs(EnvironmentOptions.DEFAULT), "hread");
  }

  @Test
  void negativeNumbers() {
    Fixture.invalid(() -> new GlobalThreads(-1, 0, true, false), "-1 threads for an operator");
    Fixture.invalid(() -> new GlobalThreads(0, -2, true, false), "-2 threads for branches");
  }
}
