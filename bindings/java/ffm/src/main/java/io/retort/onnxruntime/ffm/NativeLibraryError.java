package io.retort.onnxruntime.ffm;

import java.util.List;

/** No usable engine was found. The message lists every attempt, in order, and why it failed. */
public final class NativeLibraryError extends UnsatisfiedLinkError {
  private static final long serialVersionUID = 1;

  private final transient List<Attempt> attempts;

  /**
   * One attempt to find an engine.
   *
   * @param where the place, with the setting that named it
   * @param reason why the attempt failed
   */
  public record Attempt(String where, String reason) {}

  NativeLibraryError(String what, List<Attempt> attempts, String advice) {
    super(message(what, attempts, advice));
    this.attempts = List.copyOf(attempts);
  }

  private static String message(String what, List<Attempt> attempts, String advice) {
    StringBuilder text = new StringBuilder(what);
    for (Attempt a : attempts) {
      text.append("\n  ").append(a.where()).append(": ").append(a.reason());
    }
    return text.append('\n').append(advice).toString();
  }

  /**
   * Returns the attempts, in order.
   *
   * @return the attempts; empty after deserialisation
   */
  public List<Attempt> attempts() {
    return attempts == null ? List.of() : attempts;
  }
}
