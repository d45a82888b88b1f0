package io.retort.onnxruntime;

/** Receives messages of the library's log, from any thread and possibly from several at once. Must not call the library. */
@FunctionalInterface
public interface LogSink {
  /**
   * Receives a message. An exception goes to the thread's handler of uncaught ones.
   *
   * @param level how important it is
   * @param category what part of the library
   * @param id of the session or environment
   * @param location place in the library's sources
   * @param message the text
   */
  void log(LogLevel level, String category, String id, String location, String message);
}
