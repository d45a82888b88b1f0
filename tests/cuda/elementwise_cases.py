"""Graphs of elementwise operators and of operators on shapes: broadcasts, types, fusions, drawn graphs.

cases() yields Case(name, model, runs): `runs` is a list of {input: array}, one for each run of the same session. All
numbers are given in float32 or integers; a case of another floating-point type casts them at its begin and end, and its
expected results are those of float32.
"""
import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import fusion_graphs as fused

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "f64": TensorProto.DOUBLE}
RULES = {"f32": ("1e-5", "1e-5"), "f16": ("4e-3", "4e-3"), "bf16": ("4e-2", "4e-2"), "f64": ("1e-5", "1e-5"), "integer": ("0", "0")}
OPSET = 18
# Shapes of two operands, by what they exercise.
BROADCASTS = {
    "same": ([1000], [1000]), "odd": ([7, 143], [7, 143]), "scalar": ([5, 33], []), "one": ([5, 33], [1, 1]), "both_one": ([1], []),
    "row": ([6, 5, 64], [64]), "odd_row": ([6, 5, 63], [63]), "short_row": ([300, 3], [3]), "column": ([40, 96], [40, 1]), "odd_column": ([41, 97], [41, 1]),
    "channels": ([2, 5, 8, 8], [5, 1, 1]), "odd_channels": ([2, 5, 7, 7], [5, 1, 1]), "outer": ([9, 1, 4], [1, 13, 1]), "middle": ([4, 1, 32], [4, 6, 32]),
    "batch": ([3, 4, 16], [4, 16]), "interleaved": ([2, 1, 3, 1, 8], [4, 1, 5, 8]), "many_axes": ([2, 1, 2, 1, 2, 1, 3, 1], [1, 3, 1, 2, 1, 3, 1, 2]),
    "mask": ([2, 4, 6, 10], [2, 1, 1, 10]), "empty": ([0, 3], [3]), "empty_row": ([4, 0], [1, 1]), "ranks": ([3], [1, 1, 3]),
}


@dataclasses.dataclass
class Case:
    name: str
    model: onnx.ModelProto
    reference: onnx.ModelProto  # the same in types that official ONNX Runtime computes on the CPU
    runs: list
    rule: tuple


class Graph:
    """A graph under construction; floating-point values are of type `kind`."""

    def __init__(self, kind="f32"):
        self.kind, self.nodes, self.fixed, self.inputs, self.outputs, self.count = kind, [], [], {}, [], 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def input(self, shape, dtype=np.float32):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = (shape, np.dtype(dtype))
        return self.node("Cast", [name], to=TYPES[self.kind]) if np.dtype(dtype) == np.float32 and self.kind != "f32" else name

    def constant(self, values):
        name = "c" + self.name()
        values = np.asarray(values)
        if values.dtype == np.float32 and self.kind != "f32":
            self.fixed.append(helper.make_tensor(name, TYPES[self.kind], values.shape, values.flatten().tolist()))
        else:
            self.fixed.append(numpy_helper.from_array(values, name))
        return name

    def node(self, op, inputs, domain="", **attributes):
        out = self.name()
        self.nodes.append(helper.make_node(op, inputs, [out], domain=domain, **attributes))
        return out

    def output(self, name, real=True):
        self.outputs.append(self.node("Cast", [name], to=TensorProto.FLOAT) if real and self.kind != "f32" else self.node("Identity", [name]))

    def model(self):
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(d), s) for n, (s, d) in self.inputs.items()]
        outputs = [helper.make_value_info(n, onnx.TypeProto()) for n in self.outputs]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.fixed)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
        return onnx.shape_inference.infer_shapes(model)


def draw(rng, shape, dtype):
    if dtype == np.float32:
        return rng.standard_normal(shape).astype(np.float32)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(-50 if np.iinfo(dtype).min < 0 else 0, 50, shape).astype(dtype)


def case(name, build, kind="f32", runs=None, rule=None):
    """`build(graph)` adds all of the graph. `runs`: shapes of the inputs in each run; None: as declared."""
    rng = np.random.default_rng(sum(map(ord, name)))
    graph, plain = Graph(kind), Graph()
    build(graph)
    build(plain)
    feeds = []
    for shapes in runs or [[s for s, _ in graph.inputs.values()]]:
        feeds.append({n: draw(rng, s, d) for (n, (_, d)), s in zip(graph.inputs.items(), shapes)})
    return Case(name, graph.model(), plain.model(), feeds, rule or RULES[kind])


