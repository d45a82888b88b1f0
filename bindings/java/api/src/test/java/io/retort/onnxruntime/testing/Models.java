package io.retort.onnxruntime.testing;

import static io.retort.onnxruntime.testing.ModelBuilder.FLOAT;
import static io.retort.onnxruntime.testing.ModelBuilder.INT32;
import static io.retort.onnxruntime.testing.ModelBuilder.INT64;
import static io.retort.onnxruntime.testing.ModelBuilder.STRING;
import static io.retort.onnxruntime.testing.ModelBuilder.attribute;

import io.retort.onnxruntime.OnnxTensorElementType;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

/** Builds the models of the tests. They have the same bytes each time: their weights come from fixed seeds. */
public final class Models {
  private Models() {}

  /**
   * Builds a model of one node: {@code z} = {@code x} + {@code y}.
   *
   * @param dims shape of all three tensors: numbers and names
   * @return the model
   */
  public static byte[] add(Object... dims) {
    return new ModelBuilder("add").input("x", FLOAT, dims).input("y", FLOAT, dims).output("z", FLOAT, dims).node("Add", "x y", "z").bytes();
  }

  /**
   * Builds a model of one node: {@code y} = {@code x}.
   *
   * @param type element type of both tensors
   * @param dims shape of both tensors: numbers and names
   * @return the model
   */
  public static byte[] identity(OnnxTensorElementType type, Object... dims) {
    return new ModelBuilder("same").input("x", type.value(), dims).output("y", type.value(), dims).node("Identity", "x", "y").bytes();
  }

  /**
   * Builds a model of one node: {@code y} = max({@code x}, 0).
   *
   * @param dims shape of both tensors: numbers and names
   * @return the model
   */
  public static byte[] relu(Object... dims) {
    return new ModelBuilder("relu").input("x", FLOAT, dims).output("y", FLOAT, dims).node("Relu", "x", "y").bytes();
  }

  /**
   * Builds a slow model, a chain of matrix products: {@code x} [width, width] gives {@code y} of the same shape.
   *
   * @param nodes number of products
   * @param width number of rows and columns of the matrices
   * @return the model
   */
  public static byte[] slow(int nodes, long width) {
    ModelBuilder model = new ModelBuilder("slow").input("x", FLOAT, width, width).output("y", FLOAT, width, width);
    for (int i = 0; i < nodes; i++) {
      model.node("MatMul", (i == 0 ? "x" : "t" + (i - 1)) + " x", i + 1 < nodes ? "t" + i : "y");
    }
    return model.bytes();
  }

  /**
   * Builds a model with inputs of free sizes: {@code product} is {@code a} [rows, inner] times {@code b} [inner,
   * columns], and {@code largest} [rows] is the maximum of each row of it.
   *
   * @return the model
   */
  public static byte[] freeSizes() {
    return new ModelBuilder("free_sizes").input("a", FLOAT, "rows", "inner").input("b", FLOAT, "inner", "columns")
        .output("product", FLOAT, "rows", "columns").output("largest", FLOAT, "rows")
        .longs("last", new long[] {1}, -1)
        .node("MatMul", "a b", "product").node("ReduceMax", "product last", "largest", attribute("keepdims", 0)).bytes();
  }

  /** Sizes of {@link #decoder}. */
  public record DecoderSize(int layers, int heads, int headSize, int vocabulary) {
    /** Returns the number of values of a token between layers. */
    public int width() {
      return heads * headSize;
    }
  }

  /**
   * Builds a decoder with a cache of keys and values that processes one token per step. Its inputs are {@code ids}
   * int64 [1, 1] and, for each layer i, {@code past_key.i} and {@code past_value.i} float [1, heads, past, headSize].
   * Its outputs are {@code logits} [1, 1, vocabulary], {@code present_key.i} and {@code present_value.i} [1, heads,
   * past + 1, headSize]. The past may be empty.
   *
   * @param size sizes of the decoder
   * @return the model
   */
  public static byte[] decoder(DecoderSize size) {
    Weights w = new Weights(new ModelBuilder("decoder"), 7);
    ModelBuilder m = w.builder();
    m.input("ids", INT64, 1, 1).output("logits", FLOAT, 1, 1, size.vocabulary());
    m.longs("split", new long[] {4}, 1, 1, size.heads(), size.headSize()).longs("join", new long[] {3}, 1, 1, size.width());
    m.floats("scale", new long[0], (float) (1 / Math.sqrt(size.headSize())));
    w.random("embedding", size.vocabulary(), size.width());
    m.node("Gather", "embedding ids", "x.0");
    for (int i = 0; i < size.layers(); i++) {
      layer(w, size, i);
    }
    w.random("head", size.width(), size.vocabulary());
    return m.node("MatMul", "x." + size.layers() + " head", "logits").bytes();
  }

