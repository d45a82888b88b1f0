package io.retort.examples;

import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.DeviceType;
import io.retort.onnxruntime.EpSelectionPolicy;
import io.retort.onnxruntime.MemoryDescriptor;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtAllocatorFFM;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import io.retort.onnxruntime.OrtValueRef;
import io.retort.onnxruntime.SessionOptions;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * Keeps tensors on the device where the model runs, without naming a provider or vendor: one upload, 100 runs, one
 * download. Arguments: digits.onnx [library of a provider].
 */
public final class AnyDevice {
  private AnyDevice() {}

  private static void tell(OrtSessionFFM session) {
    if (session.inputDevices().get(0).type() == DeviceType.CPU) System.out.println("no device with a provider here: the processor runs the model");
    else System.out.printf(Locale.ROOT, "vendor 0x%04x runs the model%n", session.inputEpDevices().get(0).hardware().vendorId());
  }

  // [place]
  /** Copies one tensor to another place, on any device or within the host. */
  private static void copy(OrtEnvironmentFFM env, OrtValueRef from, OrtValueRef to) {
    env.copyTensors(List.of(from), List.of(to), null);
  }
  // [end]

  private static void run(OrtEnvironmentFFM env, Path model) {
    // [flow]
    MemoryDescriptor in = new MemoryDescriptor(OnnxTensorElementType.FLOAT, 1, 1, 8, 8), out = new MemoryDescriptor(OnnxTensorElementType.FLOAT, 1, 10);
    try (SessionOptions options = SessionOptions.create(env).setEpSelectionPolicy(EpSelectionPolicy.PREFER_GPU);
        OrtSessionFFM session = OrtSessionFFM.create(env, model, options); OrtIoBindingFFM binding = session.createBinding();
        OrtAllocatorFFM inputs = session.allocator(session.inputDevices().get(0)); OrtAllocatorFFM outputs = session.allocator(session.outputDevices().get(0));
        OrtAllocatorFFM host = env.sharedAllocator(DeviceSpec.CPU); OrtValueRef image = host.allocate(in); OrtValueRef result = host.allocate(out);
        OrtValueRef deviceImage = inputs.allocate(in); OrtValueRef deviceResult = outputs.allocate(out)) {
      tell(session);  // its vendor id, known only now
      binding.bindInput("image", deviceImage);  // there already: nothing is copied, now or in a run
      binding.bindOutput("probabilities", deviceResult);

      Digit.drawTwo(image.asSegment(), 0);
      copy(env, image, deviceImage);  // one upload
      for (int i = 0; i < 100; ++i) binding.run();
      binding.synchronizeOutputs();
      copy(env, deviceResult, result);  // one download
      MemorySegment probabilities = result.asSegment();
      int best = Digit.bestOf(probabilities);
      System.out.printf(Locale.ROOT, "100 runs: a %d (%.1f %%)%n", best, 100 * Digit.shade(probabilities, best));
    }
    // [end]
  }

  /**
   * Runs it.
   *
   * @param args the model, and a library of providers to load
   */
  public static void main(String[] args) {
    try (OrtEnvironmentFFM env = OrtEnvironmentFFM.create()) {
      if (args.length > 1) env.registerExecutionProviderLibrary("provider", Path.of(args[1]));
      run(env, Path.of(args[0]));
      if (args.length > 1) env.unregisterExecutionProviderLibrary("provider");
    }
  }
}