def broadcasts():
    for name, (a, b) in BROADCASTS.items():
        for kind in TYPES:
            def build(g):
                x, y = g.input(a), g.input(b)
                s = g.node("Add", [x, y])
                t = g.node("Tanh", [s])
                g.output(s)
                g.output(g.node("Mul", [t, y]))
            yield case(f"broadcast_{name}_{kind}", build, kind)
    for dtype in (np.int8, np.uint8, np.int32, np.int64):
        for name in ("same", "row", "odd_row", "odd_channels", "interleaved"):
            a, b = BROADCASTS[name]
            def build(g):
                x, y = g.input(a, dtype), g.input(b, dtype)
                s = g.node("Max" if np.dtype(dtype).itemsize == 1 else "Add", [x, y])
                g.output(s, False)
                g.output(g.node("Equal", [x, y]) if np.dtype(dtype).itemsize > 1 else g.node("Cast", [s], to=TensorProto.INT32), False)
            yield case(f"broadcast_{name}_{np.dtype(dtype)}", build, rule=RULES["integer"])


def fusions():
    for kind in ("f32", "f16", "bf16"):
        yield case(f"fusion_microsoft_{kind}", fused.microsoft, kind)
    for build in (fused.casts, fused.integers, fused.not_numbers):
        yield case(f"fusion_{build.__name__}", build, rule=("1e-6", "1e-6"))
    for build in (fused.gelu, fused.new_gelu, fused.shared, fused.costly_row, fused.selects, fused.long,
                  fused.many_inputs, fused.way_back, fused.variadic):
        for kind in ("f32", "f16"):
            yield case(f"fusion_{build.__name__}_{kind}", build, kind, rule=("2e-2", "2e-2") if kind == "f16" else None)
    yield case("fusion_codes", fused.codes)


