import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import io.retort.onnxruntime.support.FfmSupport;
import java.nio.FloatBuffer;
import java.util.Map;
import java.util.Optional;

/**
 * Uses I/O binding where Java has it, and the official package elsewhere: on Java 17, for example, for which this class
 * is compiled. Argument: the folder of digits.onnx.
 */
public final class EitherWay {
  private static final String BOUND = "io.retort.examples.Classify";

  private EitherWay() {}

  /**
   * Runs it.
   *
   * @param args the folder
   * @throws Exception if neither way works
   */
  // [either]
  public static void main(String[] args) throws Exception {
    Optional<String> reason = FfmSupport.unavailable();
    if (reason.isEmpty()) {
      // This class only has the name of that one, because it does not load on an older Java.
      Class.forName(BOUND).getMethod("main", String[].class).invoke(null, (Object) args);
      return;
    }
    System.out.println(reason.get());
    overJni(args[0] + "/digits.onnx");
  }

  private static void overJni(String model) throws OrtException {
    OrtEnvironment env = OrtEnvironment.getEnvironment();
    try (OrtSession session = env.createSession(model);
        OnnxTensor image = OnnxTensor.createTensor(env, FloatBuffer.wrap(new float[64]), new long[] {1, 1, 8, 8});
        OrtSession.Result result = session.run(Map.of("image", image))) {
      float[][] probabilities = (float[][]) result.get(0).getValue();
      System.out.println("ai.onnxruntime returns " + probabilities[0].length + " probabilities");
    }
  }
  // [end]
}
