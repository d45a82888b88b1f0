"""Models of many reductions, normalisations, searches and recurrent layers each, with inputs: odd lengths, all sorts of
axes, empty tensors, NaN and infinities.

model(part, kind) builds a part for float32 ("f32"), or for float16 or bfloat16, whose inputs and outputs are cast.
Inputs have values of the narrower types, so that the results of float32 are what the other types are compared with.
"""
import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

KINDS = {"f32": (TensorProto.FLOAT, 5e-5), "f16": (TensorProto.FLOAT16, 1e-2), "bf16": (TensorProto.BFLOAT16, 6e-2)}
LENGTHS = (1, 3, 31, 33, 128, 1000, 1024, 4097, 8192, 20001)


class Builder:
    def __init__(self, kind, opset):
        self.kind, self.opset = kind, opset
        self.rng = np.random.default_rng(5)
        self.nodes, self.feeds, self.fixed, self.results = [], {}, [], []

    def fresh(self, text):
        return f"{text}_{len(self.nodes)}_{len(self.fixed)}"

    def floats(self, *shape, scale=1.0, values=None):
        """An input of the kind, with values that all kinds have."""
        x = self.rng.standard_normal(shape) * scale if values is None else values
        x = np.asarray(x, np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)
        name = self.fresh("x")
        self.feeds[name] = x
        self.nodes.append(helper.make_node("Cast", [name], [name + "_cast"], to=KINDS[self.kind][0]))
        return name + "_cast"

    def plain(self, values):
        """An input of numpy's type."""
        name = self.fresh("p")
        self.feeds[name] = values
        self.nodes.append(helper.make_node("Identity", [name], [name + "_same"]))
        return name + "_same"

    def constant(self, values):
        name = self.fresh("c")
        self.fixed.append(numpy_helper.from_array(values, name))
        return name

    def add(self, op, inputs, outs=1, domain="", **attributes):
        names = [self.fresh(op) + f"_{i}" for i in range(outs)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names

    def result(self, *names):
        """Results of the kind."""
        for name in names:
            self.nodes.append(helper.make_node("Cast", [name], [name + "_f32"], to=TensorProto.FLOAT))
            self.results.append(name + "_f32")

    def exact(self, *names):
        self.results += names

    def model(self):
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in self.feeds.items()]
        outputs = [helper.make_empty_tensor_value_info(n) for n in self.results]
        graph = helper.make_graph(self.nodes, "cases", inputs, outputs, self.fixed)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        made = helper.make_model(graph, opset_imports=opsets)
        made.ir_version = 10
        return onnx.shape_inference.infer_shapes(made)


REDUCED = [((3, 5), (1,)), ((33, 31), (0,)), ((2, 3, 4, 5), (1, 2)), ((2, 3, 4, 5), (0, 2)), ((2, 3, 4, 5), (-1, 1)), ((7, 1000), (1,)), ((3, 4097), (-1,)),
           ((1, 50001), (1,)), ((4097, 3), (0,)), ((3000, 64), (0,)), ((5, 300, 72), (1,)), ((2, 600, 3, 7), (1, 3)), ((2, 0, 4), (1,)),
           ((9000, 8), (1,)), ((700, 49), (1,)), ((70, 520), (1,)), ((9, 1100), (1,)), ((2, 20001), (1,)), ((41, 1032), (0,)), ((600, 130), (0,)), ((5000, 9), (0,))]


def reductions(b):
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"):
        for shape, axes in REDUCED:
            if 0 in shape and op == "ReduceMean":
                continue
            x = b.rng.standard_normal(shape) * 0.5
            if op in ("ReduceProd", "ReduceLogSum"):
                x = 1 + np.abs(x) * (1 / 256 if x.size > 50 else 1)
            if op == "ReduceProd" and x.size > 3000:
                continue
            b.result(*b.add(op, [b.floats(values=x), b.constant(np.array(axes, np.int64))], keepdims=len(shape) % 2))
    x = b.rng.standard_normal((5, 70))
    x[1, 3], x[2, 5], x[3, :] = np.nan, np.inf, -np.inf
    for op in ("ReduceMax", "ReduceSum", "ReduceLogSumExp"):
        b.result(*b.add(op, [b.floats(values=x), b.constant(np.array([1], np.int64))]))


