package io.retort.examples;

import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import io.retort.onnxruntime.OrtValues;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Binds an output whose shape depends on the data: the library allocates it in the given place. Argument: places.onnx.
 */
public final class UnknownShape {
  private UnknownShape() {}

  /**
   * Runs it.
   *
   * @param args the model
   */
  public static void main(String[] args) {
    try (Arena arena = Arena.ofConfined(); OrtEnvironmentFFM env = OrtEnvironmentFFM.create();
        OrtSessionFFM session = OrtSessionFFM.create(env, Path.of(args[0]), null); OrtIoBindingFFM binding = session.createBinding()) {
      MemorySegment image = arena.allocate(ValueLayout.JAVA_FLOAT, Digit.PIXELS);
      // [bind]
      binding.bindInput("image", image, new long[] {8, 8}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      for (int clear = 0; clear < 3; ++clear) {
        Digit.drawTwo(image, 0);
        image.asSlice(0, 4 * 16 * clear).fill((byte) 0);  // fewer dark pixels each time
        binding.bindOutputToDevice("places", DeviceSpec.CPU);  // again, because the shape may have changed
        try (Arena step = Arena.ofConfined(); OrtValues results = binding.runWithBindings()) {  // references, no copies
          MemorySegment places = results.get("places").asSegment(step);
          long found = results.get("places").shape()[1];  // [2, found]: rows, then columns
          long row = places.getAtIndex(ValueLayout.JAVA_LONG, 0), column = places.getAtIndex(ValueLayout.JAVA_LONG, found);
          System.out.printf(Locale.ROOT, "%2d dark pixels, the first in row %d, column %d%n", found, row, column);
        }
      }
      // [end]
    }
  }
}
