package io.retort.onnxruntime.ffm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * Checks a library on Linux before {@code dlopen} gets it, for two reasons. {@code dlopen} maps a truncated file (after
 * a full disk or an interrupted download) as if it were complete, and the process crashes when it reads beyond the end.
 * For a library for another processor it reports that the file does not exist.
 */
final class ElfFile {
  private static final int HEADER_BYTES = 64;
  private static final int MAGIC = 0x464c457f;  // 0x7f 'E' 'L' 'F', read little-endian
  private static final int CLASS_64 = 2;
  private static final int LITTLE_ENDIAN = 1;
  private static final int PHDR_BYTES = 56;
  private static final int LOADED = 1;
  private static final Map<Integer, String> PROCESSORS = Map.of(62, "x64", 183, "aarch64");

  private ElfFile() {}

  /**
   * Returns why the file is not complete or not for that processor. Returns empty if it is both, and for files of a
   * kind that this class does not know: the system checks these.
   */
  static Optional<String> defect(Path file, String arch) throws IOException {
    try (FileChannel channel = FileChannel.open(file)) {
      long size = channel.size();
      ByteBuffer header = read(channel, 0, HEADER_BYTES);
      if (header == null || header.getInt(0) != MAGIC || header.get(4) != CLASS_64 || header.get(5) != LITTLE_ENDIAN || header.getShort(54) != PHDR_BYTES) {
        return Optional.empty();
      }
      String made = PROCESSORS.get((int) header.getShort(18));
      if (made != null && PROCESSORS.containsValue(arch) && !made.equals(arch)) {
        return Optional.of("the library is for " + made + ", but this Java runs on " + arch);
      }
      long at = header.getLong(32);
      int count = Short.toUnsignedInt(header.getShort(56));
      ByteBuffer segments = at < 0 || at > size ? null : read(channel, at, count * PHDR_BYTES);
      if (segments == null) {
        return Optional.of("the file is truncated: it has " + size + " bytes, and its program headers would be beyond them");
      }
      // The section headers are at the end of most files, so this check finds even files that lack only symbols.
      long sections = header.getLong(40);
      long needed = sections <= 0 ? 0 : sections + (long) Short.toUnsignedInt(header.getShort(58)) * Short.toUnsignedInt(header.getShort(60));
      for (int i = 0; i < count; i++) {
        int segment = i * PHDR_BYTES;
        if (segments.getInt(segment) == LOADED) {
          long end = segments.getLong(segment + 8) + segments.getLong(segment + 32);
          needed = end < 0 ? Long.MAX_VALUE : Math.max(needed, end);
        }
      }
      return needed > size ? Optional.of("the file is truncated: it has " + size + " bytes and needs " + needed + " or more") : Optional.empty();
    }
  }

  private static ByteBuffer read(FileChannel channel, long at, int bytes) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    while (buffer.hasRemaining()) {
      if (channel.read(buffer, at + buffer.position()) < 0) {
        return null;
      }
    }
    return buffer;
  }
}