def integers(b):
    for kind in (np.int32, np.int64):
        for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceSumSquare"):
            x = b.plain(b.rng.integers(1, 9, (3, 5, 70)).astype(kind))
            b.exact(*b.add(op, [x, b.constant(np.array([1], np.int64))]))
        for exclusive in (0, 1):
            x = b.plain(b.rng.integers(-9, 9, (3, 1500, 2)).astype(kind))
            b.exact(*b.add("CumSum", [x, b.constant(np.array(1, np.int64))], exclusive=exclusive, reverse=1 - exclusive))
    for op in ("ReduceMax", "ReduceMin"):
        b.exact(*b.add(op, [b.plain(b.rng.integers(-99, 99, (3, 70)).astype(np.int8)), b.constant(np.array([1], np.int64))]))


def softmax(b):
    for op in ("Softmax", "LogSoftmax"):
        for length in LENGTHS:
            b.result(*b.add(op, [b.floats(3, length, scale=3)], axis=1))
        for shape, axis in (((3, 5, 7), 1), ((3, 100, 33), 1), ((2, 3, 4), 0), ((5000, 40), 1)):
            b.result(*b.add(op, [b.floats(*shape, scale=3)], axis=axis))
    x = b.rng.standard_normal((3, 50))
    x[0, 3], x[1, :40] = np.nan, -np.inf
    b.result(*b.add("Softmax", [b.floats(values=x)]))
    b.result(*b.add("Hardmax", [b.floats(values=np.round(2 * b.rng.standard_normal((4, 300))))]))


def searches(b):
    for shape, axis in (((3, 5), 1), ((3, 5, 7), 1), ((7, 5000), 1), ((1000, 10), -1), ((33, 33, 33), 0)):
        x = b.floats(values=np.round(3 * b.rng.standard_normal(shape)))
        for op in ("ArgMax", "ArgMin"):
            b.exact(*b.add(op, [x], axis=axis), *b.add(op, [x], axis=axis, keepdims=0, select_last_index=1))
    for shape, axis, k in (((3, 5), 0, 1), ((4, 7, 6), 1, 3), ((2, 3000), 1, 50), ((1, 50257), 1, 50), ((2, 9000), 1, 700), ((2, 9000), 1, 1500), ((2, 9000), 1, 9000), ((3, 2500, 2), 1, 2000)):
        for largest in (0, 1):
            values, places = b.add("TopK", [b.floats(values=np.round(9 * b.rng.standard_normal(shape))), b.constant(np.array([k], np.int64))], 2, axis=axis, largest=largest)
            b.result(values)
            b.exact(places)


def norms(b):
    for length in LENGTHS[1:]:
        shape = (2, 3, length)
        scale, shift, bias = b.floats(length), b.floats(length), b.floats(length)
        x, skip = b.floats(*shape), b.floats(*shape)
        b.result(*b.add("LayerNormalization", [x, scale, shift], 1))
        b.result(*b.add("SimplifiedLayerNormalization", [x, scale], 1))
        y, _, _, total = b.add("SkipLayerNormalization", [x, skip, scale, shift, bias], 4, "com.microsoft", epsilon=1e-5)
        b.result(y, total)
        y, _, _, total = b.add("SkipSimplifiedLayerNormalization", [x, skip, scale], 4, "com.microsoft", epsilon=1e-5)
        b.result(y, total)
    for shape in ((2, 6, 5, 7), (2, 6, 40, 50), (1, 4, 9)):
        x, scale, shift = b.floats(*shape), b.floats(shape[1]), b.floats(shape[1])
        b.result(*b.add("InstanceNormalization", [x, scale, shift]))
    for shape, axis in (((3, 5), -1), ((3, 5, 7), 1), ((2, 4097), 1)):
        for p in (1, 2):
            b.result(*b.add("LpNormalization", [b.floats(*shape)], p=p, axis=axis))


