"""Graphs with float8 numbers: quantised products as models carry them, and conversions. Cases as in elementwise_cases.py.

Inputs are numbers of bfloat16 and scales of activations are powers of two, so that codes are the same in all types.
"""
import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

from elementwise_cases import Case, Graph, draw

E4M3, E5M2 = TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2
NUMPY = {E4M3: ml_dtypes.float8_e4m3fn, E5M2: ml_dtypes.float8_e5m2}
RULES = {"f32": ("1e-3", "5e-3"), "f16": ("4e-3", "4e-3"), "bf16": ("3e-2", "3e-2")}  # relative, absolute
STEP = ("0.13", "0.2")  # where a number before may be the next float8
CODES = ("0.13", "2e-2")
MS = "com.microsoft"


class Float8Graph(Graph):
    def __init__(self, kind, reference):
        super().__init__(kind)
        self.typed = []  # values of operators whose results onnx cannot infer
        self.reference, self.rng = reference, np.random.default_rng(11)

    def fix(self, name, code, shape, values):
        self.fixed.append(helper.make_tensor(name, code, shape, np.asarray(values).tobytes(), raw=True))
        return name

    def zero(self, code=E4M3):
        return self.fix(self.name() + "_zero", code, [], np.zeros(1, np.uint8))

    def real(self, *shape, size=1.0):
        """A constant of the graph's type whose numbers bfloat16 has."""
        return self.constant((self.rng.standard_normal(shape) * size).astype(ml_dtypes.bfloat16).astype(np.float32))

    def scale(self, value):
        return self.constant(np.float32(value))

    def quantized(self, x, scale=2.0**-6, code=E4M3, **attributes):
        """QuantizeLinear and DequantizeLinear."""
        s, z = self.scale(scale), self.zero(code)
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, s, z], **attributes), s, z])

    def weights(self, rows, columns, channels=None, code=E4M3, exchanged=False):
        """DequantizeLinear of a constant [rows, columns]; `channels`: the axis with a scale for each index."""
        shape = [columns, rows] if exchanged else [rows, columns]
        codes = (self.rng.standard_normal(shape) * 4).astype(NUMPY[code])
        name = self.fix(self.name() + "_codes", code, shape, codes)
        if channels is None:
            return self.node("DequantizeLinear", [name, self.scale(2.0**-5), self.zero(code)])
        scales = np.exp2(self.rng.integers(-8, -3, shape[channels])).astype(np.float32)
        return self.node("DequantizeLinear", [name, self.constant(scales)], axis=channels)


def case(name, build, kind="f32", rule=None):
    feeds, models = {}, []
    for of in (kind, "f32"):
        g = Float8Graph(of, reference=bool(models))
        build(g)
        model = g.model()
        del model.opset_import[:], model.graph.value_info[:]  # those of an older opset
        model.opset_import.extend([helper.make_opsetid("", 21), helper.make_opsetid(MS, 1)])
        model.graph.value_info.extend(g.typed)
        models.append(onnx.shape_inference.infer_shapes(model))
    rng = np.random.default_rng(sum(map(ord, name)))
    for n, (shape, dtype) in g.inputs.items():
        feeds[n] = draw(rng, shape, dtype).astype(ml_dtypes.bfloat16).astype(dtype)
    return Case(f"float8_{name}_{kind}", *models, [feeds], rule or RULES[kind])


