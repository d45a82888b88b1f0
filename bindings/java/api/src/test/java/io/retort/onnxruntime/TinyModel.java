package io.retort.onnxruntime;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Writes small ONNX models: nodes without attributes over tensors. */
final class TinyModel {
  private final ByteArrayOutputStream graph = new ByteArrayOutputStream();
  private final ByteArrayOutputStream more = new ByteArrayOutputStream();

  /** z = x + y, of floats. */
  static byte[] add(Object... shape) {
    return new TinyModel().input("x", ElementType.FLOAT, shape).input("y", ElementType.FLOAT, shape).node("Add", "z", "x", "y").output("z", ElementType.FLOAT, shape).bytes();
  }

  /** y = x, of any type. */
  static byte[] identity(ElementType type, Object... shape) {
    return new TinyModel().input("x", type, shape).node("Identity", "y", "x").output("y", type, shape).bytes();
  }

  /** A chain of products of matrices that takes long. */
  static byte[] slow(int nodes, long width) {
    TinyModel model = new TinyModel().input("x", ElementType.FLOAT, width, width);
    String last = "x";
    for (int i = 0; i < nodes; ++i) {
      String next = i + 1 < nodes ? "t" + i : "y";
      model.node("MatMul", next, last, "x");
      last = next;
    }
    return model.output("y", ElementType.FLOAT, width, width).bytes();
  }

  TinyModel input(String name, ElementType type, Object... shape) {
    field(graph, 11, value(name, type, shape));
    return this;
  }

  TinyModel output(String name, ElementType type, Object... shape) {
    field(graph, 12, value(name, type, shape));
    return this;
  }

  TinyModel node(String operator, String output, String... inputs) {
    ByteArrayOutputStream node = new ByteArrayOutputStream();
    for (String input : inputs) text(node, 1, input);
    text(node, 2, output);
    text(node, 3, "make_" + output);
    text(node, 4, operator);
    field(graph, 1, node);
    return this;
  }

  TinyModel initializer(String name, float... values) {
    ByteArrayOutputStream tensor = new ByteArrayOutputStream();
    number(tensor, 1, values.length);
    number(tensor, 2, ElementType.FLOAT.value());
    text(tensor, 8, name);
    ByteBuffer raw = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    raw.asFloatBuffer().put(values);
    field(tensor, 9, raw.array());
    field(graph, 5, tensor);
    return this;
  }

  TinyModel metadata(String key, String value) {
    ByteArrayOutputStream entry = new ByteArrayOutputStream();
    text(entry, 1, key);
    text(entry, 2, value);
    field(more, 14, entry);
    return this;
  }

  byte[] bytes() {
    ByteArrayOutputStream model = new ByteArrayOutputStream();
    number(model, 1, 8);
    text(model, 2, "tiny");
    text(model, 4, "test.domain");
    number(model, 5, 7);
    text(model, 6, "described");
    text(graph, 2, "g");
    field(model, 7, graph);
    ByteArrayOutputStream opset = new ByteArrayOutputStream();
    text(opset, 1, "");
    number(opset, 2, 17);
    field(model, 8, opset);
    model.writeBytes(more.toByteArray());
    return model.toByteArray();
  }

  private static ByteArrayOutputStream value(String name, ElementType type, Object... shape) {
    ByteArrayOutputStream dims = new ByteArrayOutputStream();
    for (Object extent : shape) {
      ByteArrayOutputStream dim = new ByteArrayOutputStream();
      if (extent instanceof String param) text(dim, 2, param);
      else number(dim, 1, ((Number) extent).longValue());
      field(dims, 1, dim);
    }
    ByteArrayOutputStream tensor = new ByteArrayOutputStream();
    number(tensor, 1, type.value());
    field(tensor, 2, dims);
    ByteArrayOutputStream typeProto = new ByteArrayOutputStream();
    field(typeProto, 1, tensor);
    ByteArrayOutputStream info = new ByteArrayOutputStream();
    text(info, 1, name);
    field(info, 2, typeProto);
    return info;
  }

  private static void varint(ByteArrayOutputStream out, long value) {
    for (; (value & ~0x7fL) != 0; value >>>= 7) out.write((int) (value & 0x7f | 0x80));
    out.write((int) value);
  }

  private static void number(ByteArrayOutputStream out, int field, long value) {
    varint(out, (long) field << 3);
    varint(out, value);
  }

  private static void text(ByteArrayOutputStream out, int field, String text) {
    field(out, field, text.getBytes(StandardCharsets.UTF_8));
  }

  private static void field(ByteArrayOutputStream out, int field, ByteArrayOutputStream content) {
    field(out, field, content.toByteArray());
  }

  private static void field(ByteArrayOutputStream out, int field, byte[] content) {
    varint(out, (long) field << 3 | 2);
    varint(out, content.length);
    out.writeBytes(content);
  }
}
