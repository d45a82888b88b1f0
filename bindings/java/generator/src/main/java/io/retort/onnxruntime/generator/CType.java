package io.retort.onnxruntime.generator;

/** C types, with the types by which Java and the linker represent them. */
enum CType {
  VOID('V', "void", null),
  POINTER('P', "MemorySegment", "ValueLayout.ADDRESS"),
  LONG('L', "long", "ValueLayout.JAVA_LONG"),
  INT('I', "int", "ValueLayout.JAVA_INT"),
  BOOL('Z', "boolean", "ValueLayout.JAVA_BOOLEAN"),
  FLOAT('F', "float", "ValueLayout.JAVA_FLOAT"),
  DOUBLE('D', "double", "ValueLayout.JAVA_DOUBLE");

  final char letter;
  final String java;
  final String layout;

  CType(char letter, String java, String layout) {
    this.letter = letter;
    this.java = java;
    this.layout = layout;
  }

  /**
   * Returns a built-in type of C; null for other names. size_t has 64 bits on all systems for which there are
   * libraries.
   */
  static CType builtIn(String name) {
    return switch (name) {
      case "void" -> VOID;
      case "size_t", "int64_t", "uint64_t" -> LONG;
      case "int", "int32_t", "uint32_t" -> INT;
      case "bool" -> BOOL;
      case "float" -> FLOAT;
      case "double" -> DOUBLE;
      default -> null;
    };
  }
}