def products():
    """(name, build)"""
    def plain(shape=(3, 5, 64), n=48, channels=None, x_code=E4M3, w_code=E4M3):
        def build(g):
            x = g.quantized(g.input(list(shape)), code=x_code)
            g.output(g.node("MatMul", [x, g.weights(shape[-1], n, channels, w_code)]))
        return build

    def gemm(c, exchanged=False, channels=None, **attributes):
        def build(g):
            w = g.weights(96, 32, channels, exchanged=exchanged)
            inputs = [g.quantized(g.input([7, 96])), w]
            g.output(g.node("Gemm", inputs + ([] if c is None else [g.real(*c)]), **attributes))
        return build

    def exchanged(channels):
        def build(g):
            w = g.node("Transpose", [g.weights(64, 48, channels, exchanged=True)], perm=[1, 0])
            g.output(g.node("MatMul", [g.quantized(g.input([9, 64])), w]))
        return build

    yield "tensor", plain()
    yield "channels", plain(channels=1)
    yield "one_row", plain((1, 64))
    yield "one_row_channels", plain((1, 64), channels=1)
    yield "empty", plain((0, 64))
    yield "large", plain((130, 256), 160)
    yield "odd_k", plain((6, 40))
    yield "odd_n", plain((6, 64), 40)
    yield "vector", plain((64,))
    yield "e5m2_weights", plain(w_code=E5M2)
    yield "e5m2_activations", plain(x_code=E5M2)
    yield "e5m2_both", plain(x_code=E5M2, w_code=E5M2)
    yield "gemm", gemm([32])
    yield "gemm_exchanged", gemm([32], True, transB=1)
    yield "gemm_channels", gemm([32], True, 0, transB=1)
    yield "gemm_wrong_channels", gemm([32], True, 1, transB=1)
    yield "gemm_factors", gemm([7, 32], alpha=0.5, beta=2.0)
    yield "gemm_column", gemm([7, 1], alpha=0.5)
    yield "gemm_alone", gemm(None)
    yield "exchanged", exchanged(None)
    yield "exchanged_channels", exchanged(0)


def layers():
    """Products with what comes before and after them."""
    def ended(*nodes, n=48, channels=None):
        def build(g):
            y = g.node("MatMul", [g.quantized(g.input([2, 5, 64])), g.weights(64, n, channels)])
            y = g.node("Add", [g.real(n), y])
            for op, attributes in nodes:
                y = g.node(op, [y], **attributes)
            g.output(y)
        return build

    def siblings(g):
        x = g.input([2, 9, 64])
        q = g.quantized(x)
        a, b, c = (g.node("MatMul", [q, g.weights(64, 64)]) for _ in range(3))
        g.output(g.node("Add", [a, g.node("Mul", [b, c])]))
        g.output(g.node("Add", [g.node("MatMul", [g.quantized(g.node("Tanh", [c]), 2.0**-8), g.weights(64, 64)]), x]))

    def other_reader(g):
        q = g.quantized(g.input([9, 64]))
        g.output(g.node("MatMul", [q, g.weights(64, 32)]))
        g.output(g.node("Neg", [q]))

    def chain(op, **attributes):
        def build(g):
            y = g.node("MatMul", [g.quantized(g.input([2, 9, 64])), g.weights(64, 128)])
            y = g.node("Add", [y, g.real(128)])
            y = g.quantized(g.node(op, [y], **attributes), 2.0**-4)
            g.output(g.node("Add", [g.node("MatMul", [y, g.weights(128, 64)]), g.real(64)]))
        return build

    def coded(g):
        y = g.node("Relu", [g.node("MatMul", [g.quantized(g.input([4, 64])), g.weights(64, 32)])])
        q = g.node("QuantizeLinear", [y, g.scale(2.0**-4), g.zero()])
        g.output(g.node("Cast", [q], to=TensorProto.FLOAT), False)

    def quantized_weights(g):
        w = g.quantized(g.real(64, 48), 2.0**-5)
        g.output(g.node("MatMul", [g.quantized(g.input([5, 64])), w]))

    def flattened(quantizes, again, relu=True):
        """As ONNX Runtime writes a product of more axes and its bias."""
        def build(g):
            x = g.input([2, 9, 64])
            x = g.quantized(x) if quantizes else x
            x = g.node("Reshape", [x, g.constant(np.array([-1, 64]))])
            x = g.quantized(x) if again else x
            y = g.node("Gemm", [x, g.weights(64, 48) if quantizes else g.real(64, 48, size=0.125), g.real(48)])
            y = g.node("Reshape", [y, g.constant(np.array([2, 9, 48]))])
            g.output(g.node("Relu", [y]) if relu else y)
        return build

    def residual(g):
        x, r = g.quantized(g.input([5, 64])), g.input([5, 48])
        g.output(g.node("Add", [g.node("Add", [g.node("MatMul", [x, g.weights(64, 48)]), g.real(48)]), r]))

    yield "relu", ended(("Relu", {}))
    yield "bias", ended()
    yield "bias_channels", ended(channels=1)
    yield "gelu", ended(("Gelu", {}))
    yield "gelu_tanh", ended(("Gelu", {"approximate": "tanh"}), channels=1)
    yield "siblings", siblings
    yield "other_reader", other_reader
    yield "chain_relu", chain("Relu")
    yield "chain_gelu", chain("Gelu")
    yield "chain_gelu_tanh", chain("Gelu", approximate="tanh")
    yield "codes", coded
    yield "quantized_weights", quantized_weights
    yield "residual", residual
    yield "flattened", flattened(True, True)
    yield "flattened_once", flattened(True, False)
    yield "flattened_numbers", flattened(False, False)
    yield "flattened_alone", flattened(True, True, False)


