package io.retort.onnxruntime.generator;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Writes the classes of a function table: one with a method per function, one that describes the slots. */
final class TableWriter {
  private TableWriter() {}

  /** Writes the class with a method per slot. */
  static String table(String struct, List<Slot> slots) {
    StringBuilder out = Source.header();
    out.append("import java.lang.foreign.MemorySegment;\n\n");
    out.append("/** Calls the functions of ").append(struct).append(". Arguments are not checked. Thread-safe. */\n");
    out.append("public final class ").append(struct).append(" {\n");
    out.append("  /** Number of slots in the newest version. */\n  public static final int SLOTS = ").append(slots.size()).append(";\n\n");
    out.append("  private final SlotTable table;\n\n");
    out.append("  /**\n   * @param table address of the table\n   * @param version the version that the library was asked for\n   */\n");
    out.append("  public ").append(struct).append("(MemorySegment table, int version) {\n");
    out.append("    this.table = new SlotTable(\"").append(struct).append("\", NAMES, table, version);\n  }\n\n");
    out.append("  /**\n   * @return the addresses of the functions\n   */\n  public SlotTable table() {\n    return table;\n  }\n");
    slots.forEach(slot -> call(out, slot));
    out.append("\n  /** Numbers of the slots, for hand-written calls. */\n  static final class Index {\n");
    slots.forEach(slot -> out.append("    static final int ").append(Source.constant(slot.name())).append(" = ").append(slot.index()).append(";\n"));
    out.append("\n    private Index() {}\n  }\n");
    out.append("\n  private static final String NAMES = \"\"\"\n");
    slots.forEach(slot -> out.append("      ").append(slot.name()).append(' ').append(slot.since()).append('\n'));
    return out.append("      \"\"\";\n}\n").toString();
  }

  private static void call(StringBuilder out, Slot slot) {
    List<CType> types = slot.signature().parameters();
    String parameters = IntStream.range(0, types.size()).mapToObj(i -> types.get(i).java + " " + slot.names().get(i)).collect(Collectors.joining(", "));
    String arguments = slot.names().stream().map(name -> ", " + name).collect(Collectors.joining());
    CType result = slot.signature().result();
    out.append("\n  /** Slot ").append(slot.index()).append(", since version ").append(slot.since()).append(": {@code ").append(slot.declaration()).append("}. */\n");
    out.append("  public ").append(result.java).append(' ').append(slot.method()).append('(').append(parameters).append(") {\n    try {\n      ");
    if (result != CType.VOID) out.append("return (").append(result.java).append(") ");
    out.append("Signatures.").append(slot.signature().holder()).append(".HANDLE.invokeExact(table.at(").append(slot.index()).append(')').append(arguments).append(");\n");
    out.append("    } catch (Throwable e) {\n      throw SlotTable.rethrown(e);\n    }\n  }\n");
  }

  /** Writes the class that lists the slots, for tests. */
  static String slots(String struct, List<Slot> slots) {
    StringBuilder out = Source.header();
    out.append("import java.util.List;\n\n/** The slots of ").append(struct).append(". */\n");
    out.append("public final class ").append(struct).append("Slots {\n  private ").append(struct).append("Slots() {}\n\n");
    out.append("  /**\n   * @return the slots, in order\n   */\n  public static List<SlotInfo> all() {\n    return List.of(\n");
    String rows = slots.stream().map(TableWriter::row).collect(Collectors.joining(",\n"));
    return out.append(rows).append(");\n  }\n}\n").toString();
  }

  private static String row(Slot slot) {
    String holder = "Signatures." + slot.signature().holder();
    return "        new SlotInfo(" + slot.index() + ", " + slot.offset() + "L, " + slot.since() + ", \"" + slot.name() + "\", \"" + slot.method() + "\", " + holder
        + ".DESCRIPTOR, () -> " + holder + ".HANDLE, " + slot.signature().critical() + ")";
  }
}
