"""Operators that work element by element."""
import numpy as np

from . import recipe
from .matrix import magnitude


@recipe("Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor HardSwish Log Mish Neg Not Reciprocal Relu Round Sigmoid Sign Sin "
        "Sinh Softplus Softsign Sqrt Tan Tanh IsNaN BitwiseNot Identity com.microsoft:Gelu")
def unary(case):
    if case.has_attr("consumed_inputs"):
        case.attr("consumed_inputs", [0], 0.3)
    case.input(case.version.inputs[0].type, case.shape(0, 6), case.r.choice(("any", "any", "normal", "unit")))


@recipe("Elu Selu Celu LeakyRelu ThresholdedRelu HardSigmoid Gelu Swish Shrink IsInf com.microsoft:QuickGelu com.microsoft:ScaledSiLU")
def unary_with_attributes(case):
    for name, (kind, _) in case.version.attributes.items():
        if kind == "FLOAT":
            case.attr(name, case.r.choice((1.5 if case.operator.name == "Celu" else 0.0, 1.0, 0.5, -0.5, 0.01, 2.0, case.r.uniform(-3, 3))), 0.6)
        elif kind == "INT":
            case.attr(name, case.r.randint(0, 1), 0.6)
    case.attr("approximate", case.r.choice(("none", "tanh")), 0.6)
    of = case.elem(case.version.inputs[0].type)
    x = case.input(of, case.shape(0, 5), "any" if of in (1, 10, 11, 16) else "small")
    case.scale = magnitude(x) if case.operator.name == "QuickGelu" else 0  # it multiplies the error of a sigmoid by x


def broadcast_axis(case, shape):
    """The shape of the second input for versions before 7, which broadcast it to a part of the first."""
    if not case.maybe():
        return shape
    case.attr("broadcast", 1)
    start = case.r.randint(0, len(shape))
    end = case.r.randint(start, len(shape))
    if end < len(shape) or case.maybe(0.3):
        case.attr("axis", start)
    return shape[start:end]


@recipe("Add Sub Mul Div And Or Xor Equal Less LessOrEqual Greater GreaterOrEqual Pow BitwiseAnd BitwiseOr BitwiseXor Mod BitShift PRelu")
def binary(case):
    name = case.operator.name
    one_way = name == "PRelu" and case.version.since > 1
    a, b = case.broadcasting(2, 0, 5, one_way)
    if case.has_attr("broadcast"):
        b = broadcast_axis(case, a)
    elif case.version.since < 7 and name != "BitShift":
        b = a
    case.attr("fmod", case.r.randint(0, 1), 0.7)
    case.attr("direction", case.r.choice(("LEFT", "RIGHT")))
    divides = name in ("Div", "Mod")
    case.input(case.version.inputs[0].type, a, "small" if case.maybe(0.2) else "any")
    case.input(case.version.inputs[1].type, b, "positive" if divides and case.elem(case.version.inputs[1].type) not in (1, 10, 11, 16) else
               "small" if name == "Pow" and case.maybe(0.7) else "any")
    if name == "Pow" and case.inputs[0].value.dtype.kind in "iu":
        base, exponent = case.inputs  # powers that fit into an int32
        base.value = base.value % 9 - 4
        exponent.value = np.floor(np.nan_to_num(exponent.value, posinf=1, neginf=1) % 5).astype(exponent.value.dtype)


@recipe("Max Min Sum Mean")
def variadic(case):
    count = case.r.choice((1, 2, 2, 3, 4, 6))
    shapes = case.broadcasting(count, 0, 4)
    for shape in shapes if case.version.since >= 8 else [shapes[0]] * count:
        case.input("T", shape)


@recipe("Where")
def where(case):
    c, a, b = case.broadcasting(3, 0, 5)
    case.input("bool", c)
    case.input("T", a)
    case.input("T", b)


@recipe("Clip")
def clip(case):
    if case.version.since < 11:
        case.attr("min", case.r.uniform(-2, 0.5), 0.6)
        case.attr("max", case.r.uniform(-0.5, 2), 0.6)
        case.input("T", case.shape())
        return
    case.input("T", case.shape())
    for _ in range(2):
        if case.maybe(0.3):
            case.skip()
        else:
            case.input("T", (), "small")


@recipe("com.microsoft:BiasGelu com.microsoft:FastGelu")
def with_bias(case):
    shape = case.shape(1, 4)
    case.input("T", shape)
    if case.operator.name == "BiasGelu" or case.maybe():
        case.input("T", shape[-1:])


@recipe("BitCast")
def bit_cast(case):
    source = case.elem("T1")
    width = {1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 10: 16, 11: 64, 12: 32, 13: 64, 16: 16, 9: 8}
    same = [e for e in width if width[e] == width.get(source)] or list(width)
    to = case.r.choice(same if case.maybe(0.9) else list(width))
    case.attr("to", to)
    case.chosen["T2"] = to
    case.input("T1", case.shape())




@recipe("Affine Scale ScaledTanh ParametricSoftplus")
def scaled(case):
    for name in ("alpha", "beta", "scale"):
        case.attr(name, case.pick(0.5, 1.0, -2.0), 0.95 if case.operator.name in ("ScaledTanh", "ParametricSoftplus") else 0.6)
    case.input("T", case.shape(), "normal")
