package io.retort.onnxruntime;

import java.util.Objects;

/**
 * How an environment is made. A process has one per library: the first one made decides, options of later ones have no effect.
 *
 * @param name name in the log
 * @param level messages below are not logged
 * @param log receives the messages; null for the library's own output
 */
public record EnvironmentOptions(String name, LogLevel level, LogSink log) {
  /** Warnings and errors, to the library's own output. */
  public static final EnvironmentOptions DEFAULT = new EnvironmentOptions("java", LogLevel.WARNING, null);

  /** Refuses null. */
  public EnvironmentOptions {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(level, "level");
  }
}
