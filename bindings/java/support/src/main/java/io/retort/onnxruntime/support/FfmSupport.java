package io.retort.onnxruntime.support;

import java.lang.reflect.InvocationTargetException;
import java.util.Optional;

/**
 * Tells whether this Java has the Foreign Function and Memory API, which package {@code io.retort.onnxruntime} needs. This
 * class loads on Java 17 and newer, so a program can ask before it uses a class of that package, and use the official
 * package {@code ai.onnxruntime} instead, which calls the same libraries over JNI. Thread-safe.
 *
 * {@snippet :
 * if (FfmSupport.unavailable().isEmpty()) bound();  // in a class that uses OrtIoBindingFFM
 * else overJni();                                   // in a class that uses ai.onnxruntime
 * }
 */
public final class FfmSupport {
  private static final int OLDEST = 22;
  private static final String OTHERWISE = ". Use Java " + OLDEST + " or newer, or the official package ai.onnxruntime, which calls the same library over JNI";

  private FfmSupport() {}

  /** {@return the reason why {@code io.retort.onnxruntime} cannot be used, in one line; empty if it can} */
  public static Optional<String> unavailable() {
    int version = Runtime.version().feature();
    if (version < OLDEST) return Optional.of("I/O binding needs Java " + OLDEST + ", because it uses the Foreign Function and Memory API, and this is Java " + version + OTHERWISE);
    try {
      // By reflection, because the class must load on a Java without that API.
      Class.forName("java.lang.foreign.Linker").getMethod("nativeLinker").invoke(null);
      return Optional.empty();
    } catch (InvocationTargetException e) {
      return Optional.of("this Java cannot call native code on " + System.getProperty("os.name") + ", " + System.getProperty("os.arch") + " (" + e.getCause().getMessage() + ")" + OTHERWISE);
    } catch (ReflectiveOperationException e) {
      return Optional.of("this Java has no Foreign Function and Memory API (" + e + ")" + OTHERWISE);
    }
  }

  /**
   * Does nothing if {@code io.retort.onnxruntime} can be used.
   *
   * @throws UnsupportedOperationException with the reason if it cannot
   */
  public static void require() {
    unavailable().ifPresent(why -> {
      throw new UnsupportedOperationException(why);
    });
  }
}
