package io.retort.onnxruntime;

/**
 * Receives messages of the library's log, from any thread and possibly from several at once. It must not call the
 * library.
 */
@FunctionalInterface
public interface LogSink {
  /**
   * Receives a message. If this throws, the thread's handler for uncaught exceptions gets the exception.
   *
   * @param level severity of the message
   * @param category part of the library that logs the message
   * @param id name of the session or environment
   * @param location place in the library's source code
   * @param message text of the message
   */
  void log(LogLevel level, String category, String id, String location, String message);
}
