package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of sessions of the official Java package, on the library that the package has loaded. */
@Tag("official")
class InteropTest {
  private static final long[] FOUR = {4};

  private static void bindAndRun(OrtIoBindingFFM binding, Arena arena) {
    MemorySegment z = arena.allocate(16, 4);
    for (String input : List.of("x", "y")) binding.bindInput(input, arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindOutput("z", z, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.run();
    assertEquals(8, z.getAtIndex(ValueLayout.JAVA_FLOAT, 3));
  }

  @Test
  void bothRunOnOneNativeSession() throws Exception {
    try (Arena arena = Arena.ofConfined(); ai.onnxruntime.OrtSession official = ai.onnxruntime.OrtEnvironment.getEnvironment().createSession(Models.add(4));
        OrtSessionFFM shared = OrtSessionFFM.createFromOrtSession(official); OrtIoBindingFFM binding = new OrtIoBindingFFM(official)) {
      assertEquals(List.copyOf(official.getInputNames()), shared.inputs().stream().map(ValueInfo::name).toList());
      assertNotEquals("unknown", shared.environment().api().versionString());
      bindAndRun(binding, arena);
      try (OrtIoBindingFFM other = shared.createBinding()) {
        bindAndRun(other, arena);
      }
      try (OrtValueRef x = OrtValueRef.ofFloats(shared.environment(), new float[] {1, 2, 3, 4}, OnnxTensorElementType.FLOAT, 4); OrtValues values = shared.run(Map.of("x", x, "y", x))) {
        assertEquals(8, values.get("z").toFloats()[3]);
      }
    }
    assertEquals(0, LiveObjects.count(ObjectKind.SESSION));
  }

  @Test
  void closedByItsOwner() throws Exception {
    ai.onnxruntime.OrtSession official = ai.onnxruntime.OrtEnvironment.getEnvironment().createSession(Models.add(4));
    try (Arena arena = Arena.ofConfined(); OrtIoBindingFFM binding = new OrtIoBindingFFM(official); OrtSessionFFM shared = OrtSessionFFM.createFromOrtSession(official)) {
      bindAndRun(binding, arena);
      official.close();
      Fixture.closed(binding::run, "OrtSession that this session shares is closed");
      Fixture.closed(shared::createBinding, "OrtSession that this session shares is closed");
      Fixture.closed(() -> OrtSessionFFM.createFromOrtSession(official), "OrtSession is closed");
    }
  }

  @Test
  void objectsOfTwoLibrariesDoNotMix() throws Exception {
    try (ai.onnxruntime.OrtSession official = ai.onnxruntime.OrtEnvironment.getEnvironment().createSession(Models.add(4));
        OrtSessionFFM shared = OrtSessionFFM.createFromOrtSession(official); OrtEnvironmentFFM own = OrtEnvironmentFFM.create();
        OrtValueRef x = OrtValueRef.allocate(own, OnnxTensorElementType.FLOAT, 4); OrtIoBindingFFM binding = shared.createBinding()) {
      boolean two = !own.api().table().equals(shared.environment().api().table());
      if (two) Fixture.invalid(() -> binding.bindInput("x", x), "objects of two libraries do not mix");
      else binding.bindInput("x", x);
      assertTrue(two || own.api().versionString().equals(shared.environment().api().versionString()));
    }
  }
}