def fused(b):
    """Sums before normalisations, and normalisations that are written as several nodes."""
    for shape, other in (((2, 5, 40), (2, 5, 40)), ((2, 5, 768), (5, 768)), ((2, 5, 40), (2, 1, 40)), ((2, 1, 40), (1, 5, 40)), ((2, 5, 40), (1, 5, 1))):
        scale, shift = b.floats(shape[-1]), b.floats(shape[-1])
        (total,) = b.add("Add", [b.floats(*shape), b.floats(*other)])
        b.result(*b.add("LayerNormalization", [total, scale, shift]), total)
        (total,) = b.add("Add", [b.floats(*shape), b.floats(*other)])
        (mean,) = b.add("ReduceMean", [total], axes=[-1])
        (centred,) = b.add("Sub", [total, mean])
        kind = np.float32 if b.kind == "f32" else np.float16 if b.kind == "f16" else ml_dtypes.bfloat16
        two, epsilon = b.constant(np.array(2, kind)), b.constant(np.array(1e-5, kind))
        (variance,) = b.add("ReduceMean", b.add("Pow", [centred, two]), axes=[-1])
        (root,) = b.add("Sqrt", b.add("Add", [variance, epsilon]))
        (quotient,) = b.add("Div", [centred, root])
        b.result(*b.add("Add", [*b.add("Mul", [quotient, scale]), shift]), total)
        # Of the root mean square, in float32 between casts.
        (x,) = b.add("Cast", [total], to=TensorProto.FLOAT)
        (square,) = b.add("Pow", [x, b.constant(np.array([2], np.float32))])
        (root,) = b.add("Sqrt", b.add("Add", [*b.add("ReduceMean", [square], axes=[-1]), b.constant(np.array(1e-6, np.float32))]))
        (y,) = b.add("Mul", [x, *b.add("Reciprocal", [root])])
        b.result(*b.add("Mul", [scale, *b.add("Cast", [y], to=KINDS[b.kind][0])]))


def recurrent(b):
    for op, gates, count in (("LSTM", 4, 3), ("GRU", 3, 2), ("RNN", 1, 2)):
        for direction, directions in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            for length, batch, inputs, units in ((1, 1, 3, 5), (7, 3, 20, 33), (4, 11, 8, 64)):
                x, w, r = b.floats(length, batch, inputs), b.floats(directions, gates * units, inputs, scale=0.2), b.floats(directions, gates * units, units, scale=0.2)
                bias, h = b.floats(directions, 2 * gates * units, scale=0.1), b.floats(directions, batch, units)
                lengths = b.plain(b.rng.integers(1, length + 1, (batch,)).astype(np.int32))
                more = [b.floats(directions, batch, units)] if op == "LSTM" else []
                b.result(*b.add(op, [x, w, r], count, direction=direction, hidden_size=units))
                b.result(*b.add(op, [x, w, r, bias, lengths, h, *more], count, direction=direction, hidden_size=units))
                if op == "GRU":
                    b.result(*b.add(op, [x, w, r, bias], count, direction=direction, hidden_size=units, linear_before_reset=1))


PARTS = {"reductions": (reductions, 20), "integers": (integers, 20), "softmax": (softmax, 13), "searches": (searches, 13), "norms": (norms, 17), "fused": (fused, 17), "recurrent": (recurrent, 14)}
ONLY_F32 = {"integers"}


def model(part, kind):
    build, opset = PARTS[part]
    b = Builder(kind, opset)
    build(b)
    return b.model(), b.feeds
