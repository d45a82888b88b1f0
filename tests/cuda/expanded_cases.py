"""Graphs of operators that the provider runs as several nodes: QLinear… and its kin, gates. Cases as in elementwise_cases.py."""
import numpy as np
import onnx
from onnx import TensorProto

from elementwise_cases import case

MS = "com.microsoft"
CODE = ("0", "1.01")  # one code, where the quotient is half way between two


def codes(g, shape, dtype, scale=0.05):
    """An input of real numbers as codes, with its scale and zero point."""
    zero = g.constant(np.array(120 if dtype == np.uint8 else -3, dtype))
    scale = g.constant(np.float32(scale))
    return [g.node("QuantizeLinear", [g.input(shape), scale, zero]), scale, zero]


def result(g, dtype, scale=0.04):
    return [g.constant(np.float32(scale)), g.constant(np.array(110 if dtype == np.uint8 else 5, dtype))]


def codes_out(g, name):
    """The output as int32, so that an error of one is compared as such."""
    g.output(g.node("Cast", [name], to=TensorProto.INT32), False)


def quantised(dtype):
    def binary(op, a, b):
        def build(g):
            codes_out(g, g.node(op, [*codes(g, a, dtype), *codes(g, b, dtype, 0.03), *result(g, dtype)], domain=MS))
        return build

    def unary(op, shape, scale=0.04, **attributes):
        def build(g):
            codes_out(g, g.node(op, [*codes(g, shape, dtype), *result(g, dtype, scale)], domain=MS, **attributes))
        return build

    def where(g):
        m = g.input([5, 1, 9], np.bool_)
        codes_out(g, g.node("QLinearWhere", [m, *codes(g, [7, 9], dtype), *codes(g, [5, 7, 1], dtype, 0.03), *result(g, dtype)], domain=MS))

    def concat(g):
        tensors = [v for n, s in ((3, 0.05), (4, 0.03), (1, 0.1)) for v in codes(g, [2, n, 5], dtype, s)]
        codes_out(g, g.node("QLinearConcat", [*result(g, dtype), *tensors], domain=MS, axis=1))

    def chain(g):  # one kernel
        x, y = codes(g, [3, 37], dtype), codes(g, [37], dtype, 0.03)
        s, z = result(g, dtype)
        a = g.node("QLinearAdd", [*x, *y, s, z], domain=MS)
        b = g.node("QLinearLeakyRelu", [a, s, z, s, z], domain=MS, alpha=0.2)
        codes_out(g, g.node("QLinearMul", [b, s, z, *y, s, z], domain=MS))

    yield "add", binary("QLinearAdd", [5, 33], [5, 33])
    yield "add_row", binary("QLinearAdd", [3, 5, 33], [33])
    yield "add_empty", binary("QLinearAdd", [0, 3], [3])
    yield "mul_channels", binary("QLinearMul", [2, 3, 5, 7], [3, 1, 1])
    yield "sigmoid", unary("QLinearSigmoid", [7, 41], 1 / 256)
    yield "leaky_relu", unary("QLinearLeakyRelu", [7, 41], alpha=0.3)
    yield "softmax", unary("QLinearSoftmax", [4, 5, 33], 1 / 256, axis=-1, opset=13)
    yield "softmax_flat", unary("QLinearSoftmax", [4, 5, 6], 1 / 256, axis=1, opset=11)
    yield "average_pool", unary("QLinearAveragePool", [2, 5, 9, 8], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    yield "average_pool_last", unary("QLinearAveragePool", [2, 9, 8, 5], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1, channels_last=1)
    yield "global_pool", unary("QLinearGlobalAveragePool", [2, 5, 7, 8])
    yield "global_pool_last", unary("QLinearGlobalAveragePool", [2, 7, 8, 5], channels_last=1)
    yield "where", where
    yield "concat", concat
    yield "chain", chain

    def max_pool(g):
        x = codes(g, [2, 9, 8, 5], dtype)[0]
        codes_out(g, g.node("NhwcMaxPool", [x], domain=MS, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1]))
    yield "max_pool", max_pool


