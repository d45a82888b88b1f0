package io.retort.onnxruntime;

/** The error codes of ONNX Runtime's C interface. */
public enum OrtErrorCode {
  /** No error. No exception has this code. */
  OK,
  /** An error without a code of its own. */
  FAIL,
  /** An argument is not valid. */
  INVALID_ARGUMENT,
  /** A file does not exist. */
  NO_SUCH_FILE,
  /** There is no model. */
  NO_MODEL,
  /** An error inside the engine. */
  ENGINE_ERROR,
  /** An exception inside the engine. */
  RUNTIME_EXCEPTION,
  /** The bytes are not a model. */
  INVALID_PROTOBUF,
  /** A model is loaded already. */
  MODEL_LOADED,
  /** This library does not support the function, or is too old for it. */
  NOT_IMPLEMENTED,
  /** The graph of the model is not valid. */
  INVALID_GRAPH,
  /** An execution provider reported an error. */
  EP_FAIL,
  /** Loading was cancelled. */
  MODEL_LOAD_CANCELED,
  /** The model must be compiled for this provider first. */
  MODEL_REQUIRES_COMPILATION,
  /** Nothing with the given name exists. */
  NOT_FOUND,
  /** The device was reset. */
  DEVICE_RESET;

  private static final OrtErrorCode[] CODES = values();

  /** Returns the code with a number; {@link #FAIL} for a number of a later version. */
  static OrtErrorCode of(int value) {
    return value >= 0 && value < CODES.length ? CODES[value] : FAIL;
  }

  /** {@return the value of this constant in the C interface} */
  public int value() {
    return ordinal();
  }
}
