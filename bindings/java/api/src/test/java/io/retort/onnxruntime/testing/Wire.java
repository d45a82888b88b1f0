package io.retort.onnxruntime.testing;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** A protobuf message that is written field by field. Not thread-safe. */
final class Wire {
  private static final int VARINT = 0;
  private static final int LENGTH = 2;
  private static final int FIXED32 = 5;

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  private void varint(long value) {
    long rest = value;
    for (; (rest & ~0x7fL) != 0; rest >>>= 7) {
      out.write((int) (rest & 0x7f | 0x80));
    }
    out.write((int) rest);
  }

  private void tag(int field, int kind) {
    varint((long) field << 3 | kind);
  }

  Wire number(int field, long value) {
    tag(field, VARINT);
    varint(value);
    return this;
  }

  Wire real(int field, float value) {
    tag(field, FIXED32);
    out.writeBytes(ByteBuffer.allocate(Float.BYTES).order(ByteOrder.LITTLE_ENDIAN).putFloat(value).array());
    return this;
  }

  Wire bytes(int field, byte[] value) {
    tag(field, LENGTH);
    varint(value.length);
    out.writeBytes(value);
    return this;
  }

  Wire text(int field, String value) {
    return bytes(field, value.getBytes(StandardCharsets.UTF_8));
  }

  Wire texts(int field, List<String> values) {
    values.forEach(v -> text(field, v));
    return this;
  }

  Wire message(int field, Wire message) {
    return bytes(field, message.toBytes());
  }

  Wire messages(int field, List<Wire> messages) {
    messages.forEach(m -> message(field, m));
    return this;
  }

  Wire numbers(int field, long... values) {
    Wire packed = new Wire();
    for (long v : values) {
      packed.varint(v);
    }
    return bytes(field, packed.toBytes());
  }

  byte[] toBytes() {
    return out.toByteArray();
  }
}
