"""Operators on codes of 8 bits in com.microsoft."""
import numpy as np

import numbers_of
from schemas import ELEMENTS

from case import Refused

from . import recipe
from .weights import leading, wrong


def product_shapes(case):
    k, n = case.dim(1, 20), case.dim(1, 20)
    if case.maybe(0.8):
        return leading(case) + (k,), (k + wrong(case), n)
    batch = case.r.choice(((2,), (1, 3)))
    return case.r.choice((batch, (1,), ())) + (case.dim(), k), batch + (k, n)


@recipe("com.microsoft:MatMulInteger16")
def matmul_integer16(case):
    a, b = product_shapes(case)
    case.input("T1", a)
    case.input("T2", b)


def one(case, shape=()):
    return case.r.choice(((), (), (1,)))


def of_columns(case, n):
    return (n,) if case.maybe(0.4) else one(case)


def zero_array(case, element, shape):
    low, high = numbers_of.limits(element)
    return np.asarray(case.numbers.generator.integers(low, high + 1, shape)).astype(numbers_of.dtype(element))


def zero(case, variable, shape):
    """A zero point of the operator's codes, over their whole range."""
    return case.give(zero_array(case, variable if isinstance(variable, int) else case.elem(variable), shape))


@recipe("com.microsoft:MatMulIntegerToFloat")
def matmul_integer_to_float(case):
    a, b = product_shapes(case)
    matrix = len(b) == 2
    case.input("T1", a)
    case.input("T2", b)
    columns = of_columns(case, b[-1]) if matrix else one(case)
    case.input("T3", one(case), "positive")
    case.input("T3", columns, "positive")
    zero(case, "T1", one(case)) if case.maybe() else case.skip()
    zero(case, "T2", columns if case.maybe(0.9) else one(case)) if case.maybe() else case.skip()
    if case.maybe():
        case.input("T3", (b[-1] + wrong(case),), "normal")
    case.scale = 20000.0 * a[-1]


@recipe("com.microsoft:DynamicQuantizeMatMul")
def dynamic_quantize_matmul(case):
    a, b = product_shapes(case)
    case.input("T1", a, "normal", constant=False)
    case.input("T2", b)
    columns = of_columns(case, b[-1]) if len(b) == 2 else one(case)
    case.input("T1", columns, "positive")
    zero(case, "T2", columns if case.maybe(0.9) else one(case)) if case.maybe() else case.skip()
    if case.maybe():
        case.input("T1", (b[-1],), "normal")
    case.scale = 20000.0 * a[-1]


def scale(case, shape=None):
    case.input("float", one(case) if shape is None else shape, "positive")


def code_tensor(case, variable, shape, optional=False, scalar=False):
    """Codes, their scale and their zero point."""
    case.input(variable, shape)
    scale(case, () if scalar else None)
    quantization_zero(case, variable, optional, scalar)


def quantization_zero(case, variable, optional=False, scalar=False):
    if optional and case.maybe(0.15):
        case.skip()
    else:
        zero(case, variable, () if scalar else one(case))


@recipe("com.microsoft:QLinearAdd com.microsoft:QLinearMul")
def q_linear_binary(case):
    scalar = case.maybe(0.95)
    for shape in case.broadcasting(2, 0, 4):
        code_tensor(case, "T", shape, scalar=scalar)
    scale(case, () if scalar else None)
    quantization_zero(case, "T", True, scalar)


# The oracle has the schemas of the next three, but no kernels: their results are compared between settings of Retort.
@recipe("com.microsoft:MulInteger")
def mul_integer(case):
    for shape in case.broadcasting(2, 0, 4):
        case.input("T", shape)
        quantization_zero(case, "T", True, scalar=True)


def reduced(case, shape):
    case.attr("axes", case.axes(len(shape), 1))
    case.attr("keepdims", case.dim(0, 1))


@recipe("com.microsoft:ReduceSumInteger")
def reduce_sum_integer(case):
    shape = case.extents(1, 4)
    reduced(case, shape)
    case.input("T1", shape)
    case.output_types[0] = "tensor(uint32)" if case.elem("T1") == ELEMENTS["uint8"] else "tensor(int32)"


