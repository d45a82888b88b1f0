package io.retort.onnxruntime.generator;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeSet;
import java.util.Set;

/** Generates the Java classes for the functions of the C interface from its tables. */
public final class Generator {
  private Generator() {}

  /**
   * @param args folder of the tables, folder for the sources
   * @throws IOException if a table cannot be read or a source cannot be written
   */
  public static void main(String[] args) throws IOException {
    if (args.length != 2) throw new IllegalArgumentException("usage: Generator ABI_FOLDER OUT_FOLDER");
    AbiTables tables = AbiTables.read(Path.of(args[0]));
    Path folder = Path.of(args[1]).resolve(Source.PACKAGE.replace('.', '/'));
    Files.createDirectories(folder);
    Set<Signature> signatures = new TreeSet<>();
    for (var struct : tables.structs().entrySet()) {
      struct.getValue().forEach(slot -> signatures.add(slot.signature()));
      write(folder, struct.getKey(), TableWriter.table(struct.getKey(), struct.getValue()));
      write(folder, struct.getKey() + "Slots", TableWriter.slots(struct.getKey(), struct.getValue()));
    }
    write(folder, "Signatures", SignatureWriter.write(signatures));
    write(folder, "OrtStructs", ConstantsWriter.structs(tables));
    write(folder, "OrtConstants", ConstantsWriter.constants(tables));
  }

  /** Writes a file only if its text changes, so that dependent classes are not compiled again. */
  private static void write(Path folder, String name, String text) throws IOException {
    Path file = folder.resolve(name + ".java");
    if (Files.exists(file) && Files.readString(file).equals(text)) return;
    Files.writeString(file, text);
  }
}
