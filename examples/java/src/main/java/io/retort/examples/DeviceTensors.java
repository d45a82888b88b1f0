package io.retort.examples;

import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.EpDevice;
import io.retort.onnxruntime.MemoryDescriptor;
import io.retort.onnxruntime.MemoryKind;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtAllocatorFFM;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import io.retort.onnxruntime.OrtValueRef;
import io.retort.onnxruntime.SessionOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * Keeps tensors in the memory of a device: one upload, a hundred bound runs, one download, and the number of all
 * copies. Arguments: templates.onnx beside this project, and the library of the loopback provider
 * (examples/providers/loopback).
 */
public final class DeviceTensors {
  private DeviceTensors() {}

  // [policy]
  /** Prefers a device with memory of its own; without one, the session uses the processor. */
  private static List<EpDevice> preferDevice(List<EpDevice> devices) {
    return devices.stream().filter(device -> device.memory(MemoryKind.DEFAULT).isPresent()).limit(1).toList();
  }

  // [flow]
  private static void run(OrtEnvironmentFFM env, Path model, Path provider) {
    MemoryDescriptor in = new MemoryDescriptor(OnnxTensorElementType.FLOAT, 1, 64), out = new MemoryDescriptor(OnnxTensorElementType.FLOAT, 1, 10);
    try (Arena arena = Arena.ofConfined();
        SessionOptions options = SessionOptions.create(env).setEpSelector((devices, modelMetadata, runtimeMetadata, most) -> preferDevice(devices));
        OrtSessionFFM session = OrtSessionFFM.create(env, model, options); OrtIoBindingFFM binding = session.createBinding()) {
      DeviceSpec memory = session.inputDevices().get(0);
      System.out.println("the model reads " + memory.name() + ", driven by " + session.inputEpDevices().get(0).epName());
      MemorySegment image = arena.allocate(ValueLayout.JAVA_FLOAT, 64), probabilities = arena.allocate(ValueLayout.JAVA_FLOAT, 10);
      Digit.drawTwo(image, 0);
      LoopbackCounts.reset(provider);
      try (OrtAllocatorFFM allocator = session.allocator(memory); OrtValueRef x = allocator.allocate(in); OrtValueRef y = allocator.allocate(out);
          OrtValueRef from = OrtValueRef.wrap(env, image, in, DeviceSpec.CPU); OrtValueRef to = OrtValueRef.wrap(env, probabilities, out, DeviceSpec.CPU)) {
        env.copyTensors(List.of(from), List.of(x), null);
        binding.bindInput("image", x);
        binding.bindOutput("probabilities", y);
        for (int i = 0; i < 100; ++i) binding.run();
        binding.synchronizeOutputs();
        env.copyTensors(List.of(y), List.of(to), null);
      }
      LoopbackCounts counts = LoopbackCounts.of(provider);
      System.out.printf(Locale.ROOT, "100 runs: %d upload, %d download, %d copies on the device%n", counts.uploads(), counts.downloads(), counts.within());
      int best = Digit.bestOf(probabilities);
      System.out.printf(Locale.ROOT, "a %d (%.1f %%)%n", best, 100 * Digit.shade(probabilities, best));
    }
  }

  // [end]
  /**
   * Runs it.
   *
   * @param args the model and the provider
   */
  public static void main(String[] args) {
    Path provider = Path.of(args[1]).toAbsolutePath();
    try (OrtEnvironmentFFM env = OrtEnvironmentFFM.create()) {
      env.registerExecutionProviderLibrary("example", provider);
      run(env, Path.of(args[0]), provider);
      env.unregisterExecutionProviderLibrary("example");
    }
  }
}
