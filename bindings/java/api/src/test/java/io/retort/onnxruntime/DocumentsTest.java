package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.retort.onnxruntime.support.FfmSupport;
import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Programs as the design of this library has them, with its names and signatures. */
class DocumentsTest extends Fixture {
  private static final long[] FOUR = {4};
  private static final int CALLS = 1000;

  /** Returns a binding of z = x + y with inputs 1, 2, 3, 4 and 1, 1, 1, 1. */
  private OrtIoBindingFFM bound(OrtSessionFFM session) {
    DeviceSpec cpu = new DeviceSpec("Cpu", DeviceType.CPU, 0);
    OrtIoBindingFFM binding = new OrtIoBindingFFM(session);
    binding.bindInput("x", floats(1, 2, 3, 4), FOUR, OnnxTensorElementType.FLOAT, cpu);
    binding.bindInput("y", floats(1, 1, 1, 1), FOUR, OnnxTensorElementType.FLOAT, cpu);
    return binding;
  }

  @Test
  void inputsOfSegmentsAndOutputsByShape() {
    DeviceSpec device = new DeviceSpec("Cpu", DeviceType.CPU, 0);
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session)) {
      binding.bindOutput("z", new long[] {4}, OnnxTensorElementType.FLOAT, device);
      Map<String, OrtValueRef> outputs = binding.runWithBindings(new HashMap<String, String>());
      assertArrayEquals(new float[] {2, 3, 4, 5}, outputs.get("z").toFloats());
      outputs.get("z").close();
      binding.copyOutputsToCpu();
      Map<String, MemorySegment> values = binding.getBoundOutputCpuValues();
      assertArrayEquals(new float[] {2, 3, 4, 5}, floats(values.get("z")));
    }
  }

  @Test
  void outputsByDescriptorAndPlace() {
    DeviceSpec device = new DeviceSpec("Cpu", DeviceType.CPU, 0);
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session)) {
      binding.bindOutput("z", new MemoryDescriptor(new long[] {4}, OnnxTensorElementType.FLOAT), device);
      binding.runWithBindings();
      assertArrayEquals(new float[] {2, 3, 4, 5}, floats(binding.getBoundOutputCpuValues().get("z")));
      binding.bindOutputToDevice("z", device);
      try (OrtValues outputs = binding.runWithBindings(Map.of("memory.enable_memory_arena_shrinkage", "cpu:0"))) {
        assertEquals(device, outputs.get("z").device());
        assertArrayEquals(new float[] {2, 3, 4, 5}, outputs.get("z").toFloats());
      }
      try (OrtValues outputs = binding.getBoundOutputValues()) {
        assertEquals("{z=FLOAT[4] on Cpu (CPU 0)}", outputs.toString());
      }
    }
  }

  @Test
  void valuesAndBuffersByPlace() {
    DeviceSpec device = new DeviceSpec("cpu", DeviceType.CPU, 0);
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session); OrtValueRef one = OrtValueRef.ofFloats(env, new float[] {1, 1, 1, 1}, OnnxTensorElementType.FLOAT, 4)) {
      binding.bindOutputToDevice("z", device);
      FloatBuffer direct = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder()).asFloatBuffer().put(new float[] {10, 20, 30, 40}).flip();
      binding.bindInput("x", direct, device);
      binding.bindInput("y", one, device);
      binding.run();
      assertArrayEquals(new float[] {11, 21, 31, 41}, floats(binding.getBoundOutputCpuValues().get("z")));
      direct.put(0, 100);  // read in place
      binding.run();
      assertArrayEquals(new float[] {101, 21, 31, 41}, floats(binding.getBoundOutputCpuValues().get("z")));
      float[] heap = {0, 5, 6, 7, 8, 0};
      binding.bindInput("x", FloatBuffer.wrap(heap, 1, 4), device);
      heap[1] = 50;  // a copy was bound
      binding.run();
      assertArrayEquals(new float[] {6, 7, 8, 9}, floats(binding.getBoundOutputCpuValues().get("z")));
      binding.bindInput("x", floats(2, 2, 2, 2), device);
      binding.run();
      assertArrayEquals(new float[] {3, 3, 3, 3}, floats(binding.getBoundOutputCpuValues().get("z")));
    }
  }

  @Test
  void anOpenExtentFollowsFromTheSize() {
    try (OrtSessionFFM session = session(Models.add("n")); OrtIoBindingFFM binding = session.createBinding()) {
      for (int n : new int[] {3, 1, 5}) {
        binding.bindInput("x", FloatBuffer.wrap(new float[n]), DeviceSpec.CPU);
        binding.bindInput("y", floats(new float[n]), DeviceSpec.CPU);
        binding.bindOutputToDevice("z", DeviceSpec.CPU);
        try (OrtValues values = binding.runWithBindings()) {
          assertArrayEquals(new long[] {n}, values.get("z").shape());
        }
      }
      invalid(() -> binding.bindInput("x", arena.allocate(6, 4), DeviceSpec.CPU), "'x'", "needs a multiple of 4 bytes, and the buffer has 6");
    }
    try (OrtSessionFFM session = session(Models.add("n", "m")); OrtIoBindingFFM binding = session.createBinding()) {
      invalid(() -> binding.bindInput("x", floats(1, 2), DeviceSpec.CPU), "'x'", "FLOAT[n,m]", "leaves more than one extent open", "use bindInput with a shape");
    }
  }

  @Test
  void buffersThatDoNotFit() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef one = OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, 4)) {
      invalid(() -> binding.bindInput("x", LongBuffer.allocate(4), DeviceSpec.CPU), "was given a LongBuffer", "the element type of the model");
      invalid(() -> binding.bindInput("x", CharBuffer.allocate(4), DeviceSpec.CPU), "was given a CharBuffer");
      invalid(() -> binding.bindInput("x", FloatBuffer.allocate(3), DeviceSpec.CPU), "takes 16 bytes", "12");
      invalid(() -> binding.bindInput("w", FloatBuffer.allocate(4), DeviceSpec.CPU), "'w'");
      ByteOrder other = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN;
      invalid(() -> binding.bindInput("x", ByteBuffer.allocateDirect(16).order(other).asFloatBuffer(), DeviceSpec.CPU), "byte order", "nativeOrder()");
      invalid(() -> binding.bindInput("x", FloatBuffer.allocate(4), new DeviceSpec("Cuda", DeviceType.GPU, 0)), "buffers are in memory of the host");
      invalid(() -> binding.bindInput("x", one, new DeviceSpec("Cuda", DeviceType.GPU, 0)), "is on Cpu (CPU 0), not on Cuda (GPU 0)");
    }
  }

  @Test
  void placesByName() {
    assertEquals(DeviceSpec.CPU, new DeviceSpec("Cpu", DeviceType.CPU, 0));
    assertEquals(DeviceSpec.cuda(1), new DeviceSpec("cuda", DeviceType.GPU, 1));
    assertEquals(DeviceSpec.cudaPinned(0), new DeviceSpec("CudaPinned", DeviceType.GPU, 0));
    assertEquals("Other (NPU 2)", new DeviceSpec("Other", DeviceType.NPU, 2).toString());
    invalid(() -> new DeviceSpec("Cuda", DeviceType.CPU, 0), "'Cuda' of a CPU", "belongs to a GPU");
    invalid(() -> new DeviceSpec("Cpu", DeviceType.CPU, -1), "-1");
    assertEquals(new MemoryDescriptor(OnnxTensorElementType.INT64, 2, 3), new MemoryDescriptor(new long[] {2, 3}, OnnxTensorElementType.INT64));
  }

  /** Checks that many calls whose results the program does not read leave no native object. */
  private static void leavesNothing(String what, Runnable call) {
    long before = LiveObjects.total();
    for (int i = 0; i < CALLS; ++i) call.run();
    assertEquals(before, LiveObjects.total(), () -> what + " left native objects: " + LiveObjects.counts());
  }

  @Test
  void resultsThatAreNotReadLeakNothing() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session)) {
      binding.bindOutputToDevice("z", DeviceSpec.CPU);
      binding.run();
      leavesNothing("copyOutputsToCpu", () -> binding.copyOutputsToCpu());
      leavesNothing("runWithBindings", () -> binding.runWithBindings());
      leavesNothing("runWithBindings with options", () -> binding.runWithBindings(Map.of()));
      leavesNothing("getBoundOutputValues", () -> binding.getBoundOutputValues());
      leavesNothing("a run and a copy", () -> {
        binding.runWithBindings();
        binding.copyOutputsToCpu();
      });
    }
  }

  @Test
  void resultsAreReadBeforeTheNextRunOrEnd() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session)) {
      binding.bindOutputToDevice("z", DeviceSpec.CPU);
      OrtValues read = binding.runWithBindings();
      OrtValues ignored = binding.getBoundOutputValues();
      OrtValues copies = binding.copyOutputsToCpu();
      assertEquals(1, read.size());
      binding.bindInput("y", floats(2, 2, 2, 2), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      OrtValues next = binding.runWithBindings();
      for (Executable use : new Executable[] {() -> ignored.get("z"), ignored::size, copies::isEmpty}) closed(use, "these results have ended", "read the first of them before that");
      if (RETORT) assertArrayEquals(new float[] {2, 3, 4, 5}, read.get("z").toFloats());
      assertArrayEquals(new float[] {3, 4, 5, 6}, next.get("z").toFloats());
      OrtValues bound = binding.getBoundOutputValues();
      binding.bindOutput("z", new MemoryDescriptor(FOUR, OnnxTensorElementType.FLOAT), DeviceSpec.CPU);
      closed(() -> bound.get("z"), "these results have ended");
      OrtValues last = binding.getBoundOutputValues();
      OrtValues given = binding.getBoundOutputValues();
      given.close();
      closed(() -> given.get("z"), "the results are closed");
      binding.close();
      closed(() -> last.get("z"), "I/O binding is closed");
      read.close();
      next.close();
      assertEquals(0, LiveObjects.count(ObjectKind.VALUE));
    }
  }

  @Test
  void thisJavaIsSupported() {
    assertEquals(Optional.empty(), FfmSupport.unavailable());
    FfmSupport.require();
    assertEquals(API.libraryPath(), new OrtApiFFM().libraryPath());
  }

  // The methods of OrtApiFFM, with pointers.

  @Test
  void bindingsByPointers() {
    OrtApiFFM ort = OrtApiFFM.get();
    try (OrtSessionFFM session = session(Models.add(4)); OrtValueRef x = tensor(floats(1, 2, 3, 4), 4); OrtValueRef y = tensor(floats(1, 1, 1, 1), 4)) {
      MemorySegment ioBindingPtr = ort.createOrtIoBinding(session.nativePointer());
      MemorySegment deviceInfoPtr = ort.memoryInfo(new DeviceSpec("Cpu", DeviceType.CPU, 0));
      ort.bindInputToDevice(ioBindingPtr, "x", x.nativePointer(), deviceInfoPtr);
      ort.bindInputToDevice(ioBindingPtr, "y", y.nativePointer(), MemorySegment.NULL);
      ort.bindOutput(ioBindingPtr, "z", OnnxTensorElementType.FLOAT, new long[] {4}, deviceInfoPtr);
      ort.runWithIoBinding(ioBindingPtr);
      MemorySegment outArrayPtr = arena.allocate(ValueLayout.ADDRESS, 1);
      assertEquals(1, ort.getBoundOutputValues(ioBindingPtr, outArrayPtr));
      MemorySegment z = outArrayPtr.get(ValueLayout.ADDRESS, 0);
      MemorySegment data = ort.pointer(out -> ort.c.getTensorMutableData(z, out));
      assertArrayEquals(new float[] {2, 3, 4, 5}, floats(io.retort.onnxruntime.ffm.Memory.view(data, 16)));
      assertEquals(3, LiveObjects.count(ObjectKind.VALUE));
      ort.releaseOrtValue(z);
      assertEquals(1, LiveObjects.count(ObjectKind.IO_BINDING));
      ort.releaseOrtIoBinding(ioBindingPtr);
      assertEquals(0, LiveObjects.count(ObjectKind.IO_BINDING));
    }
  }

  @Test
  void mistakesWithPointers() {
    OrtApiFFM ort = OrtApiFFM.get();
    OrtSessionFFM session = session(Models.add(4));
    // Official ONNX Runtime cannot bind any more after an unknown name, so that binding is another one.
    MemorySegment wrong = ort.createOrtIoBinding(session.nativePointer());
    MemorySegment binding = ort.createOrtIoBinding(session.nativePointer());
    MemorySegment cpu = ort.memoryInfo(DeviceSpec.CPU);
    try (OrtValueRef x = tensor(floats(1, 2, 3, 4), 4)) {
      invalid(() -> ort.createOrtIoBinding(MemorySegment.NULL), "the session is NULL");
      invalid(() -> ort.bindInputToDevice(binding, "x", MemorySegment.NULL, cpu), "the value is NULL");
      invalid(() -> ort.bindInputToDevice(binding, "x", x.nativePointer(), ort.memoryInfo(DeviceSpec.cuda(0))), "'x' is not in the memory that was given");
      assertTrue(fails(() -> ort.bindInputToDevice(wrong, "w", x.nativePointer(), cpu)).getMessage().contains("w"));
      fails(() -> ort.bindOutput(binding, "z", OnnxTensorElementType.FLOAT, FOUR, ort.memoryInfo(DeviceSpec.cuda(0))));
      fails(() -> ort.runWithIoBinding(binding));
      ort.bindInputToDevice(binding, "x", x.nativePointer(), cpu);
      ort.bindInputToDevice(binding, "y", x.nativePointer(), cpu);
      ort.bindOutput(binding, "z", OnnxTensorElementType.FLOAT, FOUR, cpu);
      ort.runWithIoBinding(binding);
      invalid(() -> ort.getBoundOutputValues(binding, arena.allocate(4)), "the array has 4 bytes, 1 pointers take 8");
    }
    ort.releaseOrtIoBinding(wrong);
    ort.releaseOrtIoBinding(binding);
    for (Executable use : new Executable[] {() -> ort.runWithIoBinding(binding), () -> ort.releaseOrtIoBinding(binding), () -> ort.getBoundOutputValues(binding, arena.allocate(8))})
      invalid(use, "no binding has the address", "createOrtIoBinding");
    session.close();
    closed(session::nativePointer, "session is closed");
  }

  private static OrtException fails(Executable call) {
    return org.junit.jupiter.api.Assertions.assertThrows(OrtException.class, call);
  }

  @Test
  void aBindingOfAnArena() {
    OrtApiFFM ort = OrtApiFFM.get();
    try (OrtSessionFFM session = session(Models.add(4))) {
      for (int i = 0; i < CALLS; ++i) {
        try (Arena scope = Arena.ofConfined()) {
          MemorySegment binding = ort.createIoBinding(session.nativePointer(), scope);
          ort.bindOutput(binding, "z", OnnxTensorElementType.FLOAT, FOUR, ort.memoryInfo(DeviceSpec.CPU));
          if (i % 2 == 0) ort.releaseOrtIoBinding(binding);
        }
      }
      assertEquals(0, LiveObjects.count(ObjectKind.IO_BINDING));
      // A binding that was released does not release another one, which may have its address.
      MemorySegment other;
      try (Arena scope = Arena.ofConfined()) {
        ort.releaseOrtIoBinding(ort.createIoBinding(session.nativePointer(), scope));
        other = ort.createOrtIoBinding(session.nativePointer());
      }
      assertEquals(1, LiveObjects.count(ObjectKind.IO_BINDING));
      ort.releaseOrtIoBinding(other);
      Arena ended = Arena.ofConfined();
      ended.close();
      closed(() -> ort.createIoBinding(session.nativePointer(), ended));
      assertEquals(0, LiveObjects.count(ObjectKind.IO_BINDING));
    }
  }

  @Test
  void memoryOfTheHost() {
    try (OrtSessionFFM session = session(Models.add(4)); OrtIoBindingFFM binding = bound(session)) {
      try (Arena own = Arena.ofConfined()) {
        MemorySegment z = NativeMemory.pinned(session, DeviceSpec.CPU, 16, own);
        assertEquals(16, z.byteSize());
        binding.bindOutput("z", z, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
        binding.run();
        assertArrayEquals(new float[] {2, 3, 4, 5}, floats(z));
      }
      closed(binding::run, "arena");
      invalid(() -> NativeMemory.pinned(session, DeviceSpec.cuda(0), 16, arena), "use NativeMemory.device");
      invalid(() -> NativeMemory.device(session, DeviceSpec.CPU, 16, arena), "use NativeMemory.pinned");
      fails(() -> NativeMemory.device(session, DeviceSpec.cuda(0), 16, arena));
      invalid(() -> NativeMemory.devicePointer(0), "address of device memory is 0");
      assertEquals(0, NativeMemory.devicePointer(4096).byteSize());
    }
  }
}
