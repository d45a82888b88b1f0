package io.retort.onnxruntime;

/**
 * An error of the library, or a mistake found before the library was called. The message says what is, what is wanted
 * and what to do. Using a closed object throws an {@link IllegalStateException} instead.
 */
public final class OrtException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What kind of error. */
  private final OrtErrorCode code;

  /**
   * An error that was found here.
   *
   * @param code what kind of error
   * @param message what is wrong and what to do
   */
  public OrtException(OrtErrorCode code, String message) {
    super(message);
    this.code = code;
  }

  /**
   * An error with what led to it.
   *
   * @param code what kind of error
   * @param message what is wrong and what to do
   * @param cause what was thrown first
   */
  public OrtException(OrtErrorCode code, String message, Throwable cause) {
    super(message, cause);
    this.code = code;
  }

  static OrtException invalid(String message) {
    return new OrtException(OrtErrorCode.INVALID_ARGUMENT, message);
  }

  /** {@return what kind of error} */
  public OrtErrorCode code() {
    return code;
  }

  /** {@return code and message} */
  @Override
  public String toString() {
    return "OrtException: " + code + ": " + getMessage();
  }
}
