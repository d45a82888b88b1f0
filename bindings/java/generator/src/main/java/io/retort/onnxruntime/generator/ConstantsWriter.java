package io.retort.onnxruntime.generator;

import java.util.LinkedHashMap;
import java.util.Map;

/** Writes the offsets of struct fields, and the values of enums. */
final class ConstantsWriter {
  private ConstantsWriter() {}

  /** Writes a class per struct with the offset of each field and the size of the struct. */
  static String structs(AbiTables tables) {
    StringBuilder out = Source.header();
    out.append("/** Offsets of the fields of structs, in bytes. */\npublic final class OrtStructs {\n  private OrtStructs() {}\n");
    Map<String, StringBuilder> classes = new LinkedHashMap<>();
    Map<String, Long> sizes = new LinkedHashMap<>();
    for (String[] row : tables.fields()) {
      long offset = Long.parseLong(row[2]);
      sizes.merge(row[0], offset + Long.parseLong(row[3]), Math::max);
      classes.computeIfAbsent(row[0], name -> new StringBuilder()).append("    /** {@code ").append(row[6]).append("}. */\n    public static final long ")
          .append(Source.constant(row[5])).append(" = ").append(offset).append("L;\n");
    }
    classes.forEach((name, fields) -> {
      out.append("\n  /** Fields of ").append(name).append(". */\n  public static final class ").append(name).append(" {\n");
      out.append("    /** Size, rounded up to the largest alignment. */\n    public static final long SIZE_OF = ").append((sizes.get(name) + 7) / 8 * 8).append("L;\n");
      out.append(fields).append("\n    private ").append(name).append("() {}\n  }\n");
    });
    return out.append("}\n").toString();
  }

  /** Writes a class per enum with its values, and the version of the interface. */
  static String constants(AbiTables tables) {
    StringBuilder out = Source.header();
    out.append("/** Values of enums. */\npublic final class OrtConstants {\n");
    for (String[] row : tables.macros()) {
      if (row[1].matches("\\d+")) out.append("  /** Macro of this name. */\n  public static final int ").append(row[0]).append(" = ").append(row[1]).append(";\n");
    }
    out.append("\n  private OrtConstants() {}\n");
    Map<String, StringBuilder> classes = new LinkedHashMap<>();
    for (String[] row : tables.enums()) {
      classes.computeIfAbsent(row[0], name -> new StringBuilder()).append("    /** Value of this name. */\n    public static final int ").append(row[1])
          .append(" = (int) ").append(row[2]).append("L;\n");
    }
    classes.forEach((name, values) -> out.append("\n  /** Values of ").append(name).append(". */\n  public static final class ").append(name).append(" {\n")
        .append(values).append("\n    private ").append(name).append("() {}\n  }\n"));
    return out.append("}\n").toString();
  }
}
