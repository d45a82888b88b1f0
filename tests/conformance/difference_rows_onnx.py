"""Rows of difference_rows.py whose operators are of ai.onnx."""
import ml_dtypes
import numpy as np
from difference_words import *  # noqa: F403: the words of these rows
from onnx import TensorProto, helper


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


@row("MatMul", "the second matrix comes from DequantizeLinear of constant codes, and a Relu that other nodes read follows")
def _():
    g = np.random.default_rng(1)
    x, codes = g.standard_normal((4, 64), f32), g.integers(0, 15, (64, 32)).astype(u8)
    scale, zero = np.full((2, 32), 0.1, f32), np.full((2, 32), 8, u8)
    product = x.astype(np.float64) @ ((codes.astype(np.float64) - 8) * np.float32(0.1))
    nodes = [helper.make_node("DequantizeLinear", ["c", "s", "z"], ["w"], axis=0, block_size=32), helper.make_node("MatMul", ["x", "w"], ["p"]),
             helper.make_node("Relu", ["p"], ["r"]), helper.make_node("Neg", ["r"], ["y"])]
    four = [helper.make_tensor(n, TensorProto.UINT4, a.shape, a.ravel().tolist()) for n, a in (("c", codes), ("z", zero))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [4, 64])], [helper.make_tensor_value_info("y", 1, [4, 32])],
                              [*four, numpy_helper.from_array(scale, "s")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    error = lambda y: np.abs(y + np.maximum(product, 0)).max()
    yield Result(lambda y: 1e-4 < error(y) < 0.5), Result(lambda y: error(y) < 1e-4), (proto.SerializeToString(), [("x", to_wire(x))], ["y"])


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


@row("ReduceSum, ReduceSumSquare, ReduceL1, ReduceProd", "int32 or int64, and a result that does not fit")
def _():
    for kind in (i32, i64):
        most = int(np.iinfo(kind).max)
        for op, wrapped in (("ReduceSum", -2), ("ReduceSumSquare", 2), ("ReduceL1", -2), ("ReduceProd", 1)):
            yield Result([wrapped]), Result([most]), model(op, [A(most, most, dtype=kind), Fixed(A(0, dtype=i64))])


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


@row("Squeeze", "opset 13 or newer, and axes that are given but empty")
def _():
    yield Result(shape(1, 2)), Result(shape(2)), model("Squeeze", [np.ones((1, 2), f32), Fixed(np.zeros(0, i64))])


@row("all that take float16", "inputs of bfloat16, in a version or a definition that has float16 alone")
def _():
    x = A(1, -2).astype(ml_dtypes.bfloat16)
    for op, opset in (("Softsign", 13), ("Elu", 6), ("Selu", 6), ("HardSigmoid", 6)):
        yield Result(shape(2)), Error(), model(op, [x], opset=opset)
