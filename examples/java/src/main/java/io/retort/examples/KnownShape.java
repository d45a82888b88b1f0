package io.retort.examples;

import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Locale;

/** The shape of the output is known: it is written where the program reads it, run after run. Argument: digits.onnx. */
public final class KnownShape {
  private KnownShape() {}

  /**
   * Runs it.
   *
   * @param args the model
   */
  public static void main(String[] args) {
    try (Arena arena = Arena.ofConfined(); OrtEnvironmentFFM env = OrtEnvironmentFFM.create();
        OrtSessionFFM session = OrtSessionFFM.create(env, Path.of(args[0]), null)) {
      // [bind]
      MemorySegment image = arena.allocate(ValueLayout.JAVA_FLOAT, 64);  // the program's own memory
      MemorySegment probabilities = arena.allocate(ValueLayout.JAVA_FLOAT, 10);
      try (OrtIoBindingFFM binding = session.createBinding()) {
        binding.bindInput("image", image, new long[] {1, 1, 8, 8}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);  // read where it lies
        binding.bindOutput("probabilities", probabilities, new long[] {1, 10}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);  // written where it is bound
        for (int down = 0; down < 3; ++down) {
          Digit.drawTwo(image, down);  // only the contents change
          binding.run();
          int best = Digit.bestOf(probabilities);
          System.out.printf(Locale.ROOT, "moved down by %d: a %d (%.1f %%)%n", down, best, 100 * Digit.shade(probabilities, best));
        }
      }
      // [end]
    }
  }
}
