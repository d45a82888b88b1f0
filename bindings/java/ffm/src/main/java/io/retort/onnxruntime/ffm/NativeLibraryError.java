package io.retort.onnxruntime.ffm;

import java.util.List;

/** No usable engine was found. The message lists every place that was tried, in order, and why each did not serve. */
public final class NativeLibraryError extends UnsatisfiedLinkError {
  private static final long serialVersionUID = 1;

  private final transient List<Attempt> attempts;

  /**
   * A place that was tried.
   *
   * @param where what was tried, with the setting that named it
   * @param reason why it did not serve
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
   * What was tried, in order.
   *
   * @return the attempts; empty after deserialisation
   */
  public List<Attempt> attempts() {
    return attempts == null ? List.of() : attempts;
  }
}
