package io.retort.onnxruntime.generator;

import java.util.Locale;

/** Shared parts of the generated sources. */
final class Source {
  static final String PACKAGE = "io.retort.onnxruntime.ffm";

  private Source() {}

  /** Returns the first lines of a source. */
  static StringBuilder header() {
    return new StringBuilder("// Generated from the tables of the C interface; do not edit.\npackage " + PACKAGE + ";\n\n");
  }

  /** Returns the name of a constant: {@code RUN_WITH_BINDING} for {@code RunWithBinding}. */
  static String constant(String name) {
    return name.replaceAll("([a-z0-9])([A-Z])", "$1_$2").toUpperCase(Locale.ROOT);
  }
}