def attention(masked, unidirectional):
    def build(g):
        rng = np.random.default_rng(3)
        hidden, heads, batch, rows = 24, 3, 2, 7
        x = codes(g, [batch, rows, hidden], np.uint8)
        w = g.constant(rng.integers(-90, 90, [hidden, 3 * hidden]).astype(np.int8))
        bias = g.constant(rng.standard_normal(3 * hidden).astype(np.float32))
        ws, wz = g.constant(np.float32(0.01)), g.constant(np.int8(0))
        mask = g.constant(np.array([5, 7], np.int32)) if masked else ""
        g.output(g.node("QAttention", [x[0], w, bias, x[1], ws, mask, x[2], wz], domain=MS, num_heads=heads, unidirectional=unidirectional))
    return build


def embedding(g):
    rng = np.random.default_rng(4)
    table = lambda n: g.constant(rng.integers(0, 255, [n, 20] if n else [20]).astype(np.uint8))
    ids = [g.node("Mod", [g.input([3, 6], np.int32), g.constant(np.int32(n))]) for n in (11, 2)]
    tables = [table(n) for n in (11, 8, 2, 0, 0)]
    scales = [g.constant(np.float32(s)) for s in (0.02, 0.01, 0.03, 0.005, 0.01)]
    zeros = [g.constant(np.uint8(z)) for z in (120, 130, 125, 0, 128)]
    out, mask = g.name(), g.name()
    g.nodes.append(onnx.helper.make_node("QEmbedLayerNormalization", [*ids, *tables, "", *scales, *zeros], [out, mask], domain=MS))
    g.output(out)


def gates():
    def product(g):
        x = g.input([2, 5, 7])
        g.output(g.node("TransposeMatMul", [x, x], domain=MS, transB=1, alpha=0.5))
    yield "product", product

    def linear(rule, q_heads, heads, each):
        def build(g):
            keys, values, batch, tokens = 20, 33, 2, 37
            x = [g.input([batch, tokens, n]) for n in (q_heads * keys, heads * keys, heads * values)]
            past = g.node("Mul", [g.input([batch, heads, keys, values]), g.constant(np.float32(0.1))])
            shrink = g.node("Neg", [g.node("Abs", [g.input([batch, tokens, heads * (keys if each else 1)])])])
            beta = g.node("Sigmoid", [g.input([batch, tokens, heads])])
            k = g.node("Mul", [x[1], g.constant(np.float32(0.2))])
            gated, delta = "gated" in rule, "delta" in rule
            names = [g.name(), g.name()]
            inputs = [x[0], k, x[2], past, shrink if gated else "", *([beta] if delta else [])]
            g.nodes.append(onnx.helper.make_node("LinearAttention", inputs, names, domain=MS, q_num_heads=q_heads, kv_num_heads=heads, update_rule=rule))
            for name in names:
                g.output(name)
        return build
    yield "linear", linear("linear", 2, 2, False)
    yield "linear_gated", linear("gated", 4, 2, True)
    yield "linear_delta", linear("delta", 2, 2, False)
    yield "linear_gated_delta", linear("gated_delta", 2, 2, False)
    yield "linear_gated_delta_each", linear("gated_delta", 6, 2, True)

    def causal(activation, taps):
        def build(g):
            rng = np.random.default_rng(6)
            x, past = g.input([2, 9, 21]), g.input([2, 9, taps - 1])
            w, b = g.constant(rng.standard_normal([9, 1, taps]).astype(np.float32)), g.constant(rng.standard_normal(9).astype(np.float32))
            names = [g.name(), g.name()]
            g.nodes.append(onnx.helper.make_node("CausalConvWithState", [x, w, b, past], names, domain=MS, activation=activation))
            for name in names:
                g.output(name)
        return build
    yield "causal", causal("none", 4)
    yield "causal_silu", causal("silu", 3)


def sums():
    def einsum(equation, *shapes):
        def build(g):
            g.output(g.node("Einsum", [g.input(s) for s in shapes], equation=equation))
        return build
    yield "transpose", einsum("abc->cab", [3, 5, 7])
    yield "row_sums", einsum("abc->b", [3, 5, 7])
    yield "all", einsum("ab->", [3, 5])
    yield "relative_h", einsum("bhwc,hkc->bhwk", [2, 5, 6, 8], [5, 7, 8])
    yield "relative_w", einsum("bhwc,wkc->bhwk", [2, 5, 6, 8], [6, 7, 8])
    yield "mixed", einsum("abcd,dbe->caeb", [2, 3, 4, 5], [5, 3, 6])
    yield "lonely", einsum("abx,bcy->ac", [3, 4, 5], [4, 6, 2])
    yield "implicit", einsum("ji,kj", [3, 4], [5, 3])


