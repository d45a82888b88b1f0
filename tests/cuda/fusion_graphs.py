"""Graphs of several elementwise nodes for elementwise_cases.py. Each function adds the nodes of one graph to `g`."""
import numpy as np
from onnx import TensorProto


def gelu(g):
    x = g.input([3, 5, 64])
    h = g.node("Add", [x, g.constant(np.linspace(-1, 1, 64, dtype=np.float32))])
    e = g.node("Erf", [g.node("Div", [h, g.constant(np.float32(1.41421356))])])
    g.output(g.node("Mul", [g.node("Mul", [h, g.node("Add", [e, g.constant(np.float32(1))])]), g.constant(np.float32(0.5))]))


def new_gelu(g):
    x = g.input([3, 5, 64])
    c = lambda v: g.constant(np.float32(v))
    cube = g.node("Pow", [x, c(3)])
    inner = g.node("Mul", [g.node("Add", [x, g.node("Mul", [cube, c(0.044715)])]), c(0.79788456)])
    g.output(g.node("Mul", [g.node("Mul", [x, c(0.5)]), g.node("Add", [g.node("Tanh", [inner]), c(1)])]))


def shared(g):  # values inside that others read, too
    x, y = g.input([6, 40]), g.input([40])
    e = g.node("Exp", [y])
    a = g.node("Mul", [x, e])
    s = g.node("ReduceSum", [a, g.constant(np.array([1], np.int64))], keepdims=1)
    g.output(g.node("Div", [a, s]))
    g.output(e)


def costly_row(g):  # computed once per row rather than once per element
    x, y = g.input([64, 40]), g.input([40])
    z = g.node("Sqrt", [g.node("Exp", [g.node("Tanh", [g.node("Sin", [y])])])])
    g.output(g.node("Add", [x, z]))


def selects(g):
    x, m = g.input([4, 1, 9, 9]), g.input([4, 1, 1, 9], np.bool_)
    z = g.node("Where", [m, x, g.constant(np.float32(-1e9))])
    k = g.node("And", [g.node("Greater", [x, g.constant(np.float32(0))]), g.node("Not", [m])])
    g.output(g.node("Clip", [z, g.constant(np.float32(-2)), g.constant(np.float32(2))]))
    g.output(k, False)


def long(g):  # more nodes than a kernel has
    x = g.input([33, 70])
    for i in range(60):
        x = g.node("Tanh" if i % 7 == 6 else "Mul" if i % 2 else "Add", [x] if i % 7 == 6 else [x, g.constant(np.full([70] if i % 3 else [], 0.5 + i / 60, np.float32))])
    g.output(x)


def many_inputs(g):
    x = [g.input([50, 12] if i % 2 else [12]) for i in range(20)]
    while len(x) > 1:
        x = [g.node("Add", x[i:i + 2]) if i + 1 < len(x) else x[i] for i in range(0, len(x), 2)]
    g.output(x[0])


def way_back(g):  # a path leaves the elementwise nodes and comes back
    x = g.input([8, 16])
    a = g.node("Relu", [x])
    s = g.node("Softmax", [a], axis=-1)
    g.output(g.node("Mul", [g.node("Add", [a, s]), a]))


def variadic(g):
    x = [g.input(s) for s in ([3, 4, 5], [4, 1], [5], [])]
    for op in ("Sum", "Mean", "Max", "Min"):
        g.output(g.node(op, x))


def codes(g):
    x = g.input([2, 6, 5, 5])
    scale, zero = g.constant(np.float32(0.05)), g.constant(np.uint8(120))
    q = g.node("QuantizeLinear", [x, scale, zero])
    d = g.node("DequantizeLinear", [q, scale, zero])
    scales, zeros = g.constant(np.linspace(0.01, 0.1, 6, dtype=np.float32)), g.constant(np.arange(-3, 3, dtype=np.int8))
    p = g.node("QuantizeLinear", [g.node("Relu", [d]), scales, zeros], axis=1)
    g.output(q, False)
    g.output(g.node("DequantizeLinear", [p, scales, zeros], axis=-3))


def casts(g):  # out of range, the results are those of x86, as on the CPU
    values = np.array([0, -0.0, 0.5, -0.5, 1.9, -1.9, 127, 128, 200.7, 255.5, 300, -129, -5, 65535, 70000, 2147483520, 2147483648, -2147483648, -2147483904, 3e9, 4294967296, 9e18, 1e19, -1e19,
                       np.inf, -np.inf, np.nan, 1e-40], np.float32)
    x = g.node("Add", [g.constant(np.tile(values, 100)), g.node("Mul", [g.input([1]), g.constant(np.float32(0))])])
    for to in (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32, TensorProto.UINT32, TensorProto.INT64, TensorProto.BOOL):
        g.output(g.node("Cast", [x], to=to), False)
    whole = g.node("Cast", [x], to=TensorProto.INT64)
    for to in (TensorProto.INT8, TensorProto.UINT16, TensorProto.INT32, TensorProto.FLOAT, TensorProto.BOOL):
        g.output(g.node("Cast", [whole], to=to), False)


def integers(g):  # quotients and remainders of both signs
    x = g.constant(np.repeat(np.arange(-60, 60, dtype=np.int64), 30))
    y = g.constant(np.tile(np.concatenate([np.arange(-15, 0), np.arange(1, 16)]).astype(np.int64), 120))
    x = g.node("Add", [x, g.input([1], np.int64)])
    for op, attributes in (("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1}), ("Mul", {}), ("Pow", {}), ("Sub", {}), ("Max", {}), ("Less", {}), ("GreaterOrEqual", {})):
        g.output(g.node(op, [x, g.node("Mod", [y, g.constant(np.int64(5))]) if op == "Pow" else y], **attributes), False)
    for op in ("Neg", "Abs", "Sign"):
        g.output(g.node(op, [x]), False)
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        g.output(g.node(op, [x, y]), False)
    g.output(g.node("BitwiseNot", [x]), False)
    g.output(g.node("Clip", [x, g.constant(np.int64(-20)), g.constant(np.int64(30))]), False)


def not_numbers(g):
    x = g.constant(np.tile(np.array([np.nan, -1, 0, 1, np.inf, -np.inf, 0.5], np.float32), 343))
    y = g.constant(np.repeat(np.array([np.nan, -1, 0, 1, np.inf, -np.inf, 0.5], np.float32), 343))
    x = g.node("Add", [x, g.node("Mul", [g.input([1]), g.constant(np.float32(0))])])
    for op in ("Max", "Min"):
        g.output(g.node(op, [x, y]))
    for op in ("Equal", "Less", "Greater", "LessOrEqual"):
        g.output(g.node(op, [x, y]), False)
    g.output(g.node("IsNaN", [x]), False)
    g.output(g.node("IsInf", [x], detect_negative=0), False)
    g.output(g.node("Clip", [x, g.constant(np.float32(-0.5)), g.constant(np.float32(0.5))]))
    for op in ("Exp", "Sqrt", "Tanh", "Sigmoid", "Erf", "Softplus", "Round", "Reciprocal"):
        g.output(g.node(op, [x]))


def microsoft(g):
    x, b = g.input([7, 40]), g.constant(np.linspace(-3, 3, 40, dtype=np.float32))
    wide = g.node("Mul", [x, g.constant(np.float32(40))])
    for op, inputs in (("Gelu", [x]), ("QuickGelu", [wide]), ("FastGelu", [x]), ("FastGelu", [x, b]), ("BiasGelu", [x, b])):
        g.output(g.node(op, inputs, domain="com.microsoft"))
    g.output(g.node("Mul", [wide, g.node("Sigmoid", [wide])]))
