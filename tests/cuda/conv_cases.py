"""One model with many convolutions, pools and their kin as independent outputs, for a type of elements.

model(kind, only) gives (model, inputs, rules): `rules` has the largest difference allowed per output, relative to its
largest value.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

# tf32 is float32 whose products may be rounded to 10 bits, which other layouts and kernels run.
TYPES = {"f32": TensorProto.FLOAT, "tf32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
RULES = {"f32": 1e-5, "tf32": 3e-3, "f16": 4e-3, "bf16": 3e-2}


class Maker:
    def __init__(self, kind, only):
        self.kind, self.only = kind, only
        self.nodes, self.feeds, self.fixed, self.results, self.rules = [], {}, [], [], {}
        self.inputs, self.count = [], 0

    def name(self, what):
        self.count += 1
        return f"{what}_{self.count}"

    def draw(self, *shape, scale=1.0):
        return np.random.default_rng(self.count).standard_normal(shape).astype(np.float32) * np.float32(scale)

    def x(self, *shape, symbols=None):
        """An input. Floats enter as float32 and are cast, so that all types have the same inputs."""
        n = self.name("x")
        self.feeds[n] = self.draw(*shape)
        self.inputs.append(helper.make_tensor_value_info(n, TensorProto.FLOAT, symbols or shape))
        if TYPES[self.kind] == TensorProto.FLOAT:
            return n
        self.nodes.append(helper.make_node("Cast", [n], [n + "_cast"], to=TYPES[self.kind]))
        return n + "_cast"

    def given(self, values):
        n = self.name("x")
        self.feeds[n] = values
        self.inputs.append(helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(values.dtype), values.shape))
        return n

    def w(self, *shape, scale=None, values=None):
        """A constant of the type."""
        n = self.name("w")
        v = self.draw(*shape, scale=scale or 1 / np.sqrt(max(1, np.prod(shape[1:])))) if values is None else values
        self.fixed.append(helper.make_tensor(n, TYPES[self.kind], v.shape, v.flatten().tolist()))
        return n

    def raw(self, values):
        n = self.name("c")
        self.fixed.append(numpy_helper.from_array(np.asarray(values), n))
        return n

    def node(self, op, inputs, outputs=1, domain="", **attributes):
        made = [self.name(op.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, made, domain=domain, name=made[0], **attributes))
        return made[0] if outputs == 1 else made

    def result(self, name, value, rule=None, kind=None):
        """The value becomes an output, as float32 unless it is of another `kind`."""
        self.nodes.append(helper.make_node("Cast", [value], [name], to=TensorProto.FLOAT) if kind is None
                          else helper.make_node("Identity", [value], [name]))
        self.results.append(helper.make_tensor_value_info(name, kind or TensorProto.FLOAT, None))
        self.rules[name] = RULES[self.kind] if rule is None else rule

    def conv(self, x, shape, bias=True, op="Conv", **attributes):
        outputs = shape[1] * attributes.get("group", 1) if op == "ConvTranspose" else shape[0]
        return self.node(op, [x, self.w(*shape), *([self.w(outputs, scale=1)] if bias else [])], **attributes)


def convolutions(m):
    def one(name, x, shape, bias=True, op="Conv", **attributes):
        m.result(name, m.conv(m.x(*x), shape, bias, op, **attributes))

    one("conv_3x3", (2, 16, 13, 11), (24, 16, 3, 3), pads=[1, 1, 1, 1])
    one("conv_1x1", (1, 32, 7, 7), (64, 32, 1, 1), bias=False)
    one("conv_stride", (1, 16, 14, 15), (32, 16, 3, 3), pads=[1, 1, 1, 1], strides=[2, 2])
    one("conv_stem", (1, 3, 31, 33), (16, 3, 7, 7), pads=[3, 3, 3, 3], strides=[2, 2])
    one("conv_stem_bare", (2, 3, 16, 16), (8, 3, 3, 3), bias=False)
    one("conv_one_channel", (1, 1, 12, 12), (5, 1, 3, 3))
    one("conv_odd", (1, 7, 9, 10), (13, 7, 3, 2), pads=[1, 0, 1, 1])
    one("conv_asymmetric", (1, 8, 12, 12), (8, 8, 3, 3), pads=[0, 1, 2, 3], strides=[2, 1])
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        one("conv_" + pad.lower(), (1, 8, 12, 13), (8, 8, 3, 4), auto_pad=pad, strides=[2, 2])
    one("conv_dilated", (1, 8, 16, 16), (8, 8, 3, 3), dilations=[2, 3], pads=[2, 3, 2, 3])
    one("conv_grouped", (2, 16, 9, 9), (24, 4, 3, 3), group=4, pads=[1, 1, 1, 1])
    one("conv_1d", (2, 8, 50), (12, 8, 5), pads=[2, 2])
    one("conv_1d_stride", (2, 8, 51), (12, 8, 4), pads=[0, 3], strides=[3])
    one("conv_3d", (1, 4, 6, 7, 8), (6, 4, 3, 3, 3), pads=[1, 1, 1, 1, 1, 1])
    one("conv_3d_stride", (1, 4, 6, 7, 8), (6, 4, 2, 3, 3), strides=[2, 1, 2])
    one("conv_batch_0", (0, 4, 6, 6), (6, 4, 3, 3))
    for name, c, k, extra in (("3x3", 16, 3, {}), ("stride", 24, 3, {"strides": [2, 2]}), ("5x5", 8, 5, {}),
                              ("dilated", 8, 3, {"dilations": [2, 2]}), ("odd", 7, 3, {}), ("7x7", 12, 7, {}),
                              ("wide", 40, 3, {"strides": [1, 2]})):
        pad = (k // 2) * extra.get("dilations", [1])[0]
        one("depthwise_" + name, (2, c, 15, 17), (c, 1, k, k), group=c, pads=[pad] * 4, **extra)
    one("depthwise_1d", (2, 16, 33), (16, 1, 3), group=16, pads=[1, 1])
    one("depthwise_multiplier", (1, 8, 9, 9), (16, 1, 3, 3), group=8)
    m.result("conv_filter_input", m.node("Conv", [m.x(1, 8, 9, 9), m.x(12, 8, 3, 3), m.x(12)], pads=[1, 1, 1, 1]),
             RULES[m.kind] * 4)
    m.result("depthwise_filter_input", m.node("Conv", [m.x(1, 8, 9, 9), m.x(8, 1, 3, 3)], group=8), RULES[m.kind] * 4)
    transposed(m, one)
    deformed(m)


def transposed(m, one):
    t = "ConvTranspose"
    one("transpose", (1, 8, 7, 6), (8, 12, 3, 3), op=t)
    one("transpose_stride", (2, 8, 7, 6), (8, 12, 4, 4), op=t, strides=[2, 2], pads=[1, 1, 1, 1])
    one("transpose_output_padding", (1, 8, 7, 6), (8, 4, 3, 3), op=t, strides=[2, 2], pads=[1, 1, 1, 1],
        output_padding=[1, 1])
    one("transpose_long_padding", (1, 4, 5, 5), (4, 4, 2, 2), op=t, strides=[3, 3], output_padding=[2, 1], bias=False)
    one("transpose_grouped", (1, 8, 7, 6), (8, 3, 3, 3), op=t, group=2, strides=[2, 1])
    one("transpose_dilated", (1, 8, 7, 6), (8, 4, 3, 3), op=t, dilations=[2, 2], pads=[2, 1, 0, 1])
    one("transpose_shape", (1, 8, 7, 6), (8, 4, 3, 3), op=t, strides=[3, 2], output_shape=[20, 14])
    one("transpose_same", (1, 8, 7, 6), (8, 4, 3, 3), op=t, strides=[2, 2], auto_pad="SAME_UPPER")
    one("transpose_1d", (1, 8, 17), (8, 4, 4), op=t, strides=[2], pads=[1, 1])
    one("transpose_3d", (1, 4, 3, 4, 5), (4, 4, 3, 3, 3), op=t, strides=[2, 2, 2])
    m.result("transpose_relu", m.node("Relu", [m.conv(m.x(1, 8, 7, 6), (8, 12, 3, 3), op=t)]))


def deformed(m):
    """Convolutions with offsets, and the inverse of MaxPool."""
    def one(name, groups, offset_groups, mask, **attributes):
        x, w = m.x(2, 8, 9, 10), m.w(6, 8 // groups, 3, 2)
        out = (2, 4, 4) if attributes else (2, 7, 9)
        offset = m.x(out[0], offset_groups * 12, *out[1:])
        more = [m.w(6, scale=1)] + ([m.x(out[0], offset_groups * 6, *out[1:])] if mask else [])
        m.result(name, m.node("DeformConv", [x, w, offset, *more], group=groups, offset_group=offset_groups, **attributes),
                 RULES[m.kind] * 4)

    one("deform", 1, 1, False)
    one("deform_groups", 2, 4, True)
    one("deform_across", 1, 2, True, strides=[2, 2], dilations=[1, 2], pads=[0, 0, 1, 0])
    y = m.node("MaxPool", [m.x(2, 3, 8, 9)], 2, kernel_shape=[2, 3], strides=[2, 3])
    m.result("unpool", m.node("MaxUnpool", y, kernel_shape=[2, 3], strides=[2, 3]))
    m.result("unpool_shape", m.node("MaxUnpool", [*y, m.raw(np.array([2, 3, 9, 10]))], kernel_shape=[2, 3], strides=[2, 3]))


def followed(m):
    def base(shape=(2, 16, 9, 9), filters=(16, 16, 3, 3), **more):
        return m.conv(m.x(*shape), filters, pads=[1, 1, 1, 1], **more)

    def clip(y, low, high):
        bounds = [m.w(values=np.float32(v)) if v is not None else "" for v in (low, high)]
        return m.node("Clip", [y, *bounds])

    m.result("then_relu", m.node("Relu", [base()]))
    m.result("then_relu_bare", m.node("Relu", [base(bias=False)]))
    m.result("then_relu6", clip(base(), 0, 6))
    m.result("then_clip", clip(base(), -0.5, 0.75))
    m.result("then_least", clip(base(), 0, None))
    m.result("then_leaky", m.node("LeakyRelu", [base()], alpha=0.1))
    m.result("then_sigmoid", m.node("Sigmoid", [base()]))
    m.result("then_tanh", m.node("Tanh", [base()]))
    m.result("then_hard_sigmoid", m.node("HardSigmoid", [base()], alpha=0.25))
    m.result("then_hard_swish", m.node("HardSwish", [base()]))
    y = base()
    m.result("then_silu", m.node("Mul", [y, m.node("Sigmoid", [y])]))
    y = base()
    m.result("then_gate", m.node("Mul", [m.node("HardSigmoid", [y], alpha=1 / 6), y]))
    y = base((1, 16, 9, 9), (16, 1, 3, 3), group=16)
    m.result("depthwise_silu", m.node("Mul", [m.node("Sigmoid", [y]), y]))
    m.result("depthwise_relu6", clip(base((1, 24, 9, 9), (24, 1, 3, 3), group=24), 0, 6))
    m.result("odd_relu", m.node("Relu", [base((1, 5, 7, 9), (11, 5, 3, 3))]))
    m.result("sum_relu", m.node("Relu", [m.node("Add", [base(), m.x(2, 16, 9, 9)])]))
    m.result("sum", m.node("Add", [m.x(2, 16, 9, 9), base()]))
    m.result("sum_leaky", m.node("LeakyRelu", [m.node("Add", [base(), m.x(2, 16, 9, 9)])], alpha=0.2))
    m.result("sum_of_two", m.node("Relu", [m.node("Add", [base(), base(bias=False)])]))
    m.result("sum_depthwise", m.node("Add", [base((2, 16, 9, 9), (16, 1, 3, 3), group=16), m.x(2, 16, 9, 9)]))
    x = m.x(1, 16, 9, 9)
    y = m.node("Relu", [m.conv(x, (16, 16, 3, 3), pads=[1, 1, 1, 1])])
    m.result("block", m.node("Relu", [m.node("Add", [m.conv(y, (16, 16, 3, 3), pads=[1, 1, 1, 1]), x])]))
    y = base()
    m.result("both", m.node("Add", [m.node("Relu", [y]), y]))
    y = m.conv(m.x(2, 4, 5, 5, symbols=("n", 4, 5, 5)), (8, 4, 1, 1))
    m.result("sum_broadcast", m.node("Relu", [m.node("Add", [y, m.x(1, 8, 5, 5, symbols=("m", 8, 5, 5))])]))
    y = m.conv(m.x(1, 4, 5, 5, symbols=("p", 4, 5, 5)), (8, 4, 1, 1))
    m.result("sum_wider", m.node("Add", [y, m.x(3, 8, 5, 5, symbols=("q", 8, 5, 5))]))


def pools(m):
    def inputs(*shape):
        """As given, and with the channels last."""
        yield "", m.x(*shape)
        yield "_last", m.conv(m.x(*shape), (shape[1], shape[1]) + (1,) * (len(shape) - 2))

    def one(name, shape, op, **attributes):
        for suffix, x in inputs(*shape):
            m.result(name + suffix, m.node(op, [x], **attributes))

    for op in ("MaxPool", "AveragePool"):
        n = op[:3].lower() + "_pool"
        one(n, (2, 16, 13, 14), op, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        one(n + "_ceil", (1, 8, 10, 11), op, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 1, 0, 1], ceil_mode=1)
        one(n + "_same", (1, 5, 10, 11), op, kernel_shape=[2, 3], strides=[3, 2], auto_pad="SAME_LOWER")
        one(n + "_1d", (2, 8, 31), op, kernel_shape=[4], strides=[2])
        one(n + "_3d", (1, 8, 5, 6, 7), op, kernel_shape=[2, 3, 2], pads=[0, 1, 0, 1, 1, 1])
    one("max_pool_dilated", (1, 8, 12, 12), "MaxPool", kernel_shape=[3, 3], dilations=[2, 3])
    one("ave_pool_padding", (1, 8, 9, 9), "AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1,
        strides=[2, 2], ceil_mode=1)
    for p in (1, 2, 3):
        one(f"lp_pool_{p}", (1, 8, 9, 9), "LpPool", kernel_shape=[3, 2], pads=[1, 0, 1, 1], p=p)
    for op in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"):
        one(op, (2, 24, 7, 7), op)
        one(op + "_odd", (1, 5, 33, 35), op)
    for order in (0, 1):
        y = m.node("MaxPool", [m.x(2, 3, 8, 9)], 2, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 0, 1],
                   storage_order=order)
        m.result(f"max_pool_values_{order}", y[0], 0)
        m.result(f"max_pool_indices_{order}", y[1], 0, TensorProto.INT64)
    y = m.node("MaxPool", [m.x(1, 2, 4, 5, 6)], 2, kernel_shape=[2, 2, 2], storage_order=1)
    m.result("max_pool_indices_3d", y[1], 0, TensorProto.INT64)
    norms(m, inputs)


def norms(m, inputs):
    def batch_norm(x, c):
        v = [m.w(c, scale=1), m.w(c, scale=1), m.w(c, scale=1), m.w(values=np.linspace(0.5, 2, c, dtype=np.float32))]
        return m.node("BatchNormalization", [x, *v], epsilon=1e-3)

    for suffix, x in inputs(2, 12, 7, 9):
        m.result("batch_norm" + suffix, batch_norm(m.node("Abs", [x]), 12))
        m.result("lrn" + suffix, m.node("LRN", [x], size=5, alpha=0.1, beta=0.6, bias=1.5))
    m.result("batch_norm_2d", batch_norm(m.x(5, 7), 7))
    m.result("batch_norm_3d", batch_norm(m.x(2, 7, 5), 7))
    m.result("lrn_even", m.node("LRN", [m.x(1, 9, 4, 4)], size=4))


def integers(m):
    r = np.random.default_rng(5)

    def bytes_of(kind, *shape):
        return r.integers(*((0, 256) if kind == np.uint8 else (-128, 128)), shape).astype(kind)

    for a, b in ((np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)):
        n = f"{a.__name__}_{b.__name__}"
        x, w = m.given(bytes_of(a, 1, 8, 9, 9)), m.raw(bytes_of(b, 12, 4, 3, 3))
        m.result("integer_" + n, m.node("ConvInteger", [x, w, m.raw(a(7)), m.raw(b(3))], group=2, pads=[1, 1, 0, 1],
                                        strides=[2, 1]), 0, TensorProto.INT32)
        scale = [m.raw(np.float32(0.02)), m.raw((r.random(12) * 0.02 + 0.001).astype(np.float32)), m.raw(np.float32(0.5))]
        for bias in (False, True):
            more = [m.raw(r.integers(-9999, 9999, 12).astype(np.int32))] if bias else []
            y = m.node("QLinearConv", [x, scale[0], m.raw(a(100)), w, scale[1], m.raw(np.zeros(12, b)), scale[2],
                                       m.raw(a(20)), *more], group=2, dilations=[2, 1])
            m.result(f"linear_{n}_{bias}", y, 0, helper.np_dtype_to_tensor_dtype(np.dtype(a)))
    m.result("integer_bare", m.node("ConvInteger", [m.given(bytes_of(np.uint8, 2, 3, 20)), m.raw(bytes_of(np.int8, 4, 3, 5))]),
             0, TensorProto.INT32)


def coded(m):
    """Filters and biases that DequantizeLinear makes of constants."""
    r = np.random.default_rng(6)

    def numbers(kind, shape, scales, zero=False, axis=0, low=-7):
        values = [m.raw(r.integers(0 if kind == np.uint8 else low, 8, shape).astype(kind)), m.w(values=np.exp2(r.integers(-6, -3, scales)).astype(np.float32))]
        if zero:
            values.append(m.raw(r.integers(0, 5, scales).astype(kind)))
        return m.node("DequantizeLinear", values, axis=axis)

    def conv(shape, filters, kind=np.int8, each=True, bias=True, **more):
        given = [m.x(*shape), numbers(kind, filters, [filters[0]] if each else [], kind == np.uint8)]
        return m.node("Conv", given + ([numbers(np.int32, [filters[0]], [filters[0]] if each else [], low=-40)] if bias else []), pads=[1, 1, 1, 1], **more)

    m.result("coded", conv((2, 16, 9, 9), (16, 16, 3, 3)))
    m.result("coded_relu", m.node("Relu", [conv((1, 16, 9, 9), (24, 16, 3, 3), each=False)]))
    m.result("coded_uint8", m.node("Relu", [m.node("Add", [conv((2, 16, 9, 9), (16, 16, 3, 3), np.uint8, bias=False), m.x(2, 16, 9, 9)])]))
    m.result("coded_odd", conv((1, 3, 11, 9), (5, 3, 3, 3), np.uint8, False))
    m.result("coded_depthwise", m.node("Relu", [conv((1, 24, 9, 9), (24, 1, 3, 3), group=24)]))
    w = numbers(np.int8, (16, 16, 3, 3), [16])
    m.result("coded_twice", m.node("Conv", [m.node("Relu", [m.node("Conv", [m.x(1, 16, 9, 9), w])]), w]))
    m.result("coded_transposed", m.node("ConvTranspose", [m.x(1, 8, 6, 6), numbers(np.int8, (8, 12, 3, 3), [12], axis=1)]))
    w = numbers(np.int8, (8, 8, 1, 1), [])
    m.result("coded_elsewhere", m.node("Conv", [m.x(1, 8, 4, 4), w]))
    m.result("coded_numbers", m.node("Add", [w, m.x(1)]))


PARTS = {"coded": coded, "convolutions": convolutions, "followed": followed, "pools": pools, "integers": integers}


def model(kind, part):
    m = Maker(kind, part)
    PARTS[part](m)
    graph = helper.make_graph(m.nodes, part, m.inputs, m.results, m.fixed)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])
    made.ir_version = 10
    return made, m.feeds, m.rules