def images():
    """Convolutions store the channels last."""
    def conv(g, x, n, c, k=1):
        w = np.random.default_rng(n + c).standard_normal([n, c, k, k]).astype(np.float32) / (c * k * k) ** 0.5
        return g.node("Conv", [x, g.constant(w)], pads=[k // 2] * 4)

    def silu(g):
        x = conv(g, g.input([2, 3, 9, 9]), 8, 3, 3)
        y = g.node("Mul", [x, g.node("Sigmoid", [x])])
        y = g.node("Mul", [y, g.constant(np.linspace(0.5, 1.5, 8, dtype=np.float32).reshape(8, 1, 1))])
        g.output(conv(g, y, 5, 8))
        g.output(y)

    def gate(g):
        x = conv(g, g.input([2, 3, 9, 7]), 8, 3)
        p = g.node("GlobalAveragePool", [x])
        g.output(conv(g, g.node("Mul", [x, g.node("HardSigmoid", [p])]), 4, 8))

    def mixed(g):  # one operand with the channels last, two with rows
        x, y, z = conv(g, g.input([2, 3, 5, 6]), 8, 3), g.input([2, 8, 5, 6]), g.input([1, 8, 1, 6])
        g.output(g.node("Tanh", [g.node("Mul", [g.node("Add", [x, y]), z])]))

    for build in (silu, gate, mixed):
        yield case(f"image_{build.__name__}", build, rule=("1e-4", "1e-4"))


def shapes():
    def chain(g):  # as exporters write a reshape to (batch, length, heads, rest)
        x = g.input(["B", "L", 24])
        s = g.node("Shape", [x])
        part = [g.node("Gather", [s, g.constant(np.int64(i))], axis=0) for i in (0, 1)]
        axes = g.constant(np.array([0], np.int64))
        to = g.node("Concat", [*(g.node("Unsqueeze", [p, axes]) for p in part), g.constant(np.array([4, -1], np.int64))], axis=0)
        y = g.node("Transpose", [g.node("Reshape", [g.node("Exp", [x]), to])], perm=[0, 2, 1, 3])
        half = g.node("Div", [part[1], g.constant(np.int64(2))])
        cut = g.node("Slice", [y, axes, g.node("Unsqueeze", [half, axes]), g.constant(np.array([2], np.int64))])
        g.output(cut)
        g.output(half, False)

    def positions(g):
        x = g.input(["B", "L"])
        n = g.node("Gather", [g.node("Shape", [x]), g.constant(np.int64(1))], axis=0)
        r = g.node("Range", [g.constant(np.int64(0)), n, g.constant(np.int64(1))])
        mask = g.node("LessOrEqual", [g.node("Unsqueeze", [r, g.constant(np.array([0], np.int64))]), g.node("Unsqueeze", [r, g.constant(np.array([1], np.int64))])])
        g.output(g.node("Add", [x, g.node("Cast", [r], to=g_type(g))]))
        g.output(mask, False)

    def filled(g):
        x = g.input(["B", "L"])
        for value in (np.zeros(1, np.float32), np.full(1, 2.5, np.float32), np.full(1, 7, np.int64), np.full(1, True)):
            g.output(g.node("ConstantOfShape", [g.node("Shape", [x])], value=numpy_helper.from_array(value)), False)
        g.output(g.node("EyeLike", [x], k=1), False)

    def expanded(g):  # the exporters' way to write Expand with -1
        x = g.input(["B", 1, "L"])
        s = g.node("Shape", [x])
        wanted = g.constant(np.array([-1, 5, -1], np.int64))
        ones = g.node("ConstantOfShape", [g.constant(np.array([3], np.int64))], value=numpy_helper.from_array(np.ones(1, np.int64)))
        to = g.node("Where", [g.node("Equal", [wanted, g.node("Mul", [ones, g.constant(np.int64(-1))])]), s, wanted])
        g.output(g.node("Neg", [g.node("Expand", [x, to])]))

    def views(g):
        x = g.input(["B", 1, "L"])
        axes = g.constant(np.array([1], np.int64))
        y = g.node("Squeeze", [g.node("Abs", [x]), axes])
        g.output(g.node("Sqrt", [g.node("Flatten", [g.node("Unsqueeze", [y, axes])], axis=2)]))
        g.output(y)

    def known(g):  # what the host evaluates: all of it follows from the shape
        x = g.input(["A", "B", "C", "D", "E"])
        s = g.node("Shape", [x])
        ints = lambda *v: g.constant(np.array(v, np.int64))
        number = lambda v: g.constant(np.int64(v))
        real = g.node("Cast", [s], to=TensorProto.FLOAT)
        table = g.node("Reshape", [g.node("Concat", [s, g.node("Neg", [s]), ints(7, -2)], axis=0), ints(3, -1)])
        centred = g.node("Sub", [table, number(3)])
        r = [table, centred, g.node("Gather", [s, g.constant(np.array([[0, 2], [1, -1]], np.int64))]), g.node("Gather", [table, number(-2)], axis=1),
             g.node("Slice", [table, ints(-1, 3), ints(-9, -100), ints(0, 1), ints(-2, -1)]), g.node("Slice", [table, ints(1), ints(2**62), ints(-1)]),
             g.node("Transpose", [table]), g.node("Transpose", [g.node("Unsqueeze", [table, ints(1, -1)])], perm=[2, 3, 1, 0]),
             g.node("Tile", [table, ints(2, 3)]), g.node("Expand", [table, ints(2, 1, 4)]), g.node("Squeeze", [g.node("Unsqueeze", [s, ints(0, 2)])]),
             g.node("Flatten", [g.node("Expand", [table, ints(2, 3, 4)])], axis=-1), g.node("Div", [centred, g.node("Sub", [table, number(8)])]),
             g.node("Mod", [centred, g.node("Sub", [table, number(8)])]), g.node("Mod", [centred, ints(-3, 2, -4, 5)], fmod=1), g.node("Mul", [table, centred]),
             g.node("Max", [table, centred, number(1)]), g.node("Min", [table, number(1)]), g.node("Sign", [centred]), g.node("Abs", [centred]), g.node("Pow", [centred, number(3)]),
             g.node("Where", [g.node("Less", [table, number(3)]), centred, number(100)]), g.node("Size", [x]),
             *(g.node(f"Reduce{op}", [table, ints(-1)], keepdims=0) for op in ("Prod", "Max", "Min")), g.node("ReduceSum", [table, ints(0)]), g.node("ReduceSum", [table], keepdims=0),
             g.node("ReduceProd", [s], keepdims=0), g.node("Range", [number(9), g.node("Neg", [g.node("Gather", [s, number(0)])]), number(-3)]),
             g.node("ConstantOfShape", [g.node("Slice", [s, ints(0), ints(2)])], value=numpy_helper.from_array(np.array([5], np.int64)))]
        f = [g.node(op, [g.node("Div", [real, g.constant(np.float32(3.7))])]) for op in ("Floor", "Ceil", "Round", "Sqrt", "Neg", "Exp", "Log", "Reciprocal")]
        f += [g.node("Pow", [real, g.constant(np.float32(1.5))]), g.node("ReduceMean", [real, ints(0)], keepdims=0), g.node("Div", [g.constant(np.float32(256)), real])]
        f += [g.node("Cast", [g.node("Mul", [g.node("Div", [real, g.constant(np.float32(7))]), g.constant(np.float32(7))])], to=TensorProto.INT64)]
        logic = [g.node(op, [g.node("Greater", [table, number(2)]), g.node("Equal", [table, g.node("Abs", [table])])]) for op in ("And", "Or", "Xor")]
        logic += [g.node("Not", [g.node("LessOrEqual", [table, number(2)])]), g.node("GreaterOrEqual", [table, centred])]
        for op in ("Split",):
            parts = [g.name(), g.name()]
            g.nodes.append(helper.make_node(op, [table, ints(1, 3)], parts, axis=1))
            r += parts
        y = g.node("ReduceSum", [g.node("Tanh", [x])], keepdims=0)
        for v in r + f + logic:
            g.output(g.node("Add", [y, g.node("Cast", [v], to=TensorProto.FLOAT)]))

    for build, shape in ((known, [[2, 3, 4, 5, 6], [1, 2, 3, 2, 7], [3, 1, 9, 2, 2]]), (chain, [[2, 6, 24], [1, 9, 24], [2, 6, 24]]), (positions, [[2, 5], [1, 1], [3, 1300]]), (filled, [[3, 7], [40, 50], [0, 4]]),
                         (expanded, [[3, 1, 4], [1, 1, 9]]), (views, [[2, 1, 3], [1, 1, 5], [4, 1, 3]])):
        yield case(f"shape_{build.__name__}", build, runs=[[s] for s in shape])


def g_type(g):
    return TYPES[g.kind]


def drawn(count):
    """Graphs of random operators on operands that broadcast."""
    unary = ["Tanh", "Sigmoid", "Relu", "Neg", "Abs", "Sin", "Erf", "Softsign", "Softplus", "Elu", "HardSwish", "Mish", "Floor"]
    binary = ["Add", "Sub", "Mul", "Max", "Min"]
    for seed in range(count):
        rng = np.random.default_rng(seed)
        full = [int(rng.choice([1, 2, 3, 5, 8, 16])) for _ in range(int(rng.integers(1, 6)))]

        def build(g, seed=seed, full=full):
            rng = np.random.default_rng(seed + 1000)
            def shape():
                return [d if rng.random() < 0.6 else 1 for d in full][int(rng.integers(0, len(full))) if rng.random() < 0.3 else 0:]
            values = [g.input(full)] + [g.input(shape()) for _ in range(int(rng.integers(1, 5)))]
            values += [g.constant(np.float32(v)) for v in (0.5, -2)]
            for _ in range(int(rng.integers(2, 40))):
                pick = lambda: values[int(rng.integers(max(0, len(values) - 8), len(values)))]
                kind = rng.random()
                if kind < 0.4:
                    values.append(g.node(str(rng.choice(unary)), [pick()]))
                elif kind < 0.9:
                    values.append(g.node("Tanh", [g.node(str(rng.choice(binary)), [pick(), pick()])]))
                else:
                    values.append(g.node("Where", [g.node("Less", [pick(), pick()]), pick(), pick()]))
            for v in {values[-1], *(values[int(i)] for i in rng.integers(5, len(values), 3))}:
                if v.startswith("v"):
                    g.output(v)
        yield case(f"drawn_{seed}", build, rule=("1e-4", "1e-4"))


def large(elements):
    """Kernels whose threads have several vectors."""
    def build(g):
        x, y = g.input([elements // 500, 500]), g.input([500])
        g.output(g.node("Relu", [g.node("Add", [x, y])]))
        g.output(g.node("Neg", [x]))
    yield case("large", build)


def cases(quick=False):
    yield from broadcasts()
    yield from fusions()
    yield from images()
    yield from shapes()
    yield from drawn(10 if quick else 60)
    yield from large(2_400_000)