def gemms():
    """GemmFloat8, whose reference is computed in float64."""
    names = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "e4m3": E4M3, "e5m2": E5M2}

    def gemm(a="e4m3", b="e4m3", out="f32", c=None, constant=True, m=7, n=48, k=64, scales=(None, None, None), **given):
        def build(g):
            ta, tb = given.get("transA", 0), given.get("transB", 0)
            x = g.node("Cast", [g.input([k, m] if ta else [m, k])], to=names[a])
            shape = [n, k] if tb else [k, n]
            w = g.node("Cast", [g.real(*shape) if constant else g.input(shape)], to=names[b])
            added = "" if c is None else g.real(*c[1:]) if c[0] == "f32" else g.node("Cast", [g.real(*c[1:])], to=names[c[0]])
            factors = ["" if s is None else g.scale(s) for s in scales]
            if not g.reference:
                y = g.node("GemmFloat8", [x, w, added, *factors], domain=MS, dtype=names[out], **given)
                g.typed.append(helper.make_tensor_value_info(y, names[out], [m, n]))
            else:
                wide = [g.node("Cast", [v], to=TensorProto.DOUBLE) if v else "" for v in (x, w, added, *factors)]
                x, w = (g.node("Mul", [v, f]) if f else v for v, f in zip(wide[:2], wide[3:]))
                y = g.node("Gemm", [x, w, wide[2]], **{"beta": 0.0, **{key: v for key, v in given.items() if key != "activation"}})
                act = given.get("activation")
                y = g.node("Relu", [y]) if act == "RELU" else g.node("Gelu", [y], approximate="tanh") if act == "GELU" else y
                y = g.node("Mul", [y, wide[5]]) if wide[5] else y
                y = g.node("Cast", [g.node("Cast", [y], to=TensorProto.FLOAT)], to=names[out])
            g.output(g.node("Cast", [y], to=TensorProto.FLOAT))
        return build

    some = (0.5, 0.25, None)
    yield "plain", gemm(transB=1), None
    yield "not_exchanged", gemm(scales=some), None
    yield "exchanged_a", gemm(scales=some, transA=1, transB=1), None
    yield "inputs", gemm(constant=False, scales=some, transB=1), None
    yield "inputs_not_exchanged", gemm(constant=False, scales=some), None
    yield "one_scale", gemm(scales=(None, 0.25, None), transB=1), None
    yield "factors", gemm(c=("f32", 1, 48), scales=some, transB=1, alpha=0.75, beta=0.5), None
    yield "without_beta", gemm(c=("f32", 7, 48), scales=some, transB=1), None
    yield "relu", gemm(out="f16", c=("f16", 1, 48), scales=some, transB=1, beta=1.0, activation="RELU"), RULES["f16"]
    yield "gelu", gemm(out="bf16", c=("f32", 7, 48), scales=some, transB=1, beta=1.0, activation="GELU"), RULES["bf16"]
    yield "none", gemm(out="f16", scales=some, transB=1, activation="NONE"), RULES["f16"]
    yield "scaled_result", gemm(scales=(0.5, 0.25, 0.125), transB=1, activation="RELU"), None
    yield "to_e4m3", gemm(out="e4m3", scales=(0.5, 0.25, 2.0), transB=1), CODES
    yield "to_e5m2", gemm(out="e5m2", c=("bf16", 1, 48), scales=(0.5, 0.25, 2.0), transB=1, beta=1.0), ("0.26", "2e-2")
    yield "e5m2", gemm("e5m2", "e4m3", scales=some, transB=1), None
    yield "both_e5m2", gemm("e5m2", "e5m2", scales=some, transB=1), None
    yield "wide", gemm("f32", "f32", transA=1), None
    yield "wide_scaled", gemm("f16", "e4m3", "f16", scales=some, transB=1), RULES["f16"]
    yield "halves", gemm("f16", "f16", "f16", transB=1), RULES["f16"]
    yield "odd", gemm(m=3, n=40, k=24, scales=some, transB=1), None


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 447.0, 448.0, 460.0, 464.0, 465.0, 500.0, -479.0, 1e6, -1e30, 2.0**-10, 2.0**-9, 1.5 * 2.0**-9,
           0.9 * 2.0**-6, 57344.0, 61439.0, 60000.0, 70000.0, 2.0**-17, 1.5 * 2.0**-16, 2.0**-18, 1e-30, 17.0, 19.0, -21.0, 0.3]


