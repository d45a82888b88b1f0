#!/usr/bin/env python3
"""Runs the rows of operator_differences.tsv on both engines: each row here has models of one operator, and says what
Retort and official ONNX Runtime do with them. A row that is not here is named in NOT_RUN with a reason.

    difference_rows.py LIBRARY OFFICIAL [WORD ...]     only the rows whose operators or condition contain a WORD
"""
import csv
import os
import sys

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, os.pardir, "tools", "fuzzing"))
from engines import Worker  # noqa: E402
from numbers_of import element, from_wire, to_wire  # noqa: E402

sys.path.insert(0, HERE)
import search_cases  # noqa: E402

f32, i32, i64, u8, i8 = np.float32, np.int32, np.int64, np.uint8, np.int8
INF, NAN = np.float32(np.inf), np.float32(np.nan)
MS, ML = "com.microsoft", "ai.onnx.ml"
ROWS = []  # (operators, condition, [(ours, theirs, model, inputs, outputs)])


class Fixed:
    """An input that is an initializer of the model."""

    def __init__(self, array):
        self.array = array


def A(*values, dtype=f32, shape=None):
    array = np.array(values, dtype)
    return array if shape is None else array.reshape(shape)


def model(op, inputs, outputs=1, opset=23, domain="", ranks=False, **attributes):
    """(bytes, inputs, names of outputs) of a model of one node. inputs: arrays, Fixed arrays or None (left out). ranks: it tells no extents."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    while names and not names[-1]:
        names.pop()
    out = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
    given = [(n, x) for n, x in zip(names, inputs) if n and not isinstance(x, Fixed)]
    node = helper.make_node(op, names, out, domain=domain, **{k: v for k, v in attributes.items() if v is not None})
    ports = [helper.make_tensor_value_info(n, element(x), [None] * x.ndim if ranks else x.shape) for n, x in given]
    graph = helper.make_graph([node], "g", ports, [helper.ValueInfoProto(name=o) for o in out if o],
                              [numpy_helper.from_array(x.array, n) for n, x in zip(names, inputs) if isinstance(x, Fixed)])
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, {ML: 3}.get(domain, 1))] if domain else [])
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return proto.SerializeToString(), [(n, to_wire(x)) for n, x in given], [o for o in out if o]


class Error:
    """An error whose text contains `word`."""

    def __init__(self, word=""):
        self.word = word

    def check(self, outcome):
        return None if outcome[0] == "error" and self.word in outcome[-1] else f"no error with '{self.word}'"


class Crash:
    def check(self, outcome):
        return None if outcome[0] == "crash" else "it does not end"


class Anything:
    """Results that are undefined, but a run that ends."""

    def check(self, outcome):
        return None if outcome[0] == "ok" else "it does not run"


class Undefined:
    """Results of memory that nothing wrote, or an error."""

    def check(self, outcome):
        return None if outcome[0] in ("ok", "error") else "it does not end well"


class Differs:
    """Results that are not those of Retort."""

    def check(self, outcome):
        return None if outcome[0] == "ok" and outcome[1] != self.ours[1] else "it does not run, or agrees with Retort"


class Result:
    """Results by shape, values (NaN equals NaN) or a function of the arrays; None: not looked at."""

    def __init__(self, *wanted, tolerance=1e-5):
        self.wanted, self.tolerance = wanted, tolerance

    def check(self, outcome):
        if outcome[0] != "ok":
            return "it does not run"
        got = [from_wire(v) for v in outcome[1]]
        for i, (w, g) in enumerate(zip(self.wanted, got)):
            if callable(w) and not w(g):
                return f"output {i} is {g!r}"
            if w is None or callable(w):
                continue
            w = np.asarray(w)
            if w.shape != g.shape or not np.allclose(w.astype(np.float64), g.astype(np.float64), self.tolerance, self.tolerance, equal_nan=True):
                return f"output {i} is {g!r} and not {w!r}"
        return None


def shape(*extents):
    return lambda g: g.shape == extents


def other(*wanted):
    """Results that are not `wanted`."""
    return lambda g: not (g.shape == np.asarray(wanted[0]).shape and np.allclose(g.astype(np.float64), np.asarray(wanted[0], np.float64), 1e-4, 1e-4, equal_nan=True))


def row(operators, condition):
    def add(function):
        ROWS.append((operators, condition, list(function())))
        return function
    return add


NOT_RUN = {}


@row("MaxPool, AveragePool, LpPool", "auto_pad SAME with dilations")
def _():
    x = np.arange(8, dtype=f32).reshape(1, 1, 8)
    for op, more in (("MaxPool", {}), ("AveragePool", {}), ("LpPool", {"p": 2})):
        yield Result(shape(1, 1, 4)), Result(lambda g: g.shape[2] < 4), model(op, [x], auto_pad="SAME_UPPER", kernel_shape=[3], dilations=[2], strides=[2], **more)


@row("AveragePool, LpPool", "auto_pad SAME_LOWER; strides leave out an even number of elements")
def _():
    x = np.arange(1, 8, dtype=f32).reshape(1, 1, 7)  # two windows of one element, 4 apart, leave out two at the ends
    for op in ("AveragePool", "LpPool"):
        yield Result([[[2, 6]]]), Result(other([[[2, 6]]])), model(op, [x], auto_pad="SAME_LOWER", kernel_shape=[1], strides=[4])


@row("MaxPool, AveragePool, LpPool, com.microsoft.NhwcMaxPool", "a window longer than the padded input, by less than a stride")
def _():
    x = np.ones((1, 1, 3), f32)
    for op in ("MaxPool", "AveragePool", "LpPool"):
        yield Result(shape(1, 1, 0)), Result(shape(1, 1, 1)), model(op, [x], kernel_shape=[4], strides=[2], opset=13)


@row("MaxPool, GlobalMaxPool, ReduceMax, ReduceMin", "NaN among the elements")
def _():
    x = A(NAN, 1, 2, 3)
    for inputs in ([x, Fixed(A(0, dtype=i64))], [x[::-1].copy(), Fixed(A(0, dtype=i64))]):
        yield Result([NAN]), Result(shape(1)), model("ReduceMax", inputs)
        yield Result([NAN]), Result(shape(1)), model("ReduceMin", inputs)
    yield Result([[[NAN]]]), Result(shape(1, 1, 1)), model("MaxPool", [x.reshape(1, 1, 4)], kernel_shape=[4])
    yield Result([[[NAN]]]), Result(shape(1, 1, 1)), model("GlobalMaxPool", [x.reshape(1, 1, 4)])


@row("ConvTranspose", "auto_pad SAME and strides longer than the kernel")
def _():
    x, w = np.ones((1, 1, 3), f32), np.ones((1, 1, 1), f32)
    yield Result(shape(1, 1, 9)), Result(lambda g: g.shape[2] < 9), model("ConvTranspose", [x, Fixed(w)], auto_pad="SAME_UPPER", strides=[3])


@row("Concat", "an empty input whose other extents differ")
def _():
    yield Error(), Anything(), model("Concat", [np.ones((2, 3), f32), np.zeros((0, 4), f32)], axis=0, ranks=True)


@row("Split", "num_outputs, of which all but the last together are longer than the axis")
def _():
    yield Result(shape(2), shape(2), shape(1), shape(0)), Error("num_outputs"), model("Split", [A(1, 2, 3, 4, 5)], 4, num_outputs=4)


@row("Pad", "mode reflect, with more padding than the axis has elements")
def _():
    yield Result([1, 2, 3, 2, 1, 2, 3, 2, 1, 2]), Error(), model("Pad", [A(1, 2, 3), Fixed(A(0, 7, dtype=i64))], mode="reflect")


@row("ReduceMean", "no elements")
def _():
    yield Result([NAN]), Result([0]), model("ReduceMean", [np.zeros(0, f32), Fixed(A(0, dtype=i64))])


@row("ReduceMin, ReduceMax", "booleans, and no elements to reduce")
def _():
    for op, value in (("ReduceMin", True), ("ReduceMax", False)):
        yield Result([value]), Error(), model(op, [np.zeros(0, bool), Fixed(A(0, dtype=i64))])


@row("MatMulInteger, QLinearMatMul", "sums of no products (K is 0)")
def _():
    yield Result(np.zeros((2, 3))), Anything(), model("MatMulInteger", [np.zeros((2, 0), u8), np.zeros((0, 3), u8)])
    s = Fixed(A(1, shape=()))
    z = Fixed(A(7, dtype=u8, shape=()))
    yield Result(np.full((2, 3), 7)), Anything(), model("QLinearMatMul", [np.zeros((2, 0), u8), s, z, np.zeros((0, 3), u8), s, z, s, z])


NOT_RUN["MatMulInteger, QLinearMatMul, QLinearConv and com.microsoft's forms of them",
        "processors with AVX2 and without VNNI; both codes of 8 bits"] = "it depends on the processor; src/session/engine_tests/quantized_sums_test.cc"
NOT_RUN["DynamicQuantizeLSTM", "processors with AVX2 and without VNNI; both codes of 8 bits"] = "it depends on the processor"
NOT_RUN["com.microsoft.MatMulNBits", "accuracy_level 4, blocks of up to 64, 24 rows and more, a processor with AMX"] = \
    "it depends on the processor; src/kernels/gemm/gemm_nbits_test.cc"


@row("MatMul, Gemm", "the second matrix comes from DequantizeLinear of constant codes, the first one has floats")
def _():
    g = np.random.default_rng(1)
    x, codes = g.standard_normal((4, 64), f32), g.integers(0, 15, (64, 32)).astype(u8)
    scale, zero = np.full((2, 32), 0.1, f32), np.full((2, 32), 8, u8)
    product = x.astype(np.float64) @ ((codes.astype(np.float64) - 8) * np.float32(0.1))
    nodes = [helper.make_node("DequantizeLinear", ["c", "s", "z"], ["w"], axis=0, block_size=32), helper.make_node("MatMul", ["x", "w"], ["y"])]
    four = [helper.make_tensor(n, TensorProto.UINT4, a.shape, a.ravel().tolist()) for n, a in (("c", codes), ("z", zero))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [4, 64])], [helper.make_tensor_value_info("y", 1, [4, 32])],
                              [*four, numpy_helper.from_array(scale, "s")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    exact = lambda y: np.abs(y - product).max() < 1e-4
    yield Result(exact), Result(lambda y: 1e-4 < np.abs(y - product).max() < 0.5), (proto.SerializeToString(), [("x", to_wire(x))], ["y"])


@row("Unique", "NaN among the elements")
def _():
    yield Result([1, 2, 3, NAN]), Result(lambda g: g.shape != (4,) or np.isnan(g).sum() != 1 or len(set(g[~np.isnan(g)].tolist())) != 3), \
        model("Unique", [A(3, NAN, 1, NAN, 2)], sorted=1)


@row("Dropout before opset 12", "mask outside of training")
def _():
    yield Result(None, lambda g: (g == 1).all()), Result(None, lambda g: (g == 0).all()), model("Dropout", [A(1, 2)], 2, opset=10)
    yield Result(None, lambda g: (g == 1).all()), Result(None, lambda g: (g == 0).all()), model("Dropout", [A(1, 2)], 2, opset=7)


@row("MeanVarianceNormalization", "all elements are equal")
def _():
    yield Result(np.zeros((1, 1, 2, 2))), Result(lambda g: np.isnan(g).any()), model("MeanVarianceNormalization", [np.full((1, 1, 2, 2), 3, f32)], opset=9)
    yield Result(np.zeros((1, 1, 2, 2))), Result(lambda g: np.isnan(g).any()), model("MeanVarianceNormalization", [np.full((1, 1, 2, 2), 3, f32)], opset=13)


@row("HannWindow, HammingWindow, BlackmanWindow", "one element, not periodic")
def _():
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        yield Result(lambda g: np.isfinite(g).all()), Result(lambda g: np.isnan(g).all()), model(op, [A(1, dtype=i64, shape=())], periodic=0)


def heads(random, batch, count, length, size=4, kind=f32):
    return random.standard_normal((batch, count, length, size)).astype(kind)


@row("Attention", "output 3: scores that a mask hides")
def _():
    g = np.random.default_rng(2)
    q = heads(g, 1, 1, 2)
    made = model("Attention", [q, q, q], ["y", "", "", "scores"], is_causal=1, qk_matmul_output_mode=2)
    yield Result(None, lambda s: s[0, 0, 0, 1] == -np.inf), Result(None, lambda s: np.isfinite(s[0, 0, 0, 1]) and s[0, 0, 0, 1] < -1e37), made


@row("Attention", "is_causal, a past, one query and several new keys")
def _():
    g = np.random.default_rng(3)
    q, k, past = heads(g, 1, 1, 1), heads(g, 1, 1, 4), heads(g, 1, 1, 3)
    keys = np.concatenate([past, k], 2)[0, 0].astype(np.float64)
    scores = q[0, 0].astype(np.float64) @ keys.T / 2
    hidden = np.arange(7)[None] > 3
    e = np.exp(np.where(hidden, -np.inf, scores))
    wanted = (e / e.sum(1, keepdims=True) @ keys)[None, None]
    yield Result(wanted), Result(other(wanted)), model("Attention", [q, k, k, None, past, past], 3, is_causal=1)


@row("Attention", "attn_mask of unsigned integers, with is_causal or a window")
def _():
    g = np.random.default_rng(4)
    q = heads(g, 1, 1, 3)
    mask = Fixed(np.zeros((3, 3), u8))
    hidden = np.triu(np.ones((3, 3), bool), 1)
    x = q[0, 0].astype(np.float64)
    e = np.exp(np.where(hidden, -np.inf, x @ x.T / 2))
    wanted = (e / e.sum(1, keepdims=True) @ x)[None, None]
    yield Result(wanted), Result(other(wanted)), model("Attention", [q, q, q, mask], is_causal=1)


def tree(kind, **more):
    return {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0], "nodes_values": [0.0, 0.0, 0.0],
            "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0], **more}


@row("TreeEnsembleRegressor", "base_values, and a target that no leaf adds to")
def _():
    made = model("TreeEnsembleRegressor", [A(1, shape=(1, 1))], domain=ML, **tree("r", target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[1.0, 2.0]),
                 n_targets=2, base_values=[10.0, 20.0])
    yield Result([[12, 20]]), Result([[12, 0]]), made


@row("TreeEnsembleClassifier", "two classes of integer labels, and leaves that add to both of them")
def _():
    made = model("TreeEnsembleClassifier", [A(1, -1, shape=(2, 1))], 2, domain=ML,
                 **tree("c", class_treeids=[0, 0], class_nodeids=[1, 2], class_ids=[0, 1], class_weights=[0.2, 0.8]), classlabels_int64s=[5, 9])
    yield Result([9, 9]), Result([1, 1]), made


@row("SplitToSequence", "keepdims 0 and a scalar split")
def _():
    made = model("SplitToSequence", [np.ones((2, 3), f32), Fixed(A(1, dtype=i64, shape=()))], axis=0, keepdims=0)
    yield Result(lambda s: s[0].shape == (1, 3)), Result(lambda s: s[0].shape == (3,)), made


@row("Cast, CastLike", "a float to an integer of 4 or 2 bits")
def _():
    x = A(1.7, -1.7, 9.5, 17.2)
    for to, dropped in ((TensorProto.INT4, [1, -1, -7, 1]), (TensorProto.UINT4, [1, 15, 9, 1])):
        dropped = [v - 16 if to == TensorProto.INT4 and v > 7 else v for v in dropped]
        yield Result(lambda g, w=dropped: g.tolist() == w), Result(lambda g, w=dropped: g.tolist() != w), model("Cast", [x], to=to, opset=21)


@row("com.microsoft.QLinearAveragePool", "ceil_mode and count_include_pad")
def _():
    x = np.full((1, 1, 4), 90, u8)
    s, z = Fixed(A(1, shape=())), Fixed(A(0, dtype=u8, shape=()))
    made = model("QLinearAveragePool", [x, s, z, s, z], domain=MS, kernel_shape=[3], strides=[2], ceil_mode=1, count_include_pad=1, pads=[0, 0])
    yield Result([[[90, 90]]]), Result([[[90, 60]]]), made


def moe(random, bits, block, **more):
    """A QMoE of two experts without biases, (inputs, attributes, products as they are)."""
    rows, width, inner = 2, 64, 64
    x, router = random.standard_normal((rows, width)).astype(f32), random.standard_normal((rows, 2)).astype(f32)
    codes = [random.integers(0, 255, (2, n, k * bits // 8)).astype(u8) for n, k in ((inner, width), (width, inner))]
    scales = [np.full((2, n, k // block), 0.01, f32) for n, k in ((inner, width), (width, inner))]
    wide = [(c.astype(np.float64) - 128) * 0.01 for c in codes]
    y = np.zeros((rows, width))
    for r in range(rows):
        e = int(np.argmax(router[r]))
        y[r] = np.maximum(x[r].astype(np.float64) @ wide[0][e].T, 0) @ wide[1][e].T
    inputs = [x, router, Fixed(codes[0]), Fixed(scales[0]), None, Fixed(codes[1]), Fixed(scales[1])]
    return inputs, {"k": 1, "activation_type": "relu", "expert_weight_bits": bits, "block_size": block, "normalize_routing_weights": 1, **more}, y


@row("com.microsoft.QMoE", "weights of 8 bits in blocks")
def _():
    inputs, attributes, y = moe(np.random.default_rng(5), 8, 32)
    close = lambda g: np.abs(g - y).max() / np.abs(y).max() < 1e-5
    yield Result(close), Result(lambda g: 1e-5 < np.abs(g - y).max() / np.abs(y).max() < 0.1), model("QMoE", inputs, domain=MS, **attributes)


@row("com.microsoft.QMoE", "quant_type other than int")
def _():
    inputs, attributes, y = moe(np.random.default_rng(5), 8, 32, quant_type="fp8")
    yield Error("quant_type"), Result(lambda g: np.abs(g - y).max() / np.abs(y).max() < 0.1), model("QMoE", inputs, domain=MS, **attributes)


@row("com.microsoft.QAttention", "do_rotary")
def _():
    g = np.random.default_rng(6)
    inputs = [g.integers(0, 9, (1, 2, 4)).astype(u8), Fixed(g.integers(0, 9, (4, 12)).astype(u8)), Fixed(np.zeros(12, f32)), Fixed(A(0.1, shape=())), Fixed(A(0.1, shape=()))]
    yield Error("do_rotary"), Result(shape(1, 2, 4)), model("QAttention", inputs, domain=MS, num_heads=1, do_rotary=1)


def searched(name, change=lambda attributes, inputs: None):
    """A case of search_cases.py with other attributes or inputs."""
    def make(random):
        operator, attributes, inputs, *more = search_cases.CASES[name](random)
        inputs = list(inputs)
        change(attributes, inputs)
        return operator, attributes, inputs, *more
    made, given = search_cases.build(name, make)
    return made.SerializeToString(), [(n, to_wire(v)) for n, v in given.items()], [o.name for o in made.graph.output]


def with_input(index, value):
    return lambda attributes, inputs: inputs.__setitem__(index, value)


def stored(name):
    return Result(*search_cases.found()[name], tolerance=1e-4)


@row("BeamSearch", "model_type 1, max_length 2")
def _():
    for name in ("text_whole", "text"):
        yield Result(shape(2, 2, 2)), Undefined(), searched(name, with_input(1, A(2, dtype=i32)))


@row("WhisperBeamSearch", "max_length is one more than the given tokens")
def _():
    yield Result(shape(2, 2, 4)), Error(), searched("whisper", with_input(1, A(4, dtype=i32)))


@row("BeamSearch, WhisperBeamSearch", "input past_sequence_length of a decoder")
def _():
    for name, theirs in (("text_shared", Differs()), ("whisper_shared", Error())):
        yield stored(name), theirs, searched(name)


@row("BeamSearch, GreedySearch, Sampling", "vocab_size less than the logits have")
def _():
    for name in ("greedy", "beams", "sampling"):
        begun = 3 if name == "sampling" else 4
        yield Result(lambda g, b=begun: (g[..., b:] < 20).all()), Differs(), searched(name, lambda attributes, _: attributes.update(vocab_size=20))


@row("BeamSearch, WhisperBeamSearch", "min_length is omitted")
def _():
    for name in ("beams", "whisper"):
        yield Result(lambda g: g.shape[:2] == (2, 3) or g.shape[:2] == (2, 2)), Error(), searched(name, with_input(2, None))


@row("WhisperBeamSearch", "output cross_qk")
def _():
    yield stored("whisper_cross"), Error(), searched("whisper_cross")


@row("WhisperBeamSearch", "input extra_decoding_ids")
def _():
    yield stored("whisper_forced"), Differs(), searched("whisper_forced")


UNDEFINED = "what the official library returns is undefined; ours: search_cases.py and tools/fuzz_ops"
for operators, condition in (
        ("BeamSearch, WhisperBeamSearch", "several entries in a batch, without early_stopping"), ("WhisperBeamSearch", "output non_speech_probs"),
        ("WhisperBeamSearch", "a decoder that reads encoder_hidden_states"), ("GreedySearch, Sampling", "all sequences end before max_length"),
        ("Sampling", "presence_penalty"), ("BeamSearch, WhisperBeamSearch", "decoders with beam_width and cache_indirection")):
    NOT_RUN[operators, condition] = UNDEFINED


@row("Resize", "align_corners, and scales that make no whole extents")
def _():
    x = A(0, 1, 2, 3, shape=(1, 1, 4))
    scales = Fixed(A(1, 1, 1.6))  # 6.4: six results, positions by 5.4
    wanted = [[np.arange(6) * 3 / 5.4]]
    yield Result(wanted), Result([[np.arange(6) * 3 / 5]]), model("Resize", [x, None, scales], mode="linear", coordinate_transformation_mode="align_corners")


@row("Constant", "sparse_value, and the result is an output of the graph")
def _():
    for dims, index, theirs in (([2, 2], [2], Result(lambda g: g is None)), ([4], [2], Error("dims"))):
        sparse = helper.make_sparse_tensor(helper.make_tensor("v", 1, [1], [5.0]), helper.make_tensor("i", 7, [1], index), dims)
        node = helper.make_node("Constant", [], ["y"], sparse_value=sparse)
        graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", 1, dims)])
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10)
        yield Result(np.reshape([0, 0, 5, 0], dims)), theirs, (proto.SerializeToString(), [], ["y"])


@row("MaxPool", "a window in which all elements are minus infinity")
def _():
    yield Result([[[-np.inf]]]), Result(lambda g: np.isfinite(g).all()), model("MaxPool", [np.full((1, 1, 4), -np.inf, f32)], kernel_shape=[4])


@row("ReduceProd", "int32, and a product that does not fit")
def _():
    yield Result([-727379968]), Result([2**31 - 1]), model("ReduceProd", [A(1000000, 1000000, dtype=i32), Fixed(A(0, dtype=i64))])


@row("Cast", "minus zero of an 8-bit float to bool")
def _():
    for kind in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        yield Result([False]), Result([True]), model("Cast", [A(-0.0).astype(kind)], to=TensorProto.BOOL, opset=21)


@row("CumSum, CumProd", "a constant axis that does not exist, and no elements")
def _():
    yield Error("axis"), Result(shape(0,)), model("CumSum", [np.zeros(0, f32), Fixed(A(5, dtype=i64, shape=()))])
    yield Error("axis"), Result(shape(0,)), model("CumProd", [np.zeros(0, f32), Fixed(A(5, dtype=i64, shape=()))], opset=26)


@row("Cast, CastLike", "saturate is 0, and a number from 61440 to 65536 to float8e5m2")
def _():
    for op, more, extra in (("Cast", {"to": TensorProto.FLOAT8E5M2}, []), ("CastLike", {}, [np.zeros(1, ml_dtypes.float8_e5m2)])):
        made = model(op, [A(61440, 65000, 65535), *extra], saturate=0, opset=21, **more)
        yield Result(lambda g: np.isinf(g.astype(f32)).all()), Result(lambda g: np.isnan(g.astype(f32)).all()), made


@row("Unique", "an axis with several entries, none of which has elements")
def _():
    yield Result(shape(1, 0)), Crash(), model("Unique", [np.zeros((2, 0), f32)], axis=0)
    yield Result(shape(1, 0, 3)), Crash(), model("Unique", [np.zeros((2, 0, 3), f32)], axis=0)


NOT_RUN["com.microsoft.LinearAttentionGate", "a small log(1 + e^x)"] = "the forms of the gate: tools/fuzz_ops"


@row("Reshape", "an empty input, of which a 0 of the shape keeps an extent, and a -1")
def _():
    yield Result(shape(0, 12)), Error(), model("Reshape", [np.zeros((0, 3, 4), f32), A(0, -1, dtype=i64)])


NOT_RUN["Resize", "nearest, half_pixel_symmetric, and a position on the border of two pixels"] = "one size of many: tools/fuzz_ops"


NOT_RUN["DecoderMaskedMultiHeadAttention", "attention_bias and cache_indirection"] = "tools/fuzz_ops"
NOT_RUN["DecoderMaskedMultiHeadAttention", "packed Q, K and V; caches that grow"] = "tools/fuzz_ops"
NOT_RUN["SparseAttention", "entries of a batch have different lengths"] = "tools/fuzz_ops"
NOT_RUN["SparseAttention", "past and present caches in different memory"] = "tools/fuzz_ops"


NOT_RUN["GRU, LSTM, RNN", "large states"] = "tools/fuzz_ops"


@row("LRN", "small elements beside large ones")
def _():
    x = np.full((1, 8, 1, 1), 1e-3, f32)
    x[0, 1] = 1e4
    squares = np.array([sum(float(x[0, j, 0, 0]) ** 2 for j in range(max(0, c - 1), min(8, c + 2))) for c in range(8)]).reshape(1, 8, 1, 1)
    wanted = x.astype(np.float64) / (1e-9 + 1.0 / 3 * squares) ** 0.75
    wrong = lambda g: bool(np.isnan(g).any() or (np.abs(g - wanted) > 1e-3 * np.abs(wanted)).any())
    yield Result(lambda g: not wrong(g)), Result(wrong), model("LRN", [x], size=3, alpha=1.0, beta=0.75, bias=1e-9)


@row("com.microsoft.MatMulNBits", "g_idx, and 2 bits or packed zero points")
def _():
    g = np.random.default_rng(7)
    x, order = g.standard_normal((1, 32)).astype(f32), g.permutation(np.arange(32) // 16).astype(i32)
    for bits in (4, 2):
        codes = g.integers(0, 1 << bits, (2, 32))
        zeros = g.integers(0, 1 << bits, (2, 2))
        pack = lambda a, per=8 // bits: np.array([sum(int(v) << (bits * i) for i, v in enumerate(part)) for part in a.reshape(-1, per)], u8)
        full = np.zeros((2, 8 // bits), np.int64)
        full[:, :2] = zeros
        scales = A(0.5, 2, 3, 0.25)
        weights = (codes - np.take_along_axis(zeros, np.tile(order, (2, 1)), 1)) * scales.reshape(2, 2)[:, order]
        wanted = x.astype(np.float64) @ weights.T
        made = model("MatMulNBits", [x, Fixed(pack(codes).reshape(2, 2, 16 * bits // 8)), Fixed(scales), Fixed(pack(full)), Fixed(order)], domain=MS,
                     K=32, N=2, bits=bits, block_size=16)
        yield Result(wanted, tolerance=1e-4), Result(other(wanted)), made


@row("Squeeze", "opset 13 or newer, and axes that are given but empty")
def _():
    yield Result(shape(1, 2)), Result(shape(2)), model("Squeeze", [np.ones((1, 2), f32), Fixed(np.zeros(0, i64))])


@row("com.microsoft.Tokenizer", "an input without elements")
def _():
    made = model("Tokenizer", [np.zeros(0, object)], domain=MS, mark=0, pad_value="#", mincharnum=1, separators=[" "])
    yield Result(shape(0, 0)), Result(shape(0)), made


@row("all that take float16", "inputs of bfloat16, in a version or a definition that has float16 alone")
def _():
    x = A(1, -2).astype(ml_dtypes.bfloat16)
    for op, opset in (("Softsign", 13), ("Elu", 6), ("Selu", 6), ("HardSigmoid", 6)):
        yield Result(shape(2)), Error(), model(op, [x], opset=opset)


def told(outcome):
    return str([from_wire(v) for v in outcome[1]] if outcome[0] == "ok" else outcome)[:300].replace("\n", " ")


def main():
    library, official, *words = sys.argv[1:]
    with open(os.path.join(HERE, "operator_differences.tsv"), encoding="utf-8") as f:
        listed = {(r["operators"], r["condition"]) for r in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)}
    failed = 0
    here = {r[:2] for r in ROWS} | set(NOT_RUN)
    for difference, what in ((listed - here, "is neither run here nor in NOT_RUN"), (here - listed, "is not in operator_differences.tsv")):
        for key in sorted(difference):
            failed += 1
            print(f"FAIL {key}: {what}")
    chosen = [(r, i, c) for r in ROWS for i, c in enumerate(r[2]) if not words or any(w in r[0] + r[1] for w in words)]
    batch = [(k, *c[2]) for k, (_, _, c) in enumerate(chosen)]
    found = [Worker(engine, [(99, 1)], 20).run([(*case, []) for case in batch]) for engine in (library, official)]
    for k, (r, i, case) in enumerate(chosen):
        for name, outcomes, wanted in (("Retort", found[0], case[0]), ("ONNX Runtime", found[1], case[1])):
            outcome = outcomes[k][0]
            wanted.ours = found[0][k][0]
            wrong = wanted.check(outcome)
            if wrong:
                failed += 1
                print(f"FAIL {r[0]}, {r[1]}: case {i} of {name}: {wrong}: {told(outcome)}")
    print(f"{len(set(id(r) for r, _, _ in chosen))} of {len(listed)} rows are run: {max(0, len(chosen) - failed)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
