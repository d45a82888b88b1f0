package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Executable;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Checks which classes refer to which, against the table in the README: there are no cycles, except where public
 * methods require them.
 */
class StructureTest {
  private static final Pattern NO_CODE = Pattern.compile("/\\*.*?\\*/|//[^\\n]*|\"\"\".*?\"\"\"|\"(\\\\.|[^\"\\\\])*\"|import [^;]*;", Pattern.DOTALL);
  private static final Pattern WORD = Pattern.compile("\\b[A-Z]\\w*");

  /** Returns the sources of a module by the names of their classes. */
  private static Map<String, String> sources(String folder) throws IOException {
    Map<String, String> sources = new TreeMap<>();
    try (Stream<Path> files = Files.walk(Path.of(folder, "src/main/java"))) {
      for (Path file : files.filter(f -> f.toString().endsWith(".java") && !f.toString().endsWith("-info.java")).toList()) {
        sources.put(file.getFileName().toString().replace(".java", ""), Files.readString(file));
      }
    }
    return sources;
  }

  private static Map<String, Set<String>> names(Map<String, String> sources) {
    Map<String, Set<String>> names = new TreeMap<>();
    sources.forEach((name, text) -> {
      Set<String> named = new TreeSet<>(words(NO_CODE.matcher(text).replaceAll(" ")));
      named.retainAll(sources.keySet());
      named.remove(name);
      names.put(name, named);
    });
    return names;
  }

  private static void reach(Map<String, Set<String>> names, String from, Set<String> reached) {
    for (String next : names.get(from)) {
      if (reached.add(next)) reach(names, next, reached);
    }
  }

  /** Returns the groups of classes that refer to each other in a cycle. */
  private static Set<List<String>> circles(Map<String, String> sources) {
    Map<String, Set<String>> names = names(sources);
    Map<String, Set<String>> reached = new TreeMap<>();
    names.keySet().forEach(name -> reach(names, name, reached.computeIfAbsent(name, n -> new TreeSet<>())));
    Set<List<String>> circles = new HashSet<>();
    reached.forEach((name, all) -> {
      if (all.contains(name)) circles.add(all.stream().filter(other -> reached.get(other).contains(name)).toList());
    });
    return circles;
  }

  @Test
  void classesFormNoCycles() throws IOException {
    assertTrue(sources(".").size() > 45 && names(sources(".")).get("OrtSessionFFM").contains("SessionHandle"));
    assertEquals(Set.of(List.of("OrtAllocatorFFM", "OrtEnvironmentFFM", "OrtValueRef"), List.of("OrtIoBindingFFM", "OrtSessionFFM")), circles(sources(".")));
    assertTrue(sources("../ffm").size() > 15 && sources("../generator").size() > 5);
    assertEquals(Set.of(), circles(sources("../ffm")));
    assertEquals(Set.of(), circles(sources("../generator")));
  }

  /** Returns the references to a class in a higher row of the table, or in no row. */
  private static List<String> upward(Map<String, String> sources, String table) {
    List<List<String>> rows = table.lines().filter(line -> line.startsWith("| ")).map(line -> words(line.split("\\|")[1])).toList();
    List<String> found = new ArrayList<>();
    names(sources).forEach((name, named) -> named.forEach(other -> {
      if (row(rows, name) < 0 || row(rows, other) < row(rows, name)) found.add(name + " names " + other);
    }));
    return found;
  }

  private static List<String> words(String text) {
    return WORD.matcher(text).results().map(word -> word.group()).toList();
  }

  private static int row(List<List<String>> rows, String name) {
    for (int i = 0; i < rows.size(); ++i) {
      if (rows.get(i).contains(name)) return i;
    }
    return -1;
  }

  @Test
  void classesReferToNoHigherRow() throws IOException {
    String table = Files.readString(Path.of("../README.md")).split("## Source of `api`")[1].split("\n## ")[0];
    assertEquals(List.of(), upward(sources("."), table));
    assertEquals(List.of("B names A"), upward(Map.of("A", "B b", "B", "A a"), "| `A` | x |\n| `B` | y |"));
    assertEquals(List.of("C names A"), upward(Map.of("A", "", "C", "A a"), "| `A` | x |"));
  }

  /** Returns the overloaded methods and constructors of a class that have a parameter of a class of the package. */
  private static List<String> overloadsWith(Class<?> type, String packageName) {
    List<Executable> all = new ArrayList<>(List.of(type.getConstructors()));
    all.addAll(List.of(type.getMethods()));
    return all.stream().filter(one -> Arrays.stream(one.getParameterTypes()).anyMatch(p -> p.getName().startsWith(packageName)))
        .filter(one -> all.stream().filter(other -> other.getName().equals(one.getName())).count() > 1).map(Executable::toGenericString).toList();
  }

  /**
   * A program that has this package alone can be compiled: to choose among overloads, the compiler needs the classes of
   * all their parameters, and the official package is an optional dependency.
   */
  @Test
  void noOverloadNeedsTheOfficialPackage() throws Exception {
    int classes = 0;
    for (String name : sources(".").keySet()) {
      Class<?> type = Class.forName("io.retort.onnxruntime." + name);
      if (!Modifier.isPublic(type.getModifiers())) continue;
      assertEquals(List.of(), overloadsWith(type, "ai.onnxruntime."));
      ++classes;
    }
    assertTrue(classes > 25);
    assertTrue(overloadsWith(String.class, "java.nio.charset.").size() > 2, "overloads are found");
  }

  @Test
  void aCycleIsFound() {
    Map<String, String> sources = Map.of("A", "class A { B b; }", "B", "/** D */ class B { String d = \"D\"; C c() { return null; } } // D", "C", "class C extends A {}", "D",
        "import x.A; class D { A a; }");
    assertEquals(Set.of(List.of("A", "B", "C")), circles(sources));
  }
}