@recipe("com.microsoft:QLinearReduceMean")
def q_linear_reduce_mean(case):
    shape = case.extents(1, 4)
    reduced(case, shape)
    code_tensor(case, "T", shape, scalar=True)  # without a zero point, the oracle's inference takes the scale for one
    scale(case, ())
    quantization_zero(case, "T", scalar=True)


@recipe("com.microsoft:QLinearLeakyRelu com.microsoft:QLinearSigmoid")
def q_linear_unary(case):
    case.attr("alpha", case.r.choice((0.0, 0.01, 0.5, 2.0, -0.3)), 0.6)
    code_tensor(case, "T", case.shape(0, 4), True)
    if case.operator.name == "QLinearSigmoid" and case.maybe(0.7):
        case.give(np.array(1 / 256, np.float32))
    else:
        scale(case)
    quantization_zero(case, "T")  # the oracle crashes if this one is omitted


@recipe("com.microsoft:QLinearSoftmax")
def q_linear_softmax(case):
    shape = case.shape(1, 4, empty=0)
    case.attr("axis", case.r.randint(-len(shape), len(shape) - 1), 0.7)
    case.attr("opset", case.r.choice((11, 12, 13, 17)))
    case.input("T", shape)
    scale(case)
    quantization_zero(case, "T")
    case.give(np.array(1 / 256, np.float32))
    quantization_zero(case, "T")


@recipe("com.microsoft:QLinearWhere")
def q_linear_where(case):
    c, a, b = case.broadcasting(3, 0, 4)
    case.input("bool", c)
    for shape in (a, b):
        code_tensor(case, "T", shape)
    scale(case)
    quantization_zero(case, "T")


@recipe("com.microsoft:QLinearConcat")
def q_linear_concat(case):
    element = case.elem("T8", "uint8", "int8")
    shape = list(case.shape(1, 4))
    axis = case.r.randrange(len(shape))
    case.attr("axis", axis - (len(shape) if case.maybe(0.3) else 0))
    scale(case)
    quantization_zero(case, "T8")
    for _ in range(case.r.randint(1, 4)):
        shape[axis] = case.dim(0 if case.maybe(0.1) else 1, 6)
        code_tensor(case, element, shape)


def spatial(case, least=1):
    rank = case.r.choice((1, 2, 2, 2, 3))
    return [case.dim(3, 9) for _ in range(rank)]


