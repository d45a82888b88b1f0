package io.retort.onnxruntime.ffm;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * An operating system and a processor, which determine the names and folders of libraries.
 *
 * <p>Immutable and thread-safe.
 *
 * @param os the operating system
 * @param arch the processor: {@code x64}, {@code aarch64}, or Java's name of another one in lower case
 */
public record Platform(Os os, String arch) {
  /** Operating systems with different names of libraries. */
  public enum Os {
    /** Linux, and every other system with {@code .so} files. */
    LINUX("linux"),
    /** macOS. */
    MACOS("osx"),
    /** Windows. */
    WINDOWS("win");

    private final String label;

    Os(String label) {
      this.label = label;
    }
  }

  /**
   * Returns the platform that this program runs on.
   *
   * @return the platform, from {@code os.name} and {@code os.arch}
   */
  public static Platform current() {
    return of(System.getProperty("os.name", ""), System.getProperty("os.arch", ""));
  }

  static Platform of(String osName, String osArch) {
    String os = osName.toLowerCase(Locale.ROOT);
    String arch = osArch.toLowerCase(Locale.ROOT);
    return new Platform(os.startsWith("windows") ? Os.WINDOWS : os.startsWith("mac") ? Os.MACOS : Os.LINUX,
        switch (arch) {
          case "amd64", "x86_64" -> "x64";
          case "arm64" -> "aarch64";
          default -> arch;
        });
  }

  /**
   * Returns the name of this platform in the folders of the native jar and in the tables of {@code scripts}.
   *
   * @return for example {@code linux-x64}, {@code osx-aarch64}, {@code win-x64}
   */
  public String label() {
    return os.label + "-" + arch;
  }

  /**
   * Returns the file names under which an engine may be installed, in the order in which they are tried: Retort before
   * ONNX Runtime.
   *
   * @return names without folders
   */
  public List<String> libraryNames() {
    return switch (os) {
      case LINUX -> List.of("libretort.so.1", "libretort.so", "libonnxruntime.so.1", "libonnxruntime.so");
      case MACOS -> List.of("libretort.1.dylib", "libretort.dylib", "libonnxruntime.1.dylib", "libonnxruntime.dylib");
      case WINDOWS -> List.of("retort.dll", "onnxruntime.dll");
    };
  }

  /** Returns the name of the library in the native jar. */
  String bundledName() {
    return libraryNames().get(0);
  }

  /**
   * Returns the parts of file names that contain the full version, such as those in Python packages; null if this
   * system has no such names.
   */
  VersionedName versionedName() {
    return switch (os) {
      case LINUX -> new VersionedName("libonnxruntime.so.", "");
      case MACOS -> new VersionedName("libonnxruntime.", ".dylib");
      case WINDOWS -> null;
    };
  }

  /** Returns folders into which libraries are commonly installed, besides those that the system's loader searches. */
  List<Path> usualFolders(Path home) {
    return switch (os) {
      case LINUX -> List.of(Path.of("/usr/local/lib"), Path.of("/usr/local/lib64"), home.resolve(".local/lib"));
      case MACOS -> List.of(Path.of("/opt/homebrew/lib"), Path.of("/usr/local/lib"), home.resolve("lib"));
      case WINDOWS -> List.of();
    };
  }

  /** A file name that consists of {@code before}, a version and {@code after}. */
  record VersionedName(String before, String after) {
    boolean matches(String name) {
      return name.length() > before.length() + after.length() && name.startsWith(before) && name.endsWith(after)
          && name.substring(before.length(), name.length() - after.length()).matches("\\d+(\\.\\d+)*");
    }

    int[] version(String name) {
      String digits = name.substring(before.length(), name.length() - after.length());
      return Arrays.stream(digits.split("\\.")).mapToInt(d -> d.length() > 9 ? Integer.MAX_VALUE : Integer.parseInt(d)).toArray();
    }
  }
}
