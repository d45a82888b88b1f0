package io.retort.examples;

import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.EpDevice;
import io.retort.onnxruntime.EpSelectionPolicy;
import io.retort.onnxruntime.MemoryDescriptor;
import io.retort.onnxruntime.MemoryKind;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtAllocatorFFM;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtException;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import io.retort.onnxruntime.OrtValueRef;
import io.retort.onnxruntime.SessionOptions;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Memory of the host that the device reads by itself ("pinned"), where there is a device. Argument: digits.onnx. */
public final class Pinned {
  private Pinned() {}

  // [allocator]
  /** For memory that the host writes and this device reads; ordinary memory if the device has no such memory. */
  private static OrtAllocatorFFM staging(OrtEnvironmentFFM env, EpDevice device) {
    Optional<DeviceSpec> pinned = device == null ? Optional.empty() : device.memory(MemoryKind.HOST_ACCESSIBLE);
    if (pinned.isEmpty()) return env.sharedAllocator(DeviceSpec.CPU);
    try {
      return env.sharedAllocator(pinned.get());
    } catch (OrtException none) {
      return env.createSharedAllocator(device, MemoryKind.HOST_ACCESSIBLE, Map.of());
    }
  }
  // [end]

  /**
   * Runs it.
   *
   * @param args the model
   */
  public static void main(String[] args) {
    try (OrtEnvironmentFFM env = OrtEnvironmentFFM.create();
        SessionOptions options = SessionOptions.create(env).setEpSelectionPolicy(EpSelectionPolicy.PREFER_GPU);
        OrtSessionFFM session = OrtSessionFFM.create(env, Path.of(args[0]), options); OrtAllocatorFFM memory = staging(env, session.inputEpDevices().get(0))) {
      System.out.printf(Locale.ROOT, "staged in %s memory%n", memory.device().equals(DeviceSpec.CPU) ? "ordinary" : "pinned");
      // [bind]
      try (OrtValueRef image = memory.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 1, 1, 8, 8));
          OrtValueRef probabilities = memory.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 1, 10)); OrtIoBindingFFM binding = session.createBinding()) {
        MemorySegment pixels = image.asSegment();
        binding.bindOutput("probabilities", probabilities);
        for (int down = 0; down < 3; ++down) {
          Digit.drawTwo(pixels, down);
          binding.bindInput("image", image);  // if it is ordinary memory, a device reads a copy, which is made here
          binding.run();
          binding.synchronizeOutputs();
          System.out.printf(Locale.ROOT, "moved down by %d: a %d%n", down, Digit.bestOf(probabilities.asSegment()));
        }
      }
      // [end]
    }
  }
}
