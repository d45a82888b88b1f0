/** Calls of ONNX Runtime's C interface; internal to {@code io.retort.onnxruntime}. */
module io.retort.onnxruntime.ffm {
  exports io.retort.onnxruntime.ffm to io.retort.onnxruntime;
}
