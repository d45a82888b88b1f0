/**
 * I/O binding of ONNX models over the Foreign Function and Memory API, on Retort and on official ONNX Runtime.
 *
 * <p>Only {@code io.retort.onnxruntime.ffm} needs native access:
 * {@code --enable-native-access=io.retort.onnxruntime.ffm}.
 */
module io.retort.onnxruntime {
  requires io.retort.onnxruntime.ffm;
  requires transitive io.retort.onnxruntime.support;
  requires static com.microsoft.onnxruntime;

  exports io.retort.onnxruntime;
}