  /**
   * Builds a decoder whose cache has a fixed capacity, so that one buffer can be both past and present. Its inputs are
   * {@code ids} int64 [1, 1], {@code last} int32 [1] (the number of tokens before this one), {@code total} int32 [1]
   * (that number plus one) and, for each layer i, {@code past_key.i} and {@code past_value.i} float [1, heads, room,
   * headSize]. Its outputs are {@code logits} [1, 1, vocabulary], and {@code present_key.i} and {@code
   * present_value.i}, which have the shape of the past and one more row in use.
   *
   * @param size sizes of the decoder
   * @return the model
   */
  public static byte[] roomyDecoder(DecoderSize size) {
    Weights w = new Weights(new ModelBuilder("roomy_decoder"), 8);
    ModelBuilder m = w.builder();
    m.input("ids", INT64, 1, 1).input("last", INT32, 1).input("total", INT32, 1).output("logits", FLOAT, 1, 1, size.vocabulary());
    w.random("embedding", size.vocabulary(), size.width());
    m.node("Gather", "embedding ids", "x.0");
    for (int i = 0; i < size.layers(); i++) {
      roomyLayer(w, size, i);
    }
    w.random("head", size.width(), size.vocabulary());
    return m.node("MatMul", "x." + size.layers() + " head", "logits").bytes();
  }

  private static void roomyLayer(Weights w, DecoderSize size, int i) {
    ModelBuilder m = w.builder();
    String at = "." + i;
    for (String kind : new String[] {"key", "value"}) {
      m.input("past_" + kind + at, FLOAT, 1, size.heads(), "room", size.headSize());
      m.output("present_" + kind + at, FLOAT, 1, size.heads(), "room", size.headSize());
    }
    w.norm("norm" + at, size.width());
    m.node("LayerNormalization", "x" + at + " norm" + at + ".scale norm" + at + ".bias", "n" + at);
    for (String kind : new String[] {"query", "key", "value"}) {
      w.random(kind + "_weight" + at, size.width(), size.width());
      m.node("MatMul", "n" + at + " " + kind + "_weight" + at, kind + at);
    }
    m.contrib("GroupQueryAttention", "query" + at + " key" + at + " value" + at + " past_key" + at + " past_value" + at + " last total",
        "mixed" + at + " present_key" + at + " present_value" + at, attribute("num_heads", size.heads()), attribute("kv_num_heads", size.heads()));
    w.random("out_weight" + at, size.width(), size.width());
    m.node("MatMul", "mixed" + at + " out_weight" + at, "out" + at).node("Add", "x" + at + " out" + at, "x." + (i + 1));
  }

  private static void layer(Weights w, DecoderSize size, int i) {
    ModelBuilder m = w.builder();
    for (String kind : new String[] {"key", "value"}) {
      m.input("past_" + kind + "." + i, FLOAT, 1, size.heads(), "past", size.headSize());
      m.output("present_" + kind + "." + i, FLOAT, 1, size.heads(), "present", size.headSize());
    }
    String at = "." + i;
    w.norm("norm" + at, size.width());
    m.node("LayerNormalization", "x" + at + " norm" + at + ".scale norm" + at + ".bias", "n" + at);
    for (String kind : new String[] {"query", "key", "value"}) {
      w.random(kind + "_weight" + at, size.width(), size.width());
      m.node("MatMul", "n" + at + " " + kind + "_weight" + at, kind + "_flat" + at).node("Reshape", kind + "_flat" + at + " split", kind + "_split" + at)
          .node("Transpose", kind + "_split" + at, kind + at, attribute("perm", new long[] {0, 2, 1, 3}));
    }
    m.node("Concat", "past_key" + at + " key" + at, "present_key" + at, attribute("axis", 2));
    m.node("Concat", "past_value" + at + " value" + at, "present_value" + at, attribute("axis", 2));
    m.node("Transpose", "present_key" + at, "turned" + at, attribute("perm", new long[] {0, 1, 3, 2}));
    m.node("MatMul", "query" + at + " turned" + at, "raw" + at).node("Mul", "raw" + at + " scale", "scores" + at);
    m.node("Softmax", "scores" + at, "shares" + at, attribute("axis", -1)).node("MatMul", "shares" + at + " present_value" + at, "mixed" + at);
    m.node("Transpose", "mixed" + at, "back" + at, attribute("perm", new long[] {0, 2, 1, 3})).node("Reshape", "back" + at + " join", "joined" + at);
    w.random("out_weight" + at, size.width(), size.width());
    m.node("MatMul", "joined" + at + " out_weight" + at, "out" + at).node("Add", "x" + at + " out" + at, "x." + (i + 1));
  }

