package io.retort.onnxruntime;

import static io.retort.onnxruntime.testing.ModelBuilder.FLOAT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.retort.onnxruntime.testing.ModelBuilder;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of bound runs on a device. They count copies: only those that the program asked for are allowed. */
class DeviceBindingTest extends DeviceFixture {
  private static final long[] FOUR = {4};

  /** The number of constants of AFFINE. Each is copied to the device when the session is created. */
  private static final long CONSTANTS = 2;

  /** The output y of AFFINE for the inputs 1, 2, 3, 4. */
  private static final float[] EXPECTED = {4, 7, 10, 13};

  @Test
  void theSessionSaysWhereItReadsAndWrites() {
    try (OrtSessionFFM session = onDevice(AFFINE)) {
      assertEquals(List.of(place), session.inputDevices());
      assertEquals(List.of(place), session.outputDevices());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"value", "description", "place", "pointer"})
  void inputsAreUploadedOnceAndRunsCopyNothing(String bound) {
    try (OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(1, 2, 3, 4); OrtValueRef y = onDevice(4)) {
      binding.bindInput("x", x);
      assertEquals(CONSTANTS + 1, loopback.counts().toDevice(), "the constants, and one upload");
      switch (bound) {
        case "value" -> binding.bindOutput("y", y);
        case "description" -> binding.bindOutput("y", new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4), place);
        case "place" -> binding.bindOutputToDevice("y", place);
        default -> {
          binding.bindInput("x", x.deviceAddress(), FOUR, OnnxTensorElementType.FLOAT, place);
          binding.bindOutput("y", y.deviceAddress(), FOUR, OnnxTensorElementType.FLOAT, place);
        }
      }
      binding.run();
      binding.synchronizeOutputs();
      loopback.reset();
      for (int i = 0; i < 100; ++i) binding.run();
      binding.synchronizeOutputs();
      assertTrue(loopback.counts().nothingCopied(), loopback.counts().toString());
      assertEquals(400, loopback.counts().kernels());
      try (OrtValues values = binding.getBoundOutputValues(); OrtValues host = binding.copyOutputsToCpu()) {
        assertEquals(place, values.get("y").device());
        invalid(values.get("y")::asSegment, "host cannot read");
        assertEquals(DeviceSpec.CPU, host.get("y").device());
        assertArrayEquals(EXPECTED, host.get("y").toFloats());
      }
      assertEquals(1, loopback.counts().fromDevice(), "one download");
      assertEquals(0, loopback.counts().toDevice());
    }
  }

  @Test
  void outputsAreCopiedToMemoryOfTheProgramOncePerRun() {
    MemorySegment y = floats(0, 0, 0, 0);
    try (OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(1, 2, 3, 4)) {
      binding.bindInput("x", x);
      binding.bindOutput("y", y, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      loopback.reset();
      for (int i = 0; i < 5; ++i) binding.run();
      binding.synchronizeOutputs();
      assertArrayEquals(EXPECTED, floats(y));
      assertEquals(5, loopback.counts().fromDevice());
      assertEquals(0, loopback.counts().toDevice());
    }
  }

  @Test
  void anInputOnTheHostIsCopiedWhenItIsBound() {
    MemorySegment x = floats(1, 2, 3, 4);
    try (OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding()) {
      binding.bindInput("x", x, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.synchronizeInputs();
      assertEquals(CONSTANTS + 1, loopback.counts().toDevice());
      x.setAtIndex(ValueLayout.JAVA_FLOAT, 0, 100);
      binding.bindOutputToDevice("y", place);
      loopback.reset();
      for (int i = 0; i < 3; ++i) binding.run();
      assertTrue(loopback.counts().nothingCopied(), loopback.counts().toString());
      assertArrayEquals(EXPECTED, floats(binding.getBoundOutputCpuValues().get("y")));
      binding.bindInput("x", x, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.run();
      assertEquals(301, binding.getBoundOutputCpuValues().get("y").getAtIndex(ValueLayout.JAVA_FLOAT, 0));
    }
  }

  @Test
  void viewsOfCopiesEndWithTheNextRunAndOwnCopiesStay() {
    try (OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(1, 2, 3, 4)) {
      binding.bindInput("x", x);
      binding.bindOutputToDevice("y", place);
      binding.run();
      MemorySegment view = binding.getBoundOutputCpuValues().get("y");
      MemorySegment copy = binding.getBoundOutputCpuValues(arena).get("y");
      assertArrayEquals(EXPECTED, floats(copy));
      assertArrayEquals(EXPECTED, floats(view));
      MemorySegment again = binding.getBoundOutputCpuValues().get("y");
      assertArrayEquals(EXPECTED, floats(again));
      binding.run();
      closed(() -> again.get(ValueLayout.JAVA_FLOAT, 0));
      closed(() -> view.get(ValueLayout.JAVA_FLOAT, 0));
      assertArrayEquals(EXPECTED, floats(copy));
    }
  }

  @Test
  void resultsBecomeInputsWithoutCopies() {
    byte[] step = new ModelBuilder("step").input("x", FLOAT, 4).output("y", FLOAT, 4).floats("one", new long[] {1}, 1).node("Add", "x one", "y").bytes();
    try (OrtSessionFFM session = onDevice(step); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(0, 10, 20, 30)) {
      binding.bindInput("x", x);
      loopback.reset();
      for (int i = 0; i < 50; ++i) {
        binding.bindOutputToDevice("y", place);
        try (OrtValues values = binding.runWithBindings()) {
          binding.bindInput("x", values.get("y"));
        }
      }
      binding.synchronizeOutputs();
      assertTrue(loopback.counts().nothingCopied(), loopback.counts().toString());
      assertArrayEquals(new float[] {50, 60, 70, 80}, floats(binding.getBoundOutputCpuValues().get("y")));
    }
  }

  @Test
  void aCacheGrowsOnTheDevice() {
    try (OrtSessionFFM session = onDevice(CACHE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef empty = onDevice(0, 4)) {
      binding.bindInput("past", empty);
      loopback.reset();
      float[] sum = new float[4];
      for (int i = 0; i < 40; ++i) {
        float[] row = {i, i * 2, 1, -i};
        for (int j = 0; j < 4; ++j) sum[j] += row[j];
        binding.bindInput("x", floats(row), new long[] {1, 4}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
        binding.bindOutputToDevice("present", place);
        binding.bindOutput("sum", new MemoryDescriptor(OnnxTensorElementType.FLOAT, 1, 4), place);
        try (OrtValues values = binding.runWithBindings()) {
          assertArrayEquals(new long[] {i + 1, 4}, values.get("present").shape());
          assertEquals(place, values.get("present").device());
          assertArrayEquals(sum, download(values.get("sum")));
          binding.bindInput("past", values.get("present"));
        }
      }
      // Each step copies one row to the device and one sum to the host; the cache stays on the device.
      assertEquals(40, loopback.counts().toDevice());
      assertEquals(40, loopback.counts().fromDevice());
      assertEquals(0, loopback.counts().onDevice());
    }
  }

  @Test
  void unsupportedNodesRunOnTheHost() {
    byte[] mixed = new ModelBuilder("mixed").input("x", FLOAT, 4).output("y", FLOAT, 4).node("Add", "x x", "a").node("Sqrt", "a", "b").node("Mul", "b b", "y").bytes();
    try (OrtSessionFFM session = onDevice(mixed); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(2, 8, 18, 32)) {
      binding.bindInput("x", x);
      binding.bindOutputToDevice("y", place);
      loopback.reset();
      binding.run();
      binding.synchronizeOutputs();
      assertEquals(1, loopback.counts().fromDevice());
      assertEquals(1, loopback.counts().toDevice());
      assertArrayEquals(new float[] {4, 16, 36, 64}, floats(binding.getBoundOutputCpuValues().get("y")), 1e-4f);
    }
  }

  @Test
  void implicitCopiesAreRefusedOnRequest() {
    assumeTrue(RETORT, "session.disallow_implicit_copies is an option of Retort");
    byte[] mixed = new ModelBuilder("mixed").input("x", FLOAT, 4).output("y", FLOAT, 4).node("Add", "x x", "a").node("Sqrt", "a", "y").bytes();
    try (SessionOptions options = SessionOptions.create(env).addDevices(List.of(device), Map.of()).addConfigEntry("session.disallow_implicit_copies", "1")) {
      OrtException e = assertThrows(OrtException.class, () -> {
        try (OrtSessionFFM session = OrtSessionFFM.create(env, mixed, options); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(1, 2, 3, 4)) {
          binding.bindInput("x", x);
          binding.bindOutputToDevice("y", DeviceSpec.CPU);
          binding.run();
        }
      });
      assertTrue(e.getMessage().contains("disallow_implicit_copies"), e.getMessage());
    }
  }

  @Test
  void runsByNameTakeDeviceValuesAndReturnHostValues() {
    try (OrtSessionFFM session = onDevice(AFFINE); OrtValueRef x = uploaded(1, 2, 3, 4); OrtValues values = session.run(Map.of("x", x))) {
      assertEquals(DeviceSpec.CPU, values.get("y").device());
      assertArrayEquals(EXPECTED, values.get("y").toFloats());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"Compute", "Kernel", "Alloc", "OnRunEnd"})
  void aFailingRunDoesNotChangeTheBinding(String entry) {
    try (OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(1, 2, 3, 4)) {
      binding.bindInput("x", x);
      binding.bindOutputToDevice("y", place);
      loopback.failing(entry, () -> assertThrows(OrtException.class, () -> {
        binding.run();
        binding.synchronizeOutputs();
      }));
      binding.bindOutputToDevice("y", place);
      binding.run();
      assertArrayEquals(EXPECTED, floats(binding.getBoundOutputCpuValues().get("y")));
    }
  }

  @Test
  void inputsThatCannotBeCopiedAreNotBound() {
    try (OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(1, 2, 3, 4)) {
      binding.bindInput("x", x);
      binding.bindOutputToDevice("y", place);
      loopback.failing("CopyTensors", () -> assertThrows(OrtException.class, () -> binding.bindInput("x", floats(5, 5, 5, 5), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU)));
      // The earlier bindings are still in place.
      binding.run();
      loopback.failing("CopyTensors", () -> assertThrows(OrtException.class, binding::copyOutputsToCpu));
      loopback.failing("CopyTensors", () -> assertThrows(OrtException.class, binding::getBoundOutputCpuValues));
      assertArrayEquals(EXPECTED, floats(binding.getBoundOutputCpuValues().get("y")));
      loopback.failing("Alloc", () -> assertThrows(OrtException.class, () -> binding.bindOutput("y", new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4), place)));
      invalid(() -> binding.bindInput("x", x.deviceAddress(), new long[] {5}, OnnxTensorElementType.FLOAT, place), "FLOAT[4] was given FLOAT[5]");
      binding.run();
    }
  }

  @Test
  void runsWaitForASlowDevice() {
    try (OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(1, 2, 3, 4); OrtValueRef y = onDevice(4)) {
      binding.bindInput("x", x);
      binding.bindOutput("y", y);
      loopback.set("delay_us", "10000");
      binding.run();
      assertArrayEquals(EXPECTED, floats(binding.getBoundOutputCpuValues().get("y")));
    }
  }

  @Test
  void closedWhileTheDeviceRuns() throws Exception {
    OrtSessionFFM session = onDevice(AFFINE);
    OrtIoBindingFFM binding = session.createBinding();
    OrtValueRef x = uploaded(1, 2, 3, 4);
    binding.bindInput("x", x);
    binding.bindOutputToDevice("y", place);
    loopback.set("delay_us", "20000");
    CompletableFuture<OrtValues> run = binding.runAsync(null, null);
    Thread.sleep(20);
    x.close();
    binding.close();
    session.close();
    try (OrtValues values = run.get(); OrtValueRef y = values.get("y").retain()) {
      assertArrayEquals(EXPECTED, download(y));
    } catch (ExecutionException closedFirst) {
      assertTrue(closedFirst.getCause() instanceof IllegalStateException, String.valueOf(closedFirst.getCause()));
    }
  }

  @Test
  void theSelectorChoosesTheDevice() {
    try (SessionOptions options = SessionOptions.create(env).setEpSelector((all, model, runtime, most) -> all.stream().filter(d -> d.epName().equals("loopback")).toList());
        OrtSessionFFM session = OrtSessionFFM.create(env, AFFINE, options)) {
      assertEquals(List.of(place), session.inputDevices());
    }
    try (SessionOptions options = SessionOptions.create(env).addDevices(List.of(device), Map.of("claim", "Relu")); OrtSessionFFM session = OrtSessionFFM.create(env, AFFINE, options)) {
      assertEquals(List.of(DeviceSpec.CPU), session.inputDevices());
    }
    try (SessionOptions options = SessionOptions.create(env).addDevices(List.of(device), Map.of("style", "nothing"))) {
      assertThrows(OrtException.class, () -> OrtSessionFFM.create(env, AFFINE, options));
    }
  }

  @Test
  void aDeviceWithoutAProviderOfTheSession() {
    assumeFalse(RETORT, "Retort copies outputs to devices of all registered providers");
    // The environment has an allocator for the device, but that is not enough.
    MemoryDescriptor four = new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4);
    String[] words = {"on Loopback (GPU 0), which no provider of the session drives", "add its provider"};
    try (OrtSessionFFM session = session(AFFINE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef y = onDevice(4)) {
      invalid(() -> binding.bindOutput("y", y), words);
      invalid(() -> binding.bindOutput("y", four, place), words);
      invalid(() -> binding.bindOutput("y", y.deviceAddress(), FOUR, OnnxTensorElementType.FLOAT, place), words);
      invalid(() -> binding.bindOutputToDevice("y", place), words);
      invalid(() -> binding.bindOutputToDevice("y", device.memory(MemoryKind.HOST_ACCESSIBLE).orElseThrow()), "no provider of the session drives");
      invalid(() -> session.run(Map.of("x", y)), words);
      assertThrows(OrtException.class, () -> binding.bindInput("x", y));
    }
  }

  @Test
  void outputsOnADeviceWithoutNodes() {
    assumeTrue(RETORT, "ONNX Runtime writes to devices of the session's providers alone");
    try (OrtSessionFFM session = session(AFFINE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef y = onDevice(4); OrtValueRef x = uploaded(1, 2, 3, 4)) {
      binding.bindInput("x", x);
      binding.bindOutput("y", y);
      binding.run();
      assertArrayEquals(EXPECTED, download(y));
      binding.bindOutputToDevice("y", place);
      try (OrtValues values = binding.runWithBindings()) {
        assertEquals(place, values.get("y").device());
        assertArrayEquals(EXPECTED, download(values.get("y")));
      }
    }
  }

  @Test
  void theOtherDeviceAndPinnedMemory() {
    try (OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(1, 2, 3, 4)) {
      DeviceSpec second = Loopback.devices(env).get(1).memory(MemoryKind.DEFAULT).orElseThrow();
      if (!RETORT) invalid(() -> binding.bindOutputToDevice("y", second), "Loopback2 (GPU 1)");
      binding.bindInput("x", x);
      binding.bindOutputToDevice("y", device.memory(MemoryKind.HOST_ACCESSIBLE).orElseThrow());
      binding.run();
      binding.synchronizeOutputs();
      assertArrayEquals(EXPECTED, floats(binding.getBoundOutputCpuValues().get("y")));
    }
  }
}
