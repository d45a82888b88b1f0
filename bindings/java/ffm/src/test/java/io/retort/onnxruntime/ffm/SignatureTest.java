package io.retort.onnxruntime.ffm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Compares the generated classes with the tables, which are read here a second time, by independent code. */
class SignatureTest {
  private static final Path ABI = Path.of(System.getProperty("retort.abi", System.getenv().getOrDefault("RETORT_ABI", "../../../abi")));

  private static List<String[]> rows(String file) throws Exception {
    return Files.readAllLines(ABI.resolve(file)).stream().skip(1).map(line -> line.split("\t", -1)).toList();
  }

  /** Returns the named types that are neither pointers nor built in, with their Java types. */
  private static Map<String, Class<?>> named() throws Exception {
    Map<String, Class<?>> types = new HashMap<>(Map.of("size_t", long.class, "int64_t", long.class, "uint64_t", long.class, "int", int.class, "int32_t", int.class,
        "uint32_t", int.class, "bool", boolean.class, "float", float.class));
    types.put("void", void.class);
    for (String[] row : rows("enums.tsv")) types.put(row[0], int.class);
    for (String[] row : rows("typedefs.tsv")) {
      if (row[1].equals("function_pointer") || row[2].endsWith("*")) types.put(row[0], MemorySegment.class);
    }
    return types;
  }

  private static Class<?> type(String declared, Map<String, Class<?>> types) {
    if (declared.contains("*") || declared.contains("[]")) return MemorySegment.class;
    List<Class<?>> found = new ArrayList<>();
    for (String word : declared.split("\\s+")) {
      if (types.containsKey(word)) found.add(types.get(word));
    }
    assertEquals(1, found.size(), "types in '" + declared + "'");
    return found.get(0);
  }

  /** Returns the types of a row. Parameters of a function pointer that is a parameter are skipped. */
  private static MethodType expected(String[] row, Map<String, Class<?>> types) {
    String flat = row[6].replaceAll("\\(\\*(\\w+)\\)\\([^)]*\\)", "*$1");
    List<Class<?>> parameters = new ArrayList<>();
    if (!flat.equals("void")) {
      for (String parameter : flat.split(",")) parameters.add(type(parameter.strip(), types));
    }
    return MethodType.methodType(type(row[5], types), parameters);
  }

  @SuppressWarnings("unchecked")
  private static List<SlotInfo> slots(String struct) throws Exception {
    return (List<SlotInfo>) Class.forName("io.retort.onnxruntime.ffm." + struct + "Slots").getMethod("all").invoke(null);
  }

  @Test
  void everySlotHasTheTypesOfTheTable() throws Exception {
    Map<String, Class<?>> types = named();
    Map<String, Integer> counts = new HashMap<>();
    for (String[] row : rows("functions.tsv")) {
      counts.merge(row[0], 1, Integer::sum);
      SlotInfo slot = slots(row[0]).get(Integer.parseInt(row[1]));
      String where = row[0] + "." + row[4];
      assertEquals(row[4], slot.name(), where);
      assertEquals(Long.parseLong(row[2]), slot.offset(), where);
      assertEquals(Math.max(1, Integer.parseInt(row[3])), slot.since(), where);
      MethodType expected = expected(row, types);
      assertEquals(expected, slot.descriptor().toMethodType(), where);
      Class<?> made = Class.forName("io.retort.onnxruntime.ffm." + row[0]);
      Method method = made.getMethod(slot.method(), expected.parameterArray());
      assertEquals(expected.returnType(), method.getReturnType(), where);
    }
    for (var struct : counts.entrySet()) assertEquals(struct.getValue(), slots(struct.getKey()).size(), struct.getKey());
    assertTrue(counts.get("OrtApi") >= 428, "slots of OrtApi");
  }

  @Test
  void everyHandleHasTheAddressAndTheTypesOfItsSlot() throws Exception {
    Set<String> structs = new HashSet<>();
    for (String[] row : rows("functions.tsv")) structs.add(row[0]);
    for (String struct : structs) {
      for (SlotInfo slot : slots(struct)) {
        MethodType expected = slot.descriptor().toMethodType().insertParameterTypes(0, MemorySegment.class);
        assertEquals(expected, slot.handle().get().type(), struct + "." + slot.name());
      }
    }
  }

  @Test
  void criticalFunctionsNeitherWaitNorCallBack() throws Exception {
    List<String> critical = OrtApiSlots.all().stream().filter(SlotInfo::critical).map(SlotInfo::name).toList();
    assertFalse(critical.isEmpty());
    for (String name : critical) {
      assertFalse(name.matches("(Run|Create|Bind|Release|Copy|Synchronize|Register|Unregister|Allocator|Enable|SessionEnd|Fill|Set).*"), name);
    }
    for (SlotInfo slot : OrtApiSlots.all()) {
      if (!slot.critical()) continue;
      for (MemoryLayout layout : slot.descriptor().argumentLayouts()) assertTrue(layout instanceof ValueLayout, slot.name());
    }
  }

  @Test
  void constantsMatchTheTable() throws Exception {
    for (String[] row : rows("enums.tsv")) {
      Class<?> made = Arrays.stream(OrtConstants.class.getClasses()).filter(c -> c.getSimpleName().equals(row[0])).findFirst().orElseThrow();
      assertEquals((int) Long.parseLong(row[2]), made.getField(row[1]).getInt(null), row[0] + "." + row[1]);
    }
  }

  @Test
  void slotsOfLaterVersionsAreErrors() {
    OrtLibrary library = OrtLibrary.open(NativeLibrary.load());
    OrtApi old = new OrtApi(library.address(), 17);
    assertTrue(old.table().has(133));
    assertFalse(old.table().has(413));
    var error = assertThrows(UnsupportedOperationException.class, () -> old.runOptionsSetSyncStream(MemorySegment.NULL, MemorySegment.NULL));
    assertTrue(error.getMessage().contains("RunOptionsSetSyncStream (slot 413 of OrtApi) came with version 24"), error.getMessage());
    assertTrue(error.getMessage().contains("has version 17"), error.getMessage());
    assertNotNull(library.versionString());
  }
}
