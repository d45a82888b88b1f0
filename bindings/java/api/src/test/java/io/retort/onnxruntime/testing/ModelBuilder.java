package io.retort.onnxruntime.testing;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Builds ONNX models for tests. A model has nodes, in the order in which they are added, initializers, inputs and
 * outputs.
 *
 * <p>Dimensions are numbers, names (symbolic), or {@code null} (unknown). Nothing is checked, because tests of errors
 * need invalid models. Not thread-safe.
 */
public final class ModelBuilder {
  /** 32-bit floats. This constant and the next ones are element types with their numbers in ONNX. */
  public static final int FLOAT = 1;
  /** 32-bit integers. */
  public static final int INT32 = 6;
  /** 64-bit integers. */
  public static final int INT64 = 7;
  /** Strings. */
  public static final int STRING = 8;

  /** This IR version and opset are the newest that ONNX Runtime 1.17 supports. */
  private static final int IR_VERSION = 9;
  private static final int OPSET = 20;
  private static final String CONTRIB = "com.microsoft";

  private final String name;
  private final List<Wire> nodes = new ArrayList<>();
  private final List<Wire> initializers = new ArrayList<>();
  private final List<Wire> inputs = new ArrayList<>();
  private final List<Wire> outputs = new ArrayList<>();

  /**
   * Creates a model with an empty graph.
   *
   * @param name name of the graph
   */
  public ModelBuilder(String name) {
    this.name = name;
  }

  /**
   * An attribute of a node.
   *
   * @param name name of the attribute
   * @param value a Number, a String, a long[], or a float (Float)
   */
  public record Attribute(String name, Object value) {
    Wire wire() {
      Wire w = new Wire().text(1, name);
      return switch (value) {
        case Float f -> w.real(2, f).number(20, 1);
        case Number n -> w.number(3, n.longValue()).number(20, 2);
        case String s -> w.text(4, s).number(20, 3);
        case long[] ints -> w.numbers(8, ints).number(20, 7);
        default -> throw new IllegalArgumentException("attribute " + name + " of " + value.getClass());
      };
    }
  }

  /**
   * Creates an attribute of a node.
   *
   * @param name name of the attribute
   * @param value a Float, another Number (integer), a String or a long[]
   * @return the attribute
   */
  public static Attribute attribute(String name, Object value) {
    return new Attribute(name, value);
  }

  /**
   * Adds an input of the graph.
   *
   * @param input name of the input
   * @param type number of the element type
   * @param dims numbers, names, or null
   * @return this
   */
  public ModelBuilder input(String input, int type, Object... dims) {
    inputs.add(value(input, type, dims));
    return this;
  }

  /**
   * Adds an output of the graph.
   *
   * @param output name of the output
   * @param type number of the element type
   * @param dims numbers, names, or null
   * @return this
   */
  public ModelBuilder output(String output, int type, Object... dims) {
    outputs.add(value(output, type, dims));
    return this;
  }

  private static Wire value(String name, int type, Object... dims) {
    Wire shape = new Wire();
    for (Object dim : dims) {
      Wire one = new Wire();
      if (dim instanceof Number n) {
        one.number(1, n.longValue());
      } else if (dim instanceof String s) {
        one.text(2, s);
      }
      shape.message(1, one);
    }
    Wire tensor = new Wire().number(1, type).message(2, shape);
    return new Wire().text(1, name).message(2, new Wire().message(1, tensor));
  }

  /**
   * Adds a node of the standard domain. Its name is the name of its first output.
   *
   * @param op operator type
   * @param from names of the inputs, separated by spaces; {@code _} for an input that is left out
   * @param to names of the outputs, separated by spaces
   * @param attributes attributes of the node
   * @return this
   */
  public ModelBuilder node(String op, String from, String to, Attribute... attributes) {
    return nodeOf("", op, from, to, attributes);
  }

  /**
   * Adds a node of ONNX Runtime's own domain.
   *
   * @param op operator type
   * @param from names of the inputs, as for {@link #node}
   * @param to names of the outputs
   * @param attributes attributes of the node
   * @return this
   */
  public ModelBuilder contrib(String op, String from, String to, Attribute... attributes) {
    return nodeOf(CONTRIB, op, from, to, attributes);
  }

  private ModelBuilder nodeOf(String domain, String op, String from, String to, Attribute... attributes) {
    List<String> names = from.isEmpty() ? List.of() : Arrays.stream(from.split(" ")).map(n -> n.equals("_") ? "" : n).toList();
    List<String> results = List.of(to.split(" "));
    nodes.add(new Wire().texts(1, names).texts(2, results).text(3, results.get(0)).text(4, op)
        .messages(5, Arrays.stream(attributes).map(Attribute::wire).toList()).text(7, domain));
    return this;
  }

  private static Wire tensor(String name, int type, long[] dims) {
    return new Wire().numbers(1, dims).number(2, type).text(8, name);
  }

  /**
   * Adds an initializer of floats.
   *
   * @param constant name of the initializer
   * @param dims shape of the initializer
   * @param values the elements, row by row
   * @return this
   */
  public ModelBuilder floats(String constant, long[] dims, float... values) {
    ByteBuffer raw = ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    raw.asFloatBuffer().put(values);
    initializers.add(tensor(constant, FLOAT, dims).bytes(9, raw.array()));
    return this;
  }

  /**
   * Adds an initializer of 64-bit integers.
   *
   * @param constant name of the initializer
   * @param dims shape of the initializer
   * @param values the elements, row by row
   * @return this
   */
  public ModelBuilder longs(String constant, long[] dims, long... values) {
    ByteBuffer raw = ByteBuffer.allocate(values.length * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    raw.asLongBuffer().put(values);
    initializers.add(tensor(constant, INT64, dims).bytes(9, raw.array()));
    return this;
  }

  /**
   * Adds an initializer of strings.
   *
   * @param constant name of the initializer
   * @param dims shape of the initializer
   * @param values the elements, row by row
   * @return this
   */
  public ModelBuilder strings(String constant, long[] dims, String... values) {
    initializers.add(tensor(constant, STRING, dims).texts(6, List.of(values)));
    return this;
  }

  /**
   * Returns the model as the content of a file.
   *
   * @return a new array
   */
  public byte[] bytes() {
    Wire graph = new Wire().messages(1, nodes).text(2, name).messages(5, initializers).messages(11, inputs).messages(12, outputs);
    return new Wire().number(1, IR_VERSION).text(2, "retort tests").message(7, graph).message(8, new Wire().text(1, "").number(2, OPSET))
        .message(8, new Wire().text(1, CONTRIB).number(2, 1)).toBytes();
  }
}
