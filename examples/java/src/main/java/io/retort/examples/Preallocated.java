package io.retort.examples;

import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Locale;

/** Batches of changing size in memory for the largest. Argument: digits.onnx. */
public final class Preallocated {
  private static final long IMAGE = 4L * Digit.PIXELS;
  private static final long RESULT = 4L * Digit.CLASSES;

  private Preallocated() {}

  /**
   * Runs it.
   *
   * @param args the model
   */
  public static void main(String[] args) {
    try (Arena arena = Arena.ofConfined(); OrtEnvironmentFFM env = OrtEnvironmentFFM.create();
        OrtSessionFFM session = OrtSessionFFM.create(env, Path.of(args[0]), null); OrtIoBindingFFM binding = session.createBinding()) {
      // [bind]
      int most = 8;
      MemorySegment images = arena.allocate(most * IMAGE, 64), probabilities = arena.allocate(most * RESULT, 64);
      for (int i = 0; i < most; ++i) Digit.drawTwo(images.asSlice(i * IMAGE, IMAGE), i);
      for (int batch : new int[] {8, 3, 5}) {
        // The front of the same memory: binding a name again replaces what was bound to it.
        binding.bindInput("image", images, new long[] {batch, 1, 8, 8}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
        binding.bindOutput("probabilities", probabilities, new long[] {batch, 10}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
        binding.run();
        System.out.printf(Locale.ROOT, "batch of %d:", batch);
        for (int i = 0; i < batch; ++i) System.out.print(" " + Digit.bestOf(probabilities.asSlice(i * RESULT, RESULT)));
        System.out.println();
      }
      // [end]
    }
  }
}
