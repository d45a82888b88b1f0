package io.retort.onnxruntime.generator;

import java.util.Locale;

/** What the generated sources have in common. */
final class Source {
  static final String PACKAGE = "io.retort.onnxruntime.ffm";

  private Source() {}

  /** The first lines of a source. */
  static StringBuilder header() {
    return new StringBuilder("// Made from the tables of the C interface; changes here are lost.\npackage " + PACKAGE + ";\n\n");
  }

  /** The name of a constant: {@code RUN_WITH_BINDING} for {@code RunWithBinding}. */
  static String constant(String name) {
    return name.replaceAll("([a-z0-9])([A-Z])", "$1_$2").toUpperCase(Locale.ROOT);
  }
}
