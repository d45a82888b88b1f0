package io.retort.examples;

import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtException;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Classifies handwritten digits that the model has not seen, one by one, through memory that is bound once. Argument:
 * the folder with digits.onnx, heldout_images.npy and heldout_labels.npy (examples/digits).
 */
public final class Classify {
  private static final String SHADES = " .:-=+*#%@";
  private static final int WHITE = 16;

  private Classify() {}

  /**
   * Runs it.
   *
   * @param args the folder
   */
  public static void main(String[] args) throws IOException {
    Path folder = Path.of(args[0]);
    byte[] pixels = Npy.bytes(folder.resolve("heldout_images.npy"));
    byte[] labels = Npy.bytes(folder.resolve("heldout_labels.npy"));
    // [classify]
    try (Arena arena = Arena.ofConfined();
        OrtEnvironmentFFM env = OrtEnvironmentFFM.create();
        OrtSessionFFM session = OrtSessionFFM.create(env, folder.resolve("digits.onnx"), null);
        OrtIoBindingFFM binding = session.createBinding()) {
      MemorySegment image = arena.allocate(ValueLayout.JAVA_FLOAT, Digit.PIXELS);
      MemorySegment probabilities = arena.allocate(ValueLayout.JAVA_FLOAT, Digit.CLASSES);
      binding.bindInput("image", image, new long[] {1, 1, 8, 8}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindOutput("probabilities", probabilities, new long[] {1, 10}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      int right = 0;
      for (int i = 0; i < labels.length; ++i) {
        for (int p = 0; p < Digit.PIXELS; ++p) image.setAtIndex(ValueLayout.JAVA_FLOAT, p, pixels[i * Digit.PIXELS + p] / (float) WHITE);
        binding.run();
        if (Digit.bestOf(probabilities) == labels[i]) ++right;
        if (i < 3) show(image, labels[i], probabilities);
      }
      System.out.printf(Locale.ROOT, "%d of %d held-out digits right (%.2f %%)%n", right, labels.length, 100.0 * right / labels.length);
      mistake(binding, image);
    }
    // [end]
  }

  private static void mistake(OrtIoBindingFFM binding, MemorySegment image) {
    // [mistake]
    try {
      binding.bindInput("image", image, new long[] {64}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    } catch (OrtException e) {
      System.out.println(e.code() + ": " + e.getMessage());
    }
    // [end]
  }

  private static void show(MemorySegment image, int label, MemorySegment probabilities) {
    for (int row = 0; row < 8; ++row) {
      StringBuilder line = new StringBuilder();
      for (int i = 8 * row; i < 8 * row + 8; ++i) line.append(SHADES.charAt(Math.round(Digit.shade(image, i) * (SHADES.length() - 1))));
      System.out.println(("  " + line).stripTrailing());
    }
    int best = Digit.bestOf(probabilities);
    System.out.printf(Locale.ROOT, "written: %d, read: %d (%.1f %%)%n", label, best, 100 * Digit.shade(probabilities, best));
  }
}
