package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests of memory of devices and of results there, as the design of this library has them. */
class NativeMemoryTest extends DeviceFixture {
  private static final long[] FOUR = {4};
  private static final MemoryDescriptor FLOATS = new MemoryDescriptor(FOUR, OnnxTensorElementType.FLOAT);

  @Test
  void pointersAndPinnedBuffers() {
    DeviceSpec pinned = device.memory(MemoryKind.HOST_ACCESSIBLE).orElseThrow();
    try (OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding(); Arena own = Arena.ofConfined()) {
      MemorySegment x = NativeMemory.pinned(session, pinned, 16, own);
      MemorySegment.copy(floats(1, 2, 3, 4), 0, x, 0, 16);
      MemorySegment y = NativeMemory.device(session, place, 16, own);
      assertNotEquals(0, y.address());
      assertThrows(IndexOutOfBoundsException.class, () -> y.get(ValueLayout.JAVA_FLOAT, 0));
      binding.bindInput("x", x, FOUR, OnnxTensorElementType.FLOAT, pinned);
      binding.bindOutput("y", y, FOUR, OnnxTensorElementType.FLOAT, place);
      loopback.reset();
      binding.runWithBindings();
      assertEquals(0, loopback.counts().fromDevice());
      try (OrtValues values = binding.getBoundOutputValues()) {
        assertEquals(y.address(), values.get("y").deviceAddress().address());
      }
      binding.copyOutputsToCpu();
      assertArrayEquals(new float[] {4, 7, 10, 13}, floats(binding.getBoundOutputCpuValues().get("y")));
      assertEquals(1, loopback.counts().fromDevice(), "one copy, which the views show");
      // The same memory by its address alone, as other native code would give it.
      binding.bindInput("x", x, pinned);
      binding.bindOutput("y", NativeMemory.devicePointer(y.address()), FOUR, OnnxTensorElementType.FLOAT, place);
      binding.run();
      assertArrayEquals(new float[] {4, 7, 10, 13}, floats(binding.getBoundOutputCpuValues().get("y")));
    }
  }

  /** A place that a program names finds the memory of the provider, whose vendor it does not know. */
  @Test
  void placesWithoutAVendor() {
    DeviceSpec named = new DeviceSpec("loopback", DeviceType.GPU, 0);
    try (OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(1, 2, 3, 4)) {
      binding.bindInput("x", x, named);
      binding.bindOutput("y", FOUR, OnnxTensorElementType.FLOAT, named);
      loopback.reset();
      binding.run();
      assertEquals(0, loopback.counts().toDevice() + loopback.counts().fromDevice());
      binding.bindOutputToDevice("y", named);
      try (OrtValues values = binding.runWithBindings()) {
        assertEquals(place, values.get("y").device());
        assertArrayEquals(new float[] {4, 7, 10, 13}, download(values.get("y")));
      }
      invalid(() -> binding.bindInput("x", x, DeviceSpec.CPU), "is on Loopback (GPU 0)", "not on Cpu (CPU 0)");
    }
  }

  @Test
  void copiesThatAreNotReadLeakNothing() {
    try (OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(1, 2, 3, 4)) {
      binding.bindInput("x", x);
      binding.bindOutputToDevice("y", place);
      binding.run();
      long before = LiveObjects.total();
      for (int i = 0; i < 1000; ++i) binding.copyOutputsToCpu();
      // The binding keeps the last copies, for getBoundOutputCpuValues.
      assertEquals(before + 1, LiveObjects.total());
      binding.runWithBindings();
      assertEquals(before, LiveObjects.total());
      for (int i = 0; i < 1000; ++i) {
        binding.runWithBindings();
        binding.copyOutputsToCpu();
      }
      binding.clearBoundOutputs();
      assertEquals(before, LiveObjects.total());
      long blocks = loopback.counts().alive();
      for (int i = 0; i < 1000; ++i) {
        try (Arena own = Arena.ofConfined()) {
          NativeMemory.device(session, place, 64, own);
        }
      }
      assertEquals(blocks, loopback.counts().alive());
    }
  }

  /** The copies are those of the moment of the call. */
  @Test
  void copiesAreMadeAtOnce() {
    try (OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(1, 2, 3, 4); OrtValueRef y = onDevice(4);
        OrtValueRef zero = OrtValueRef.ofFloats(env, new float[4], OnnxTensorElementType.FLOAT, 4)) {
      binding.bindInput("x", x);
      binding.bindOutput("y", y);
      binding.run();
      try (OrtValues copies = binding.copyOutputsToCpu()) {
        env.copyTensors(List.of(zero), List.of(y), null);
        assertArrayEquals(new float[] {4, 7, 10, 13}, copies.get("y").toFloats());
        assertArrayEquals(new float[] {4, 7, 10, 13}, floats(binding.getBoundOutputCpuValues().get("y")));
      }
      binding.copyOutputsToCpu();
      assertArrayEquals(new float[4], floats(binding.getBoundOutputCpuValues().get("y")));
      assertEquals(FLOATS, y.descriptor());
    }
  }
}
