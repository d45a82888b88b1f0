package io.retort.onnxruntime;

/** Severity of a log message. */
public enum LogLevel {
  /** Details for debugging. */
  VERBOSE(0),
  /** Information. */
  INFO(1),
  /** Something may be wrong. */
  WARNING(2),
  /** Something went wrong. */
  ERROR(3),
  /** The program cannot continue. */
  FATAL(4);

  private final int value;

  LogLevel(int value) {
    this.value = value;
  }

  static LogLevel of(int value) {
    for (LogLevel one : values()) {
      if (one.value == value) return one;
    }
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "the library returned LogLevel " + value + ", which this version of the binding does not know");
  }

  /** {@return the value of this constant in the C interface} */
  public int value() {
    return value;
  }
}
