package io.retort.onnxruntime;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;

/** Counts native objects, so that tests can find leaks. Thread-safe. */
public final class LiveObjects {
  private static final AtomicLongArray COUNTS = new AtomicLongArray(ObjectKind.values().length);

  private LiveObjects() {}

  static void born(ObjectKind kind) {
    COUNTS.incrementAndGet(kind.ordinal());
  }

  static void gone(ObjectKind kind) {
    COUNTS.decrementAndGet(kind.ordinal());
  }

  /**
   * {@return the number of objects of a kind that have been created and not released}
   *
   * @param kind kind of the objects to count
   */
  public static long count(ObjectKind kind) {
    return COUNTS.get(kind.ordinal());
  }

  /** {@return the number of objects of all kinds that have been created and not released} */
  public static long total() {
    long sum = 0;
    for (int i = 0; i < COUNTS.length(); ++i) sum += COUNTS.get(i);
    return sum;
  }

  /** {@return the number of live objects of each kind that has any} */
  public static Map<ObjectKind, Long> counts() {
    Map<ObjectKind, Long> all = new EnumMap<>(ObjectKind.class);
    for (ObjectKind kind : ObjectKind.values()) {
      if (count(kind) != 0) all.put(kind, count(kind));
    }
    return all;
  }
}
