/** Tells whether I/O binding can be used. Loads on Java 17 and newer. */
module io.retort.onnxruntime.support {
  exports io.retort.onnxruntime.support;
}
