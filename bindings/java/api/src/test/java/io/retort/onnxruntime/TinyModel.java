package io.retort.onnxruntime;

import io.retort.onnxruntime.testing.ModelBuilder;

/** Models of one or a few nodes. */
final class TinyModel {
  private TinyModel() {}

  /** z = x + y, of floats. */
  static byte[] add(Object... shape) {
    int type = ModelBuilder.FLOAT;
    return new ModelBuilder("add").input("x", type, shape).input("y", type, shape).node("Add", "x y", "z").output("z", type, shape).bytes();
  }

  /** y = x, of any type. */
  static byte[] identity(ElementType type, Object... shape) {
    return new ModelBuilder("same").input("x", type.value(), shape).node("Identity", "x", "y").output("y", type.value(), shape).bytes();
  }

  /** y = the positive part of x, of floats. */
  static byte[] relu(Object... shape) {
    return new ModelBuilder("relu").input("x", ModelBuilder.FLOAT, shape).node("Relu", "x", "y").output("y", ModelBuilder.FLOAT, shape).bytes();
  }

  /** A chain of products of matrices that takes long. */
  static byte[] slow(int nodes, long width) {
    ModelBuilder model = new ModelBuilder("slow").input("x", ModelBuilder.FLOAT, width, width);
    String last = "x";
    for (int i = 0; i < nodes; ++i) {
      String next = i + 1 < nodes ? "t" + i : "y";
      model.node("MatMul", last + " x", next);
      last = next;
    }
    return model.output("y", ModelBuilder.FLOAT, width, width).bytes();
  }
}
