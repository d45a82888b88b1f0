package io.retort.examples;

import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.DeviceType;
import io.retort.onnxruntime.EpDevice;
import io.retort.onnxruntime.MemoryKind;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtApiFFM;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtErrorCode;
import io.retort.onnxruntime.OrtException;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import io.retort.onnxruntime.OrtValues;
import io.retort.onnxruntime.SessionOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Runs a model on a GPU, where results stay until they are copied. Arguments: a model of digits, and the library of a
 * plug-in provider, if that of CUDA is not to be used. Without a GPU, it says why in one sentence.
 */
public final class Gpu {
  private Gpu() {}

  // [choose]
  /** Adds a provider of a GPU to the options, and returns the GPU's memory. */
  private static DeviceSpec choose(OrtEnvironmentFFM env, SessionOptions options) {
    if (env.api().apiVersion() >= 23) {  // plug-in providers
      for (EpDevice device : env.epDevices()) {
        DeviceSpec memory = device.memory(MemoryKind.DEFAULT).orElse(DeviceSpec.CPU);
        if (memory.type() != DeviceType.GPU) continue;
        options.addDevices(List.of(device), Map.of());
        return memory;
      }
    }
    options.addProvider("CUDA", Map.of("device_id", "0"));  // that of the library, or installed beside it; throws if it has no GPU
    return new DeviceSpec("Cuda", DeviceType.GPU, 0);
  }
  // [end]

  // [run]
  private static void run(OrtSessionFFM session, DeviceSpec gpu) {
    try (Arena arena = Arena.ofConfined(); OrtIoBindingFFM binding = session.createBinding()) {
      MemorySegment image = arena.allocate(ValueLayout.JAVA_FLOAT, 64), probabilities = arena.allocate(ValueLayout.JAVA_FLOAT, 10);
      Digit.drawTwo(image, 0);
      binding.bindInput("image", image, DeviceSpec.CPU);  // copied to the GPU, once
      binding.bindOutputToDevice("probabilities", gpu);
      for (int i = 0; i < 99; ++i) binding.run();
      try (OrtValues values = binding.runWithBindings()) {
        System.out.println("the results of 100 runs stay on " + values.get("probabilities").device());
      }
      binding.bindOutput("probabilities", probabilities, new long[] {1, 10}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.run();
      binding.synchronizeOutputs();
      int best = Digit.bestOf(probabilities);
      System.out.printf(Locale.ROOT, "a %d (%.1f %%)%n", best, 100 * Digit.shade(probabilities, best));
    }
  }
  // [end]

  /**
   * Runs it.
   *
   * @param args the model, and the library of a provider or nothing
   */
  public static void main(String[] args) {
    try (OrtEnvironmentFFM env = OrtEnvironmentFFM.create(); SessionOptions options = SessionOptions.create(env)) {
      if (args.length > 1) env.registerExecutionProviderLibrary("gpu", Path.of(args[1]));
      DeviceSpec gpu = choose(env, options);
      try (OrtSessionFFM session = OrtSessionFFM.create(env, Path.of(args[0]), options)) {
        run(session, gpu);
      }
    } catch (OrtException e) {
      if (e.code() == OrtErrorCode.NO_SUCH_FILE) throw e;  // the model
      System.out.println("no GPU is used, because " + OrtApiFFM.get() + " says: " + e.getMessage().lines().findFirst().orElse(""));
    }
  }
}