def blocks():
    rng = np.random.default_rng(5)

    def numbers(code, shape, scales, zero, **attributes):
        """DequantizeLinear of a constant; the type of codes may be one of 4 or 8 bits that numpy lacks."""
        def build(g):
            low, high = {TensorProto.INT4: (-8, 8), TensorProto.UINT4: (0, 16)}.get(code, (-100, 100))
            count = int(np.prod(shape))
            if code in (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2):
                x = rng.standard_normal(count) * np.array([0.01, 1, 30])[np.arange(count) % 3]
            else:
                x = rng.integers(low, high, count)
            g.fixed.append(onnx.helper.make_tensor("x_codes", code, shape, x.tolist()))
            inputs = ["x_codes", g.constant(rng.uniform(0.1, 1, scales).astype(np.float32))]
            if zero:
                g.fixed.append(onnx.helper.make_tensor("x_zero", code, scales, rng.integers(low, high, int(np.prod(scales))).tolist()))
                inputs.append("x_zero")
            g.output(g.node("Add", [g.node("DequantizeLinear", inputs, **attributes), g.input([1])]))
        return build

    def coded(dtype, shape, scales, **attributes):
        def build(g):
            zero = g.constant(rng.integers(0, 50, scales).astype(dtype))
            s = g.constant(rng.uniform(0.02, 0.1, scales).astype(np.float32))
            q = g.node("QuantizeLinear", [g.input(shape), s, zero], **attributes)
            g.output(g.node("Cast", [q], to=TensorProto.INT32), False)
            g.output(g.node("DequantizeLinear", [q, s, zero], **attributes))
        return build

    yield "int4", numbers(TensorProto.INT4, [7, 33], [33], True, axis=1)
    yield "uint4_odd", numbers(TensorProto.UINT4, [3, 5, 7], [3], True, axis=0)
    yield "int4_one", numbers(TensorProto.INT4, [5, 9], [], False)
    yield "uint4_blocks", numbers(TensorProto.UINT4, [64, 10], [4, 10], True, axis=0, block_size=16)
    yield "int4_blocks", numbers(TensorProto.INT4, [3, 40], [3, 5], False, axis=-1, block_size=8)
    yield "e4m3", numbers(TensorProto.FLOAT8E4M3FN, [33, 31], [], False)
    yield "e5m2", numbers(TensorProto.FLOAT8E5M2, [33, 31], [31], False, axis=1)
    yield "blocks_uint8", coded(np.uint8, [6, 40, 3], [6, 5, 3], axis=1, block_size=8)
    yield "blocks_int8_last", coded(np.int8, [5, 24], [5, 3], axis=-1, block_size=8)
    yield "blocks_empty", coded(np.int8, [0, 24], [0, 3], axis=1, block_size=8)


def cases():
    for dtype in (np.uint8, np.int8):
        for name, build in quantised(dtype):
            yield case(f"quantised_{name}_{np.dtype(dtype)}", build, rule=("0", "3.01") if name == "chain" else CODE)
    for name, masked, one_way in (("plain", False, 0), ("masked", True, 0), ("causal", False, 1)):
        yield case(f"quantised_attention_{name}", attention(masked, one_way), rule=("1e-4", "1e-4"))
    yield case("quantised_embedding", embedding, rule=("1e-4", "1e-4"))
    for name, build in sums():
        for kind in ("f32", "f16"):
            yield case(f"einsum_{name}_{kind}", build, kind, rule=("1e-4", "1e-4") if kind == "f32" else ("2e-2", "2e-2"))
    for name, build in gates():
        yield case(f"gate_{name}", build, rule=("1e-4", "1e-4"))
    for name, build in blocks():
        case_of = case(f"blocked_{name}", build, rule=("1e-5", "1e-5"))
        del case_of.model.opset_import[0]
        case_of.model.opset_import.append(onnx.helper.make_opsetid("", 21))
        case_of.reference = case_of.model  # the second one has other numbers
        yield case_of