def conversions():
    def cast(code, saturate, kind="f32"):
        def build(g):
            x = g.node("Concat", [g.input([40, 33]), g.constant(np.resize(np.array(SPECIAL, np.float32), (2, 33)))], axis=0)
            g.output(g.node("Cast", [g.node("Cast", [g.node("Mul", [x, x]), ], to=code, saturate=saturate)], to=TensorProto.FLOAT), False)
            g.output(g.node("Cast", [g.node("Cast", [x], to=code, saturate=saturate)], to=TensorProto.FLOAT), False)
        return build

    def pair(code, saturate):
        def build(g):
            x = g.node("Concat", [g.input([40, 33]), g.constant(np.resize(np.array(SPECIAL, np.float32), (2, 33)))], axis=0)
            g.output(g.quantized(x, 0.25, code, saturate=saturate))
        return build

    def channels(g):
        x, s = g.input([6, 5, 7]), g.constant(np.exp2(np.arange(5) - 6.0).astype(np.float32))
        g.output(g.node("DequantizeLinear", [g.node("QuantizeLinear", [x, s], axis=1, output_dtype=E4M3), s], axis=1))

    def moved(g):
        s, z = g.scale(0.25), g.zero()
        q = g.node("Transpose", [g.node("QuantizeLinear", [g.input([5, 6, 7]), s, z])], perm=[2, 0, 1])
        g.output(g.node("DequantizeLinear", [q, s, z]))

    for code, name in ((E4M3, "e4m3"), (E5M2, "e5m2")):
        for saturate in (0, 1):
            yield f"cast_{name}_{saturate}", cast(code, saturate)
            yield f"pair_{name}_{saturate}", pair(code, saturate)
    yield "channels_pair", channels
    yield "moved", moved


def cases():
    for name, build in [*products(), *layers()]:
        for kind in ("f32", "f16", "bf16"):
            rule = STEP if name.startswith("chain") or name == "siblings" else CODES if name == "codes" else None
            yield case(name, build, kind, rule)
    for name, build, rule in gemms():
        yield case("operator_" + name, build, rule=rule)
    for name, build in conversions():
        for kind in ("f32", "f16") if "pair" in name or name == "moved" else ("f32",):
            yield case(name, build, kind, ("0", "0"))


