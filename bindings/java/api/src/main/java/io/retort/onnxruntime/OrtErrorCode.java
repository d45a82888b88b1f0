package io.retort.onnxruntime;

/** The codes of ONNX Runtime's C interface. */
public enum OrtErrorCode {
  /** No error; never the code of an exception. */
  OK,
  /** An error without a code of its own. */
  FAIL,
  /** An argument that the call does not take. */
  INVALID_ARGUMENT,
  /** A file that is not there. */
  NO_SUCH_FILE,
  /** No model. */
  NO_MODEL,
  /** An error inside the engine. */
  ENGINE_ERROR,
  /** An exception inside the engine. */
  RUNTIME_EXCEPTION,
  /** The bytes are not a model. */
  INVALID_PROTOBUF,
  /** A model is loaded already. */
  MODEL_LOADED,
  /** Something that this library does not do, or that came with a later version of it. */
  NOT_IMPLEMENTED,
  /** A model that contradicts itself. */
  INVALID_GRAPH,
  /** An error of an execution provider. */
  EP_FAIL,
  /** Loading was cancelled. */
  MODEL_LOAD_CANCELED,
  /** The model must be compiled for this provider first. */
  MODEL_REQUIRES_COMPILATION,
  /** Something asked for by name is not there. */
  NOT_FOUND,
  /** The device was reset. */
  DEVICE_RESET;

  private static final OrtErrorCode[] CODES = values();

  /** The code of a number; numbers of later versions are {@link #FAIL}. */
  static OrtErrorCode of(int value) {
    return value >= 0 && value < CODES.length ? CODES[value] : FAIL;
  }

  /** {@return the number in the C interface} */
  public int value() {
    return ordinal();
  }
}