def window(case, extents, dilates):
    rank = len(extents)
    kernel = [case.dim(1, 3) for _ in range(rank)]
    case.attr("kernel_shape", kernel)
    case.attr("strides", [case.dim(1, 3) for _ in range(rank)], 0.5)
    case.attr("dilations", [case.dim(1, 2) for _ in range(rank)], 0.3 if dilates else 0.0)
    if case.maybe():
        case.attr("pads", [case.dim(0, k - 1) for k in kernel] * 2)
    else:
        # The oracle pads wrongly if auto_pad of these operators is "SAME_...".
        pooling = case.operator.name in ("NhwcMaxPool", "QLinearAveragePool")
        case.attr("auto_pad", case.r.choice(("NOTSET", "VALID") if pooling else ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")), 0.6)
    return kernel


def image(case, channels, extents, last):
    return (case.dim(1, 2), *extents, channels) if last else (case.dim(1, 2), channels, *extents)


@recipe("com.microsoft:QLinearAveragePool com.microsoft:QLinearGlobalAveragePool")
def q_linear_pool(case):
    extents, last = spatial(case), case.attr("channels_last", case.r.randint(0, 1), 0.8)
    if case.operator.name == "QLinearAveragePool":
        window(case, extents, False)
        case.attr("ceil_mode", case.r.randint(0, 1), 0.4)
        case.attr("count_include_pad", case.r.randint(0, 1), 0.5)
    case.chosen["T"] = case.r.choice((2, 3))
    average = case.operator.name == "QLinearAveragePool"
    code_tensor(case, "T", image(case, case.dim(1, 5), extents, last), scalar=average)
    scale(case, () if average else None)
    quantization_zero(case, "T", average, average)


@recipe("com.microsoft:NhwcMaxPool")
def nhwc_max_pool(case):
    extents = spatial(case)
    window(case, extents, True)
    case.attr("ceil_mode", case.r.randint(0, 1), 0.4)
    case.input("T", image(case, case.dim(1, 5), extents, True))


@recipe("com.microsoft:QLinearConv")
def q_linear_conv(case):
    extents, last = spatial(case), case.attr("channels_last", case.r.randint(0, 1), 0.8)
    kernel, group = window(case, extents, True), case.r.choice((1, 1, 1, 2))
    case.attr("group", group)
    if case.maybe(0.1):
        del case.attributes["kernel_shape"]
    inner, outer = case.dim(1, 4), case.dim(1, 4) * group
    case.input("T1", image(case, inner * group, extents, last))
    scale(case)
    quantization_zero(case, "T1")
    case.input("T2", (outer, inner, *kernel))
    by_channel = (outer,) if case.maybe(0.4) else one(case)
    scale(case, by_channel)
    case.give(np.zeros(by_channel, numbers_of.dtype(case.elem("T2")))) if case.maybe() else zero(case, "T2", one(case))
    scale(case)
    quantization_zero(case, "T3")
    if case.maybe():
        case.input("int32", (outer,), "normal")


@recipe("com.microsoft:QGemm")
def q_gemm(case):
    m, k, n = case.dim(0 if case.maybe(0.05) else 1, 9), case.dim(1, 20), case.dim(1, 20)
    ta, tb = (case.attr(name, case.r.randint(0, 1), 0.6) for name in ("transA", "transB"))
    case.attr("alpha", case.r.choice((1.0, 0.5, 2.0)), 0.4)
    code_tensor(case, "TA", (k, m) if ta else (m, k))
    columns = (n,) if case.maybe(0.4) else one(case)
    case.input("TB", (n, k) if tb else (k, n))
    scale(case, columns)
    zero(case, "TB", columns)
    case.input("TC", case.r.choice(((n,), (m, n), (1, n), (m, 1), (1,), ())), "normal") if case.maybe() else case.skip()
    case.scale = 20000.0 * k
    if case.maybe():
        case.give(np.asarray(case.numbers.generator.uniform(50, 500, one(case)).astype(np.float32)))
        case.chosen["TYZ"] = case.elem("TA")
        quantization_zero(case, "TYZ")
        case.output_types[0] = {2: "tensor(uint8)", 3: "tensor(int8)"}[case.elem("TA")]
    else:
        case.output_types[0] = "tensor(float)"


@recipe("com.microsoft:QuantizeLinear com.microsoft:DequantizeLinear")
def quantize_or_dequantize(case):
    quantizes = case.operator.name == "QuantizeLinear"
    shape = case.shape(1, 4, empty=0.02)
    axis = case.attr("axis", case.r.randint(-len(shape), len(shape) - 1), 0.6)
    by_axis = axis is not None and case.maybe(0.6)
    own = (shape[axis] + wrong(case),) if by_axis else one(case)
    case.input("T1", shape)
    case.input("T1" if quantizes else "T2", own, "positive")
    kind = "T2" if quantizes else "T1"
    if case.maybe(0.3):
        if quantizes:
            case.chosen["T2"] = ELEMENTS["uint8"]
        return
    element = case.elem(kind)
    case.give(np.zeros(own, numbers_of.dtype(element)), None) if element == 6 else zero(case, kind, own)
    if element == 0:
        raise Refused("no type")


@recipe("com.microsoft:QEmbedLayerNormalization")
def q_embed_layer_normalization(case):
    batch, length, hidden = case.dim(1, 3), case.dim(1, 5), case.r.choice((4, 8, 16))
    words, positions, has_segments = case.dim(1, 9), length + case.dim(0, 3) - (1 if case.maybe(0.03) else 0), case.maybe()
    element = case.elem("T2", "uint8", "int8")
    generator = case.numbers.generator
    outside = 1 if case.maybe(0.03) else 0
    case.give(generator.integers(-outside, words + outside, (batch, length)).astype(np.int32))
    case.give(generator.integers(0, 2, (batch, length)).astype(np.int32)) if has_segments else case.skip()
    for rows in (words, max(positions, 1), 2 if has_segments else 0):
        case.input(element, (rows, hidden), "any", constant=True) if rows else case.skip()
    for _ in range(2):
        case.input(element, (hidden,), "any", constant=True)
    case.give(generator.integers(0, 2, (batch, length)).astype(np.int32)) if case.maybe() else case.skip()
    for i in range(10):
        if i % 5 == 2 and not has_segments:
            case.skip()
        elif i < 5:
            scale(case)
        else:
            zero(case, element, one(case))
    case.attr("epsilon", case.r.choice((1e-12, 1e-5)), 0.6)
    case.scale = 2000.0


@recipe("com.microsoft:QAttention")
def q_attention(case):
    r, generator = case.r, case.numbers.generator
    batch, rows, heads, size, width = case.dim(1, 3), case.dim(1, 5), case.dim(1, 3), r.choice((2, 4, 8)), case.dim(1, 9)
    hidden, past = heads * size, case.dim(1, 4) if case.maybe(0.3) else 0
    case.attr("num_heads", heads)
    case.attr("unidirectional", r.randint(0, 1), 0.5)
    case.attr("mask_filter_value", r.choice((-10000.0, -50.0)), 0.2)
    case.attr("scale", r.uniform(0.1, 1.0), 0.2)
    case.input("T1", (batch, rows, width), "any")
    case.input("T2", (width, 3 * hidden), "any")
    case.input("T3", (3 * hidden,), "normal")
    case.give(np.asarray(generator.uniform(0.001, 0.01, one(case)).astype(np.float32)))
    columns = (3 * hidden,) if case.maybe(0.3) else one(case)
    case.give(np.asarray(generator.uniform(0.001, 0.01, columns).astype(np.float32)))
    whole = rows + past
    kind = r.choice(("none", "none", "lengths", "lengths and starts", "raw", "rows"))
    if kind == "none":
        case.skip()
    elif kind == "lengths":
        case.give(generator.integers(1, whole + 1, batch).astype(np.int32))
    elif kind == "lengths and starts":
        starts = generator.integers(0, whole, batch)
        case.give(np.concatenate([starts + 1 + generator.integers(0, 2, batch), starts]).astype(np.int32))
    else:
        case.give(generator.integers(0, 2, (batch, whole) if kind == "raw" else (batch, rows, whole)).astype(np.int32))
    zero(case, "T1", one(case)) if case.maybe(0.8) else case.skip()
    zero(case, "T2", columns if case.maybe(0.9) else one(case)) if case.maybe(0.7) else case.skip()
    if past:
        case.input("T3", (2, batch, heads, past, size), "unit")
    case.want(True, past > 0 or case.maybe(0.2))
    case.scale = 100.0


@recipe("com.microsoft:DynamicQuantizeLSTM")
def dynamic_quantize_lstm(case):
    r, generator = case.r, case.numbers.generator
    steps, batch, width, hidden = case.dim(1, 5), case.dim(1, 3), case.dim(1, 9), case.dim(1, 8)
    direction = r.choice(("forward", "reverse", "bidirectional"))
    directions = 2 if direction == "bidirectional" else 1
    case.attr("direction", direction)
    case.attr("hidden_size", hidden)
    case.attr("clip", 2.0, 0.1)
    case.attr("input_forget", r.randint(0, 1), 0.2)
    element = case.elem("T2")
    case.input("T", (steps, batch, width), "normal")
    case.input("T2", (directions, width, 4 * hidden), "any", constant=True)
    case.input("T2", (directions, hidden, 4 * hidden), "any", constant=True)
    case.input("T", (directions, 8 * hidden), "unit") if case.maybe() else case.skip()
    case.give(generator.integers(1, steps + 1, batch).astype(np.int32)) if case.maybe(0.4) else case.skip()
    for _ in range(2):
        case.input("T", (directions, batch, hidden), "unit") if case.maybe(0.4) else case.skip()
    case.input("T", (directions, 3 * hidden), "unit") if case.maybe(0.2) else case.skip()
    for _ in range(2):
        columns = case.maybe(0.4)
        shape = (directions, 4 * hidden) if columns else (directions,)
        case.give(generator.uniform(0.001, 0.02, shape).astype(np.float32), True)
        if columns:
            case.give(np.zeros(shape, numbers_of.dtype(element)), True)
        else:
            case.give(zero_array(case, element, shape), True)
    case.scale = 100.0
