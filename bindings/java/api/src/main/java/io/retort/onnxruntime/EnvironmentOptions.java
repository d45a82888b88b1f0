package io.retort.onnxruntime;

import java.util.Objects;

/**
 * Options of an environment. A process has one environment per library. The options of the first one apply; those of
 * later ones have no effect.
 *
 * @param name name of the environment in the log
 * @param level least severe level that is logged
 * @param log receives the messages; null to let the library write them itself
 * @param threads threads that sessions share; null if each session has its own
 */
public record EnvironmentOptions(String name, LogLevel level, LogSink log, GlobalThreads threads) {
  /** Logs warnings and errors through the library's own output. */
  public static final EnvironmentOptions DEFAULT = new EnvironmentOptions("java", LogLevel.WARNING, null);

  /**
   * Options for an environment whose sessions have their own threads.
   *
   * @param name name of the environment in the log
   * @param level least severe level that is logged
   * @param log receives the messages; null to let the library write them itself
   */
  public EnvironmentOptions(String name, LogLevel level, LogSink log) {
    this(name, level, log, null);
  }

  /** Checks that no argument is null, except {@code log} and {@code threads}. */
  public EnvironmentOptions {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(level, "level");
  }
}
