package io.retort.onnxruntime.bench;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession.SessionOptions;
import io.retort.onnxruntime.EnvironmentOptions;
import io.retort.onnxruntime.OrtApiFFM;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import java.nio.file.Path;

/**
 * The two engines, each with both bindings. The system properties {@code bench.retort} and {@code bench.official} name
 * the libraries. The official library is the one in the jar of the official package, which that package unpacks by
 * itself, so both bindings run the same library.
 */
final class Engines {
  private Engines() {}

  private static String library(String engine) {
    String file = System.getProperty("bench." + engine);
    if (file == null) throw new IllegalStateException("no library of engine '" + engine + "': start with -Dbench." + engine + "=FILE, as bench.sh does");
    return file;
  }

  static OrtEnvironmentFFM ours(String engine) {
    return OrtEnvironmentFFM.create(OrtApiFFM.load(Path.of(library(engine))), EnvironmentOptions.DEFAULT);
  }

  /** Creates a session with one thread, because the division of work between threads is not measured here. */
  static OrtSessionFFM session(OrtEnvironmentFFM env, byte[] model) {
    try (io.retort.onnxruntime.SessionOptions options = io.retort.onnxruntime.SessionOptions.create(env).setIntraOpThreads(1)) {
      return OrtSessionFFM.create(env, model, options);
    }
  }

  /**
   * Creates a session of the official binding. That binding chooses its library when its classes are loaded, so a
   * process can measure one engine only.
   */
  static ai.onnxruntime.OrtSession jniSession(String engine, byte[] model) throws OrtException {
    if (engine.equals("retort")) System.setProperty("onnxruntime.native.onnxruntime.path", library(engine));
    OrtEnvironment env = OrtEnvironment.getEnvironment();
    try (SessionOptions options = new SessionOptions()) {
      options.setIntraOpNumThreads(1);
      return env.createSession(model, options);
    }
  }
}
