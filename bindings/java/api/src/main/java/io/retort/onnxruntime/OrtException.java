package io.retort.onnxruntime;

/**
 * An error of the library, or a mistake that was found before the library was called. The message says what is wrong,
 * what is expected and what to do. Using a closed object throws an {@link IllegalStateException} instead.
 */
public final class OrtException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The kind of the error. */
  private final OrtErrorCode code;

  /**
   * Creates an error.
   *
   * @param code kind of the error
   * @param message what is wrong and what to do
   */
  public OrtException(OrtErrorCode code, String message) {
    super(message);
    this.code = code;
  }

  /**
   * Creates an error with a cause.
   *
   * @param code kind of the error
   * @param message what is wrong and what to do
   * @param cause the exception that led to the error
   */
  public OrtException(OrtErrorCode code, String message, Throwable cause) {
    super(message, cause);
    this.code = code;
  }

  static OrtException invalid(String message) {
    return new OrtException(OrtErrorCode.INVALID_ARGUMENT, message);
  }

  /** {@return the kind of the error} */
  public OrtErrorCode code() {
    return code;
  }

  /** {@return the code and the message} */
  @Override
  public String toString() {
    return "OrtException: " + code + ": " + getMessage();
  }
}
