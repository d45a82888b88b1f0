package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that objects that the program does not close are released when the garbage collector finds them. */
@Timeout(120)
class ForgottenTest extends Fixture {
  private static final long[] FOUR = {4};
  private static final int EACH = 20;

  private Map<ObjectKind, Long> before;

  @BeforeEach
  void count() {
    before = LiveObjects.counts();
  }

  /** Waits until objects are collected. Runs before the check for leaked objects, which does not wait. */
  @AfterEach
  void collected() throws Exception {
    for (int i = 0; i < 500 && !LiveObjects.counts().equals(before); ++i) {
      System.gc();
      Thread.sleep(10);
    }
    assertEquals(before, LiveObjects.counts());
  }

  private OrtIoBindingFFM bound(OrtSessionFFM session) {
    OrtIoBindingFFM binding = session.createBinding();
    // The arena of the segments becomes unreachable, too.
    Arena own = Arena.ofAuto();
    for (String input : List.of("x", "y")) binding.bindInput(input, own.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindOutputToDevice("z", DeviceSpec.CPU);
    return binding;
  }

  @Test
  void objectsOfEachKind() {
    for (int i = 0; i < EACH; ++i) {
      OrtEnvironmentFFM own = OrtEnvironmentFFM.create(API, EnvironmentOptions.DEFAULT);
      SessionOptions options = SessionOptions.create(own).setLogSink((level, category, id, at, text) -> { });
      OrtSessionFFM session = OrtSessionFFM.create(own, Models.add(4), options);
      OrtIoBindingFFM binding = bound(session);
      RunOptions run = RunOptions.create(API);
      assertEquals(8, binding.runWithBindings(run).get("z").toFloats()[3]);
      binding.getBoundOutputCpuValues();
      session.allocator(DeviceSpec.CPU).allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4)).asSegment();
      OrtValueRef text = OrtValueRef.ofStrings(own, new String[] {"a"}, 1);
      OrtValueRef.ofMap(own, text, OrtValueRef.ofFloats(own, new float[] {1}, OnnxTensorElementType.FLOAT, 1)).entries();
      OrtValueRef.ofSequence(own, List.of(text, text.retain())).elements();
    }
    assertTrue(LiveObjects.count(ObjectKind.SESSION) > 0);
  }

  @Test
  void runsInOtherThreads() throws Exception {
    OrtSessionFFM session = session(Models.add(4));
    for (int i = 0; i < EACH; ++i) {
      bound(session).runAsync(null, null);
      bound(session).runAsync(RunOptions.create(API), null).get();
    }
  }

  @Test
  void aBindingOutlivesItsForgottenSession() throws Exception {
    OrtIoBindingFFM binding = bound(session(Models.add(4)));
    for (int i = 0; i < 5; ++i) {
      System.gc();
      Thread.sleep(5);
      binding.run();
    }
    assertEquals(8, binding.getBoundOutputCpuValues().get("z").getAtIndex(ValueLayout.JAVA_FLOAT, 3));
  }

  @Test
  void optionsThatFailDuringConstruction() {
    for (int i = 0; i < EACH; ++i) {
      // This throws before the program could close the options.
      invalid(() -> SessionOptions.create(env).addDevices(List.of(), Map.of()));
      invalid(() -> SessionOptions.create(env).setIntraOpThreads(-1));
    }
  }
}