  /** A graph under construction, and the source of its weights. */
  private record Weights(ModelBuilder builder, Random random) {
    Weights(ModelBuilder builder, long seed) {
      this(builder, new Random(seed));
    }

    /** Adds a constant of small random numbers. All dimensions but the last are those that are summed over. */
    Weights random(String name, long... dims) {
      int count = 1;
      for (long d : dims) {
        count *= (int) d;
      }
      float[] values = new float[count];
      double scale = 1 / Math.sqrt((double) count / dims[dims.length - 1]);
      for (int i = 0; i < count; i++) {
        values[i] = (float) (random.nextGaussian() * scale);
      }
      builder.floats(name, dims, values);
      return this;
    }

    Weights norm(String name, int width) {
      random(name + ".scale", width);
      return random(name + ".bias", width);
    }
  }

  /**
   * Builds small models with the most common operators, by name: {@code mlp} (MatMul, Relu, Softmax), {@code
   * convolution} (Conv, pooling, Gemm), {@code normalised} (LayerNormalization, Gelu), {@code embedding} (Gather,
   * mean), {@code attention} (MatMul, Softmax). In each, the first dimension of the inputs is free ("batch"), the
   * output is "y", and the inputs are floats, except for "ids" of {@code embedding} (int64, 0 to 99).
   *
   * @return the models, in a fixed order
   */
  public static Map<String, byte[]> common() {
    Map<String, byte[]> models = new LinkedHashMap<>();
    models.put("mlp", mlp());
    models.put("convolution", convolution());
    models.put("normalised", normalised());
    models.put("embedding", embedding());
    models.put("attention", attention());
    return models;
  }

  private static byte[] mlp() {
    Weights w = new Weights(new ModelBuilder("mlp").input("x", FLOAT, "batch", 24).output("y", FLOAT, "batch", 10), 1);
    w.random("w1", 24, 48).random("b1", 48).random("w2", 48, 10);
    return w.builder().node("MatMul", "x w1", "p").node("Add", "p b1", "s").node("Relu", "s", "r").node("MatMul", "r w2", "q")
        .node("Softmax", "q", "y", attribute("axis", -1)).bytes();
  }

  private static byte[] convolution() {
    Weights w = new Weights(new ModelBuilder("convolution").input("x", FLOAT, "batch", 3, 16, 16).output("y", FLOAT, "batch", 5), 2);
    w.random("w", 8, 3, 3, 3).random("b", 8).random("g", 8, 5).random("c", 5);
    return w.builder().node("Conv", "x w b", "k", attribute("pads", new long[] {1, 1, 1, 1}), attribute("strides", new long[] {2, 2}))
        .node("Relu", "k", "r").node("GlobalAveragePool", "r", "a").node("Flatten", "a", "f").node("Gemm", "f g c", "y").bytes();
  }

  private static byte[] normalised() {
    Weights w = new Weights(new ModelBuilder("normalised").input("x", FLOAT, "batch", 32).output("y", FLOAT, "batch", 32), 3);
    w.norm("n", 32);
    return w.builder().node("LayerNormalization", "x n.scale n.bias", "n", attribute("epsilon", 1e-5f)).node("Gelu", "n", "g").node("Add", "x g", "y").bytes();
  }

  private static byte[] embedding() {
    Weights w = new Weights(new ModelBuilder("embedding").input("ids", INT64, "batch", "length").output("y", FLOAT, "batch", 16), 4);
    w.random("table", 100, 16);
    return w.builder().longs("axis", new long[] {1}, 1).node("Gather", "table ids", "e").node("ReduceMean", "e axis", "y", attribute("keepdims", 0)).bytes();
  }

  private static byte[] attention() {
    return new ModelBuilder("attention").input("q", FLOAT, "batch", 6, 8).input("k", FLOAT, "batch", 7, 8).input("v", FLOAT, "batch", 7, 8)
        .output("y", FLOAT, "batch", 6, 8).node("Transpose", "k", "t", attribute("perm", new long[] {0, 2, 1})).node("MatMul", "q t", "s")
        .node("Softmax", "s", "p", attribute("axis", -1)).node("MatMul", "p v", "y").bytes();
  }

  /**
   * Builds a model of strings: {@code joined} = {@code first}, {@code " "} and {@code second} joined; {@code same} =
   * {@code first}. All have the shape [count].
   *
   * @return the model
   */
  public static byte[] strings() {
    return new ModelBuilder("strings").input("first", STRING, "count").input("second", STRING, "count")
        .output("joined", STRING, "count").output("same", STRING, "count").strings("space", new long[] {1}, " ")
        .node("StringConcat", "first space", "open").node("StringConcat", "open second", "joined").node("Identity", "first", "same").bytes();
  }
}
