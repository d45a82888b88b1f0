package io.retort.examples;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtIoBindingFFM;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.FloatBuffer;
import java.util.Locale;
import java.util.Map;

/**
 * A program on the official Java package that binds the inputs and outputs of its session. Nothing else in it changes.
 * Argument: digits.onnx.
 */
public final class FromOfficial {
  private FromOfficial() {}

  // [before]
  private static float before(OrtSession session, float[] pixels, int digit) throws OrtException {
    try (OnnxTensor image = OnnxTensor.createTensor(OrtEnvironment.getEnvironment(), FloatBuffer.wrap(pixels), new long[] {1, 1, 8, 8});
        OrtSession.Result result = session.run(Map.of("image", image))) {
      return ((float[][]) result.get(0).getValue())[0][digit];
    }
  }

  // [after]
  private static float after(OrtSession session, float[] pixels, int digit) {
    try (Arena arena = Arena.ofConfined(); OrtIoBindingFFM binding = new OrtIoBindingFFM(session)) {  // on the same native session
      MemorySegment image = arena.allocateFrom(ValueLayout.JAVA_FLOAT, pixels), probabilities = arena.allocate(ValueLayout.JAVA_FLOAT, 10);
      binding.bindInput("image", image, new long[] {1, 1, 8, 8}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindOutput("probabilities", probabilities, new long[] {1, 10}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.run();  // again and again, while the contents of image change
      return probabilities.getAtIndex(ValueLayout.JAVA_FLOAT, digit);
    }
  }

  // [end]
  /**
   * Runs it.
   *
   * @param args the model
   */
  public static void main(String[] args) throws OrtException {
    float[] pixels = new float[Digit.PIXELS];
    Digit.drawTwo(MemorySegment.ofArray(pixels), 0);
    try (OrtSession session = OrtEnvironment.getEnvironment().createSession(args[0])) {
      System.out.printf(Locale.ROOT, "a two with %.1f %%, bound %.1f %%%n", 100 * before(session, pixels, 2), 100 * after(session, pixels, 2));
    }
  }
}
