package io.retort.onnxruntime.ffm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Addresses of the functions of a table, read once. Thread-safe. */
public final class SlotTable {
  private final String struct;
  private final String names;
  private final int version;
  private final MemorySegment[] slots;

  /**
   * @param struct name of the table
   * @param names a line per slot: name and version that added it
   * @param table address of the table
   * @param version version that the library was asked for; slots of later ones lie behind the end of the table and are not read
   */
  SlotTable(String struct, String names, MemorySegment table, int version) {
    this.struct = struct;
    this.names = names;
    this.version = version;
    String[] lines = names.split("\n");
    MemorySegment addresses = table.reinterpret(ValueLayout.ADDRESS.byteSize() * lines.length);
    slots = new MemorySegment[lines.length];
    for (int i = 0; i < lines.length; ++i) {
      if (since(lines[i]) <= version) slots[i] = addresses.getAtIndex(ValueLayout.ADDRESS, i);
    }
  }

  /**
   * @param slot place in the table
   * @return address of the function
   * @throws UnsupportedOperationException if the library is older than the function
   */
  public MemorySegment at(int slot) {
    MemorySegment address = slots[slot];
    if (address == null) throw tooOld(slot);
    return address;
  }

  /**
   * @param slot place in the table
   * @return whether the library has the function
   */
  public boolean has(int slot) {
    return slots[slot] != null;
  }

  /**
   * @return the version that the library was asked for
   */
  public int version() {
    return version;
  }

  private UnsupportedOperationException tooOld(int slot) {
    String line = names.split("\n")[slot];
    return new UnsupportedOperationException(line.substring(0, line.indexOf(' ')) + " (slot " + slot + " of " + struct + ") came with version " + since(line)
        + " of the C interface, the library that is loaded has version " + version + ": load a newer one");
  }

  private static int since(String line) {
    return Integer.parseInt(line.substring(line.indexOf(' ') + 1));
  }

  /** Handles declare Throwable; what they throw is unchecked. */
  static RuntimeException rethrown(Throwable e) {
    if (e instanceof RuntimeException unchecked) return unchecked;
    if (e instanceof Error error) throw error;
    return new IllegalStateException("a call of the library threw", e);
  }
}
