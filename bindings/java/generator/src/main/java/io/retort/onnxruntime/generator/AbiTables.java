package io.retort.onnxruntime.generator;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The tables of the C interface.
 *
 * @param structs slots of each function table
 * @param fields rows of structs.tsv: struct, index, offset, size, version, name, type
 * @param enums rows of enums.tsv: enum, name, value
 * @param macros rows of macros.tsv: name, value
 */
record AbiTables(Map<String, List<Slot>> structs, List<String[]> fields, List<String[]> enums, List<String[]> macros) {
  private static final Set<String> KEYWORDS = Set.of("package", "default", "new", "this", "class", "import", "interface", "native", "abstract");

  /** Reads the tables of a folder. */
  static AbiTables read(Path folder) throws IOException {
    List<String[]> enums = rows(folder.resolve("enums.tsv"), 3);
    Types types = new Types(enums, rows(folder.resolve("typedefs.tsv"), 3));
    Set<String> critical = critical();
    Map<String, List<Slot>> structs = new LinkedHashMap<>();
    for (String[] row : rows(folder.resolve("functions.tsv"), 7)) {
      List<Slot> slots = structs.computeIfAbsent(row[0], name -> new ArrayList<>());
      Slot slot = slot(row, types, critical.remove(row[0] + "." + row[4]));
      if (slot.index() != slots.size() || slot.offset() != 8L * slot.index())
        throw new IllegalArgumentException("functions.tsv: slot " + row[1] + " of " + row[0] + " is not in its place, at " + 8L * slots.size() + " bytes");
      slots.add(slot);
    }
    if (!critical.isEmpty()) throw new IllegalArgumentException("critical.tsv names functions that are not in functions.tsv: " + critical);
    return new AbiTables(structs, rows(folder.resolve("structs.tsv"), 7), enums, rows(folder.resolve("macros.tsv"), 2));
  }

  private static Slot slot(String[] row, Types types, boolean critical) {
    List<CType> parameters = new ArrayList<>();
    List<String> names = new ArrayList<>();
    for (String parameter : split(row[6])) {
      if (parameter.equals("void")) continue;
      String name = nameOf(parameter);
      int at = parameter.lastIndexOf(name);
      boolean pointer = parameter.indexOf('(') >= 0 || parameter.indexOf('[') >= 0;
      parameters.add(pointer ? CType.POINTER : types.of(parameter.substring(0, at).strip()));
      names.add(javaName(name));
    }
    Signature signature = new Signature(types.of(row[5]), List.copyOf(parameters), critical);
    String declaration = row[5] + " " + row[4] + "(" + row[6] + ")";
    return new Slot(Integer.parseInt(row[1]), Long.parseLong(row[2]), Math.max(1, Integer.parseInt(row[3])), row[4], signature, names, declaration);
  }

  /** Splits at commas outside parentheses. */
  private static List<String> split(String parameters) {
    List<String> parts = new ArrayList<>();
    int depth = 0;
    int start = 0;
    for (int i = 0; i <= parameters.length(); ++i) {
      char c = i < parameters.length() ? parameters.charAt(i) : ',';
      if (c == '(') ++depth;
      if (c == ')') --depth;
      if (c != ',' || (depth > 0 && i < parameters.length())) continue;
      parts.add(parameters.substring(start, i).strip());
      start = i + 1;
    }
    return parts;
  }

  /** Returns the name of a parameter: its last word or, for a pointer to a function, the word after the star. */
  private static String nameOf(String parameter) {
    int function = parameter.indexOf("(*");
    if (function >= 0) return parameter.substring(function + 2, parameter.indexOf(')', function));
    String plain = parameter.replace("[]", "").strip();
    int at = plain.length();
    while (at > 0 && (Character.isLetterOrDigit(plain.charAt(at - 1)) || plain.charAt(at - 1) == '_')) --at;
    if (at == 0 || at == plain.length()) throw new IllegalArgumentException("functions.tsv: parameter '" + parameter + "' has no name");
    return plain.substring(at);
  }

  private static String javaName(String name) {
    StringBuilder made = new StringBuilder();
    for (String word : name.split("_")) {
      if (word.isEmpty()) continue;
      made.append(made.isEmpty() ? word : Character.toUpperCase(word.charAt(0)) + word.substring(1));
    }
    return KEYWORDS.contains(made.toString()) ? made.append('_').toString() : made.toString();
  }

  private static List<String[]> rows(Path file, int columns) throws IOException {
    List<String[]> rows = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      String[] row = line.split("\t", -1);
      if (row.length != columns) throw new IllegalArgumentException(file + ": " + row.length + " columns instead of " + columns + ": " + line);
      rows.add(row);
    }
    rows.remove(0);
    return rows;
  }

  private static Set<String> critical() throws IOException {
    Set<String> names = new HashSet<>();
    try (InputStream in = AbiTables.class.getResourceAsStream("critical.tsv");
        BufferedReader reader = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
      reader.lines().skip(1).map(line -> line.split("\t")).forEach(row -> names.add(row[0] + "." + row[1]));
    }
    return names;
  }

  /** Resolves the names of types. */
  private static final class Types {
    private final Map<String, CType> known = new HashMap<>();

    Types(List<String[]> enums, List<String[]> typedefs) {
      enums.forEach(row -> known.put(row[0], CType.INT));
      for (String[] row : typedefs) {
        if (row[1].equals("function_pointer")) known.put(row[0], CType.POINTER);
        if (row[1].equals("alias")) known.put(row[0], of(row[2]));
      }
    }

    CType of(String type) {
      if (type.indexOf('*') >= 0) return CType.POINTER;
      String name = type.replace("const ", "").replace("enum ", "").strip();
      CType found = CType.builtIn(name);
      if (found == null) found = known.get(name);
      if (found == null) throw new IllegalArgumentException("type '" + type + "' is neither built in nor in enums.tsv or typedefs.tsv");
      return found;
    }
  }
}
