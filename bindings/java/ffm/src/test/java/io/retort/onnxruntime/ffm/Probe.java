package io.retort.onnxruntime.ffm;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A program that runs in its own process, for tests that depend on the environment or on the loaded libraries of a
 * process.
 */
final class Probe {
  private Probe() {}

  /** The output and the exit code of a probe. */
  record Answer(int code, String text) {}

  /**
   * Runs one command. "find" searches for an engine; "loaded PATH" prints the loaded engine before and after that path
   * is loaded; "two A B" prints it after both are loaded.
   */
  public static void main(String[] args) {
    try {
      switch (args[0]) {
        case "find" -> System.out.println(NativeLibrary.load().path());
        case "loaded" -> {
          NativeLibrary given = NativeLibrary.load(Path.of(args[1]));
          System.out.println(given.apiBase().equals(NativeLibrary.loaded().apiBase()));
        }
        case "gone" -> {
          NativeLibrary given = NativeLibrary.load(Path.of(args[1]));
          Files.delete(Path.of(args[1]));
          System.out.println(given.apiBase().equals(NativeLibrary.loaded().apiBase()));
        }
        case "two" -> {
          NativeLibrary.load(Path.of(args[1]));
          NativeLibrary.load(Path.of(args[2]));
          System.out.println(NativeLibrary.loaded());
        }
        case "none" -> System.out.println(NativeLibrary.loaded());
        default -> throw new IllegalArgumentException(args[0]);
      }
    } catch (NativeLibraryError | IOException e) {
      System.out.println(e.getMessage());
      System.exit(1);
    }
  }

  /** Starts a probe. Its environment has the given variables and none of the settings of the test process. */
  static Process start(Map<String, String> variables, List<String> options, String... args) throws IOException {
    List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1", "-Xshare:auto"));
    command.addAll(options);
    if (options.stream().noneMatch("-cp"::equals)) {
      command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    }
    command.add(Probe.class.getName());
    command.addAll(List.of(args));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().keySet().removeAll(List.of("ORT_NATIVE_LIB_PATH", "RETORT_LIBRARY", "JAVA_TOOL_OPTIONS", "LD_LIBRARY_PATH"));
    builder.environment().putAll(variables);
    return builder.start();
  }

  static Answer end(Process process) throws IOException, InterruptedException {
    String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    return new Answer(process.waitFor(), text);
  }

  static Answer run(Map<String, String> variables, List<String> options, String... args) throws IOException, InterruptedException {
    return end(start(variables, options, args));
  }
}
