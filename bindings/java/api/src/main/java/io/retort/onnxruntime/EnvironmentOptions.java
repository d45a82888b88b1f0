package io.retort.onnxruntime;

import java.util.Objects;

/**
 * How an environment is made. A process has one per library: the first one made decides, options of later ones have no effect.
 *
 * @param name name in the log
 * @param level messages below are not logged
 * @param log receives the messages; null for the library's own output
 * @param threads threads that sessions share; null where each session has its own
 */
public record EnvironmentOptions(String name, LogLevel level, LogSink log, GlobalThreads threads) {
  /** Warnings and errors, to the library's own output. */
  public static final EnvironmentOptions DEFAULT = new EnvironmentOptions("java", LogLevel.WARNING, null);

  /**
   * An environment whose sessions have threads of their own.
   *
   * @param name name in the log
   * @param level messages below are not logged
   * @param log receives the messages; null for the library's own output
   */
  public EnvironmentOptions(String name, LogLevel level, LogSink log) {
    this(name, level, log, null);
  }

  /** Refuses null, except where the documentation allows it. */
  public EnvironmentOptions {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(level, "level");
  }
}
