package io.retort.onnxruntime.ffm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The function pointers of a table of the C interface, read once. Thread-safe. */
public final class SlotTable {
  private final String struct;
  private final String names;
  private final int version;
  private final MemorySegment[] slots;

  /**
   * @param struct name of the table
   * @param names one line per slot: the name and the version that added it
   * @param table address of the table
   * @param version the version that the library was asked for; slots of later versions are beyond the end of the table
   * and are not read
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
   * @param slot number of the slot
   * @return address of the function
   * @throws UnsupportedOperationException if the library is older than the function
   */
  public MemorySegment at(int slot) {
    MemorySegment address = slots[slot];
    if (address == null) throw tooOld(slot);
    return address;
  }

  /**
   * @param slot number of the slot
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
        + " of the C interface, but the loaded library has version " + version + ": load a newer one");
  }

  private static int since(String line) {
    return Integer.parseInt(line.substring(line.indexOf(' ') + 1));
  }

  /**
   * Returns an exception to throw. Method handles declare Throwable, but those of the library throw unchecked
   * exceptions only.
   */
  static RuntimeException rethrown(Throwable e) {
    if (e instanceof RuntimeException unchecked) return unchecked;
    if (e instanceof Error error) throw error;
    return new IllegalStateException("a call of the library threw", e);
  }
}
