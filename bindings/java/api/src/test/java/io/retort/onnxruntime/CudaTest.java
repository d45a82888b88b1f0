package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests on an NVIDIA GPU, with a provider that is built into the library, and with a plug-in provider that {@code
 * RETORT_CUDA} names or that is beside the library. Tests without a provider are skipped.
 */
@Timeout(300)
class CudaTest extends Fixture {
  private static final String BUILT_IN = "CUDAExecutionProvider";
  private static final String PLUG_IN = "cuda-of-tests";
  private static final long[] FOUR = {4};
  private static final float[] EXPECTED = {4, 7, 10, 13};
  private static final Models.DecoderSize SIZE = new Models.DecoderSize(2, 4, 16, 100);
  private static final int TOKENS = 16;

  private OrtSessionFFM builtIn(byte[] model) {
    assumeTrue(API.availableProviders().contains(BUILT_IN), "no CUDA: the library has no " + BUILT_IN);
    try (SessionOptions options = SessionOptions.create(env)) {
      options.addProvider(BUILT_IN, Map.of("device_id", "0"));
      return OrtSessionFFM.create(env, model, options);
    } catch (OrtException e) {
      assumeTrue(false, "no GPU that " + BUILT_IN + " can use: " + e.getMessage().lines().findFirst().orElse(""));
      return null;
    }
  }

  private static Optional<Path> plugIn() {
    String named = System.getenv("RETORT_CUDA");
    List<Path> files = named != null ? List.of(Path.of(named).toAbsolutePath())
        : List.of(API.libraryPath().resolveSibling("providers/libretort_cuda.so"), API.libraryPath().resolveSibling("libonnxruntime_providers_cuda.so"));
    return files.stream().filter(Files::isRegularFile).findFirst();
  }

  private void withDevice(Consumer<EpDevice> test) {
    Path library = plugIn().orElse(null);
    assumeTrue(library != null, "no CUDA: no providers/libretort_cuda.so beside the library (or RETORT_CUDA=FILE)");
    try {
      env.registerExecutionProviderLibrary(PLUG_IN, library);
    } catch (OrtException e) {
      assumeTrue(false, "no CUDA: the plug-in cannot be loaded: " + e.getMessage().lines().findFirst().orElse(""));
    }
    try {
      Optional<EpDevice> device = env.epDevices().stream().filter(d -> d.epName().toUpperCase().contains("CUDA")).findFirst();
      assumeTrue(device.isPresent(), "no GPU that the plug-in can use");
      test.accept(device.get());
    } finally {
      env.unregisterExecutionProviderLibrary(PLUG_IN);
    }
  }

  @Test
  void outputsOfTheBuiltInProviderStayOnTheGpu() {
    try (OrtSessionFFM session = builtIn(DeviceFixture.AFFINE); OrtIoBindingFFM binding = session.createBinding()) {
      MemorySegment y = floats(0, 0, 0, 0);
      binding.bindInput("x", floats(1, 2, 3, 4), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindOutputToDevice("y", DeviceSpec.cuda(0));
      try (OrtValues values = binding.runWithBindings()) {
        assertEquals(DeviceType.GPU, values.get("y").device().type());
        invalid(values.get("y")::asSegment, "host cannot read");
        binding.bindInput("x", values.get("y"));
      }
      binding.bindOutput("y", y, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.run();
      binding.synchronizeOutputs();
      assertArrayEquals(new float[] {13, 22, 31, 40}, floats(y));
    }
  }

  @Test
  void tensorsOfThePlugIn() {
    withDevice(device -> {
      DeviceSpec place = device.memory(MemoryKind.DEFAULT).orElseThrow();
      try (SessionOptions options = SessionOptions.create(env).addDevices(List.of(device), Map.of());
          OrtSessionFFM session = OrtSessionFFM.create(env, DeviceFixture.AFFINE, options); OrtIoBindingFFM binding = session.createBinding();
          OrtAllocatorFFM allocator = env.sharedAllocator(place); OrtValueRef x = allocator.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4));
          OrtValueRef host = OrtValueRef.ofFloats(env, new float[] {1, 2, 3, 4}, OnnxTensorElementType.FLOAT, 4); SyncStream stream = env.createSyncStream(device, Map.of())) {
        assertTrue(stream.nativeHandle().address() != 0);
        env.copyTensors(List.of(host), List.of(x), null);
        binding.bindInput("x", x.deviceAddress(), FOUR, OnnxTensorElementType.FLOAT, place);
        binding.bindOutputToDevice("y", place);
        for (int i = 0; i < 100; ++i) binding.run();
        try (OrtValues values = binding.getBoundOutputValues(); OrtValues copies = binding.copyOutputsToCpu()) {
          assertEquals(place, values.get("y").device());
          invalid(values.get("y")::toFloats, "host cannot reach");
          assertArrayEquals(EXPECTED, copies.get("y").toFloats());
        }
      }
    });
  }

  @Test
  void aDecoderWhoseCacheStaysOnTheGpu() {
    byte[] model = Models.decoder(SIZE);
    try (OrtSessionFFM session = builtIn(model); OrtSessionFFM onHost = session(model)) {
      List<float[]> logits = decode(session, DeviceSpec.cuda(0));
      List<float[]> expected = decode(onHost, DeviceSpec.CPU);
      // The GPU sums in a different order, and may round products to 10 bits.
      for (int i = 0; i < TOKENS; ++i) assertArrayEquals(expected.get(i), logits.get(i), 2e-2f, "token " + i);
    }
  }

  private List<float[]> decode(OrtSessionFFM session, DeviceSpec place) {
    List<float[]> logits = new ArrayList<>();
    MemorySegment ids = arena.allocate(ValueLayout.JAVA_LONG);
    MemorySegment out = arena.allocate(ValueLayout.JAVA_FLOAT, SIZE.vocabulary());
    try (OrtIoBindingFFM binding = session.createBinding(); OrtValueRef empty = OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, 1, SIZE.heads(), 0, SIZE.headSize())) {
      for (ValueInfo input : session.inputs()) {
        if (!input.name().equals("ids")) binding.bindInput(input.name(), empty);
      }
      for (int step = 0; step < TOKENS; ++step) {
        ids.set(ValueLayout.JAVA_LONG, 0, step * 17 % SIZE.vocabulary());
        binding.bindInput("ids", ids, new long[] {1, 1}, OnnxTensorElementType.INT64, DeviceSpec.CPU);
        for (ValueInfo output : session.outputs()) binding.bindOutputToDevice(output.name(), place);
        binding.bindOutput("logits", out, new long[] {1, 1, SIZE.vocabulary()}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
        try (OrtValues values = binding.runWithBindings()) {
          binding.synchronizeOutputs();
          logits.add(floats(out));
          values.forEach((name, value) -> {
            if (!name.equals("logits")) binding.bindInput(name.replace("present", "past"), value);
          });
        }
      }
    }
    return logits;
  }
}
