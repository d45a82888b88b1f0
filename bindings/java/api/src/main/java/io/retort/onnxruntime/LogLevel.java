package io.retort.onnxruntime;

/** How important a message of the log is. */
public enum LogLevel {
  /** Everything. */
  VERBOSE(0),
  /** What is of interest. */
  INFO(1),
  /** What may be wrong. */
  WARNING(2),
  /** What went wrong. */
  ERROR(3),
  /** What ends the work. */
  FATAL(4);

  private final int value;

  LogLevel(int value) {
    this.value = value;
  }

  static LogLevel of(int value) {
    for (LogLevel one : values()) {
      if (one.value == value) return one;
    }
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "the library answered LogLevel " + value + ", which this version of the binding does not know");
  }

  /** {@return the number in the C interface} */
  public int value() {
    return value;
  }
}
