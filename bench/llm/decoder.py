"""The ONNX graph of a decoder of the Llama kind: as exporters for onnxruntime-genai write it."""
import dataclasses

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from gguf_file import BLOCK, Matrix

MICROSOFT = "com.microsoft"
# Names of the forms that models are built in, and the element types of their activations.
#   int4          codes as the file has them; activations are rounded to 8 bits in products (accuracy_level 4)
#   int4_rounded  the same with zero points rounded to integers: other weights, but a form that ONNX Runtime computes fast
#   fp32, bf16    the weights that the codes stand for
FORMS = {"int4": TensorProto.FLOAT, "int4_rounded": TensorProto.FLOAT, "fp32": TensorProto.FLOAT, "bf16": TensorProto.BFLOAT16}


@dataclasses.dataclass
class Sizes:
    layers: int
    width: int
    heads: int
    kv_heads: int
    inner: int
    vocabulary: int
    positions: int
    rope_base: float
    epsilon: float

    @property
    def head(self):
        return self.width // self.heads


class Graph:
    """Collects nodes and initializers."""

    def __init__(self, form):
        self.form, self.type = form, FORMS[form]
        self.nodes, self.initializers = [], []

    def node(self, op, inputs, outputs, name, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, name=name, domain=domain, **attributes))
        return outputs[0]

    def constant(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def floats(self, name, array):
        """A constant of the type of the activations."""
        return self.constant(name, array.astype(np.float32 if self.type == TensorProto.FLOAT else ml_dtypes.bfloat16))

    def product(self, x, weight, name):
        """x · weight', with a weight [N, K]."""
        out = name + "/output_0"
        if not self.form.startswith("int4"):
            return self.node("MatMul", [x, self.floats(name + ".weight", as_floats(weight).T)], [out], name)
        weight = with_integer_zeros(weight) if self.form == "int4_rounded" else weight
        rows, columns = weight.shape
        inputs = [x, self.constant(name + ".codes", packed(weight.codes, weight.bits).reshape(rows, columns // BLOCK, -1)),
                  self.constant(name + ".scales", weight.scales)]
        if weight.zeros is not None:
            zeros = weight.zeros if self.form == "int4" else packed(weight.zeros.astype(np.uint8), weight.bits)
            inputs.append(self.constant(name + ".zeros", zeros))
        return self.node("MatMulNBits", inputs, [out], name, MICROSOFT, K=columns, N=rows, bits=weight.bits, block_size=BLOCK, accuracy_level=4)


def as_floats(weight):
    return weight.floats() if isinstance(weight, Matrix) else weight


def packed(codes, bits):
    """Rows of codes, the first one in the lowest bits of a byte."""
    if bits == 8:
        return codes
    if codes.shape[1] % 2:
        codes = np.concatenate([codes, np.zeros_like(codes[:, :1])], axis=1)
    return codes[:, 0::2] | codes[:, 1::2] << 4


def with_integer_zeros(weight):
    """The same matrix, rounded again so that zero points are integers."""
    if weight.zeros is None:
        return weight
    x = weight.floats().reshape(weight.shape[0], -1, BLOCK)
    least, most = np.minimum(x.min(axis=2), 0), np.maximum(x.max(axis=2), 0)
    scales = np.where(most > least, (most - least) / np.float32(15), np.float32(1)).astype(np.float32)
    zeros = np.clip(np.rint(-least / scales), 0, 15)
    codes = np.clip(np.rint(x / scales[:, :, None]) + zeros[:, :, None], 0, 15)
    return Matrix(weight.bits, codes.astype(np.uint8).reshape(weight.shape), scales, zeros.astype(np.float32))


def stacked(*parts):
    """Matrices below each other."""
    if not isinstance(parts[0], Matrix):
        return np.concatenate(parts)
    zeros = None if parts[0].zeros is None else np.concatenate([p.zeros for p in parts])
    return Matrix(parts[0].bits, np.concatenate([p.codes for p in parts]), np.concatenate([p.scales for p in parts]), zeros)


def embedding(g, table):
    if not g.form.startswith("int4") or not isinstance(table, Matrix):
        return g.node("Gather", [g.floats("embedding.weight", as_floats(table)), "input_ids"], ["embedding/output_0"], "embedding")
    inputs = [g.constant("embedding.codes", packed(table.codes, table.bits)), "input_ids", g.constant("embedding.scales", table.scales)]
    return g.node("GatherBlockQuantized", inputs, ["embedding/output_0"], "embedding", MICROSOFT, bits=table.bits, block_size=BLOCK, gather_axis=0,
                  quantize_axis=1)


def lengths(g):
    """The last position of each sequence, and the length of the longest, from the mask."""
    axis, one = g.constant("axis_1", np.array([1], np.int64)), g.constant("one", np.array(1, np.int64))
    total = g.node("ReduceSum", ["attention_mask", axis], ["lengths"], "lengths", keepdims=0)
    last = g.node("Sub", [total, one], ["last"], "last")
    shape = g.node("Shape", ["attention_mask"], ["mask_shape"], "mask_shape")
    longest = g.node("Gather", [shape, one], ["longest"], "longest", axis=0)
    return [g.node("Cast", [last], ["seqlens_k"], "seqlens_k", to=TensorProto.INT32),
            g.node("Cast", [longest], ["total_sequence_length"], "total_sequence_length", to=TensorProto.INT32)]


def rotation(g, sizes):
    """Tables [positions, half of a head]."""
    half = sizes.head // 2
    angles = np.arange(sizes.positions, dtype=np.float64)[:, None] * sizes.rope_base ** (-np.arange(half, dtype=np.float64) / half)
    return [g.floats("cos_cache", np.cos(angles)), g.floats("sin_cache", np.sin(angles))]


def attention(g, sizes, layer, x, weights, shared):
    at = f"layers.{layer}."
    qkv = g.product(x, stacked(*(weights(at + part) for part in ("q", "k", "v"))), at + "qkv_proj")
    cache = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
    present = [f"present.{layer}.{part}" for part in ("key", "value")]
    y = g.node("GroupQueryAttention", [qkv, "", "", *cache, *shared], [at + "attention/output_0", *present], at + "attention", MICROSOFT,
               num_heads=sizes.heads, kv_num_heads=sizes.kv_heads, do_rotary=1, rotary_interleaved=0)
    return g.product(y, weights(at + "o"), at + "o_proj")


def feed_forward(g, layer, x, weights):
    at = f"layers.{layer}."
    gate, up = (g.product(x, weights(at + part), at + part + "_proj") for part in ("gate", "up"))
    sigmoid = g.node("Sigmoid", [gate], [at + "sigmoid/output_0"], at + "sigmoid")
    swish = g.node("Mul", [gate, sigmoid], [at + "swish/output_0"], at + "swish")
    gated = g.node("Mul", [swish, up], [at + "gated/output_0"], at + "gated")
    return g.product(gated, weights(at + "down"), at + "down_proj")


def add_norm(g, sizes, stream, change, weight, name, more=True):
    """stream + change, and its norm: (norm, sum)."""
    outputs = [name + "/output_0", *(["", "", name + "/sum"] if more else [])]
    norm = g.node("SkipSimplifiedLayerNormalization", [stream, change, g.floats(name + ".weight", weight)], outputs, name, MICROSOFT,
                  epsilon=sizes.epsilon)
    return norm, name + "/sum"


def head(g, x, table):
    """Logits [batch, 1, vocabulary] of the last position alone: a prompt needs no others."""
    last = g.node("Gather", [x, g.constant("minus_one", np.array([-1], np.int64))], ["last_row"], "last_row", axis=1)
    if g.form.startswith("int4") and isinstance(table, Matrix):
        logits = g.product(last, table, "lm_head")
        g.nodes[-1].output[0] = "logits"
        return logits
    flat = g.node("Squeeze", [last, "axis_1"], ["last_row_flat"], "last_row_flat")
    rows = g.node("Gemm", [flat, "embedding.weight"], ["lm_head/output_0"], "lm_head", transB=1)
    out = rows if g.type == TensorProto.FLOAT else g.node("Cast", [rows], ["lm_head/float"], "lm_head_float", to=TensorProto.FLOAT)
    return g.node("Unsqueeze", [out, "axis_1"], ["logits"], "logits")


def build(sizes, weights, form):
    """The model. weights(name): an array of float32 [N, K] or a Matrix; vectors are arrays."""
    g = Graph(form)
    table = weights("embedding")
    stream = embedding(g, table)
    shared = [*lengths(g), *rotation(g, sizes)]
    x = g.node("SimplifiedLayerNormalization", [stream, g.floats("layers.0.input_norm.weight", weights("layers.0.input_norm"))],
               ["layers.0.input_norm/output_0"], "layers.0.input_norm", axis=-1, epsilon=sizes.epsilon, stash_type=1)
    for layer in range(sizes.layers):
        change = attention(g, sizes, layer, x, weights, shared)
        x, stream = add_norm(g, sizes, stream, change, weights(f"layers.{layer}.post_norm"), f"layers.{layer}.post_norm")
        change = feed_forward(g, layer, x, weights)
        final = layer + 1 == sizes.layers
        name = "final_norm" if final else f"layers.{layer + 1}.input_norm"
        x, stream = add_norm(g, sizes, stream, change, weights(name), name, more=not final)
    head(g, x, table)
    return model_of(g, sizes)


def model_of(g, sizes):
    def port(name, kind, *shape):
        return helper.make_tensor_value_info(name, kind, shape)

    inputs = [port("input_ids", TensorProto.INT64, "batch", "sequence"), port("attention_mask", TensorProto.INT64, "batch", "total")]
    outputs = [port("logits", TensorProto.FLOAT, "batch", 1, sizes.vocabulary)]
    for layer in range(sizes.layers):
        for part in ("key", "value"):
            inputs.append(port(f"past_key_values.{layer}.{part}", g.type, "batch", sizes.kv_heads, "past", sizes.head))
            outputs.append(port(f"present.{layer}.{part}", g.type, "batch", sizes.kv_heads, "present", sizes.head))
    graph = helper.make_graph(g.nodes, "decoder", inputs, outputs, g.initializers)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)],
                             producer_name="bench/llm")
