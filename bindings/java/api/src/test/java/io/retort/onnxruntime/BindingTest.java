package io.retort.onnxruntime;

import static io.retort.onnxruntime.testing.ModelBuilder.FLOAT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.retort.onnxruntime.testing.ModelBuilder;
import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import javax.management.MBeanException;
import javax.management.ObjectName;
import javax.management.ReflectionException;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Tests of bound runs. */
class BindingTest extends Fixture {
  private static final long[] FOUR = {4};

  private OrtIoBindingFFM bound(OrtSessionFFM session, MemorySegment x, MemorySegment y, MemorySegment z) {
    OrtIoBindingFFM binding = session.createBinding();
    binding.bindInput("x", x, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindInput("y", y, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    if (z != null) binding.bindOutput("z", z, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    return binding;
  }

  @Test
  void eachRunReadsAndWritesMemoryOfTheProgram() {
    MemorySegment x = floats(1, 2, 3, 4);
    MemorySegment z = floats(0, 0, 0, 0);
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session, x, floats(10, 20, 30, 40), z)) {
      binding.run();
      assertArrayEquals(new float[] {11, 22, 33, 44}, floats(z));
      x.setAtIndex(ValueLayout.JAVA_FLOAT, 0, 100);
      binding.run();
      assertArrayEquals(new float[] {110, 22, 33, 44}, floats(z));
    }
  }

  @Test
  void resultsByName() {
    MemorySegment z = floats(0, 0, 0, 0);
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session, floats(1, 2, 3, 4), floats(1, 1, 1, 1), z)) {
      try (OrtValues values = binding.runWithBindings()) {
        assertEquals(List.of("z"), List.copyOf(values.keySet()));
        assertEquals(z.address(), values.get("z").asSegment().address());
        assertArrayEquals(new float[] {2, 3, 4, 5}, values.get("z").toFloats());
      }
      assertEquals(List.of("z"), binding.getBoundOutputNames());
    }
  }

  @Test
  void allocatedOutputsLiveAsLongAsTheirReference() {
    MemorySegment view;
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session, floats(1, 2, 3, 4), floats(1, 1, 1, 1), null)) {
      binding.bindOutputToDevice("z", DeviceSpec.CPU);
      OrtValues values = binding.runWithBindings();
      OrtValueRef z = values.get("z").retain();
      values.close();
      binding.close();
      session.close();
      view = z.asSegment();
      assertArrayEquals(new float[] {2, 3, 4, 5}, floats(view));
      assertEquals(5, z.asFloatBuffer().get(3));
      assertEquals(DeviceSpec.CPU, z.device());
      z.close();
      closed(() -> view.get(ValueLayout.JAVA_FLOAT, 0));
      closed(z::asSegment, "value is closed");
    }
  }

  @Test
  void viewsOfOutputsEndWithTheNextRunAndCopiesStay() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session, floats(1, 2, 3, 4), floats(1, 1, 1, 1), null)) {
      binding.bindOutputToDevice("z", DeviceSpec.CPU);
      binding.run();
      Map<String, MemorySegment> copies = binding.getBoundOutputCpuValues(arena);
      Map<String, MemorySegment> views = binding.getBoundOutputCpuValues();
      assertArrayEquals(new float[] {2, 3, 4, 5}, floats(views.get("z")));
      binding.run();
      closed(() -> views.get("z").get(ValueLayout.JAVA_FLOAT, 0));
      assertArrayEquals(new float[] {2, 3, 4, 5}, floats(copies.get("z")));
      try (OrtValues host = binding.copyOutputsToCpu()) {
        assertArrayEquals(new float[] {2, 3, 4, 5}, host.get("z").toFloats());
      }
    }
  }

  @Test
  void anOutputWithADescriptorIsAllocatedOnce() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session, floats(1, 2, 3, 4), floats(1, 1, 1, 1), null)) {
      binding.bindOutput("z", new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4), DeviceSpec.CPU);
      binding.run();
      long first = binding.getBoundOutputCpuValues().get("z").address();
      binding.run();
      assertEquals(first, binding.getBoundOutputCpuValues().get("z").address());
    }
  }

  @Test
  void valuesArePassedFromRunToRun() {
    MemorySegment x = floats(1, 1, 1, 1);
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session, x, floats(0, 0, 0, 0), null)) {
      for (int step = 1; step <= 5; ++step) {
        binding.bindOutputToDevice("z", DeviceSpec.CPU);
        try (OrtValues values = binding.runWithBindings()) {
          assertEquals(step, values.get("z").toFloats()[0]);
          binding.bindInput("y", values.get("z"));
        }
      }
    }
  }

  @Test
  void shapesThatChange() {
    try (OrtSessionFFM session = session(Models.add("n")); OrtIoBindingFFM binding = session.createBinding()) {
      for (int n = 1; n <= 4; ++n) {
        MemorySegment x = floats(new float[n]);
        x.fill((byte) 0);
        binding.bindInput("x", x, new long[] {n}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
        binding.bindInput("y", x, new long[] {n}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
        binding.bindOutputToDevice("z", DeviceSpec.CPU);
        try (OrtValues values = binding.runWithBindings()) {
          assertArrayEquals(new long[] {n}, values.get("z").shape());
        }
      }
    }
  }

  @Test
  void anOutputThatIsAnInputDoesNotOutliveTheArena() {
    byte[] model = new ModelBuilder("through").input("x", FLOAT, 4).node("Relu", "x", "y").output("x", FLOAT, 4).output("y", FLOAT, 4).bytes();
    try (OrtSessionFFM session = session(model)) {
      OrtValues values;
      try (Arena own = Arena.ofShared()) {
        try (OrtValueRef x = tensor(own.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4), 4)) {
          values = session.run(Map.of("x", x));
        }
        assertArrayEquals(new float[] {1, 2, 3, 4}, values.get("x").toFloats());
      }
      try (values) {
        try {
          assertArrayEquals(new float[] {1, 2, 3, 4}, values.get("x").toFloats());
        } catch (IllegalStateException shared) {
          assertTrue(!RETORT, "Retort allocates separate memory for such an output");
        }
      }
    }
  }

  @Test
  void clearingReleasesWhatOnlyTheBindingHeld() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session, floats(1, 2, 3, 4), floats(1, 1, 1, 1), floats(0, 0, 0, 0))) {
      assertEquals(3, LiveObjects.count(ObjectKind.VALUE));
      binding.clearBoundInputs();
      assertEquals(1, LiveObjects.count(ObjectKind.VALUE));
      binding.clearBoundOutputs();
      assertEquals(0, LiveObjects.count(ObjectKind.VALUE));
      assertEquals(List.of(), binding.getBoundOutputNames());
      binding.synchronizeInputs();
      binding.synchronizeOutputs();
    }
  }

  @Test
  void manyArenasAtOnce() {
    try (Arena a = Arena.ofShared(); Arena b = Arena.ofShared(); Arena c = Arena.ofShared(); OrtSessionFFM session = session(Models.add(4));
        OrtIoBindingFFM binding = session.createBinding()) {
      MemorySegment z = c.allocate(16, 4);
      binding.bindInput("x", a.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindInput("y", b.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindOutput("z", z, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.run();
      assertArrayEquals(new float[] {2, 4, 6, 8}, floats(z));
      binding.bindInput("y", a.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 1, 1, 1), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.run();
      assertArrayEquals(new float[] {2, 3, 4, 5}, floats(z));
      try (OrtValueRef x = tensor(a.allocateFrom(ValueLayout.JAVA_FLOAT, 5, 5, 5, 5), 4); OrtValueRef y = tensor(b.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 1, 1, 1), 4);
          OrtValues values = session.run(Map.of("x", x, "y", y))) {
        assertArrayEquals(new float[] {6, 6, 6, 6}, values.get("z").toFloats());
      }
    }
  }

  @Test
  void aBoundRunAllocatesNothing() throws Exception {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session, floats(1, 2, 3, 4), floats(1, 1, 1, 1), floats(0, 0, 0, 0))) {
      long least = Long.MAX_VALUE;
      // Repeat until the JIT compiler is done.
      for (int round = 0; round < 40 && least > 0; ++round) {
        long before = allocated();
        for (int i = 0; i < 10000; ++i) binding.run();
        least = Math.min(least, (allocated() - before) / 10000);
      }
      assertEquals(0, least, "bytes per run");
    }
  }

  /** Returns the number of bytes that this thread has allocated on the heap, including some hundred for this call. */
  private static long allocated() throws Exception {
    Object[] thread = {Thread.currentThread().threadId()};
    try {
      return (Long) ManagementFactory.getPlatformMBeanServer().invoke(new ObjectName("java.lang:type=Threading"), "getThreadAllocatedBytes", thread, new String[] {"long"});
    } catch (ReflectionException | MBeanException e) {
      Assumptions.abort("this Java does not count what threads allocate: " + e);
      return 0;
    }
  }
}
