package io.retort.examples;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads numpy files of bytes (version 1.0 of the format: magic, version, length of the header, header, data). */
final class Npy {
  private static final int FIXED = 10;

  private Npy() {}

  /** The elements, row by row. */
  static byte[] bytes(Path file) throws IOException {
    ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    if (all.capacity() < FIXED || !StandardCharsets.ISO_8859_1.decode(all.slice(1, 5)).toString().equals("NUMPY")) throw new IOException(file + " is no .npy file");
    int header = Short.toUnsignedInt(all.getShort(FIXED - 2));
    if (all.capacity() < FIXED + header || !StandardCharsets.ISO_8859_1.decode(all.slice(FIXED, header)).toString().contains("'|u1'"))
      throw new IOException(file + " does not hold bytes");
    byte[] data = new byte[all.capacity() - FIXED - header];
    all.get(FIXED + header, data);
    return data;
  }
}
