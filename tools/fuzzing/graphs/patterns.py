"""Patterns of several nodes that exporters write and that passes search for. Each is a function of a Graph; it raises
Refused if no value of the graph fits."""
import numpy as np

from case import Refused

from .node_case import preferred
from .spelling import ints, number, reduce, reshape, slices, split, squeeze, transpose, unsqueeze, weight

PATTERNS = []


def pattern(function):
    PATTERNS.append(function)
    return function


def floats(graph, low=1, high=5, types=(1,), most=6000):
    """A value of floating point with a rank in a range."""
    found = [v for v in graph.tensors() if v.of in types and low <= len(v.shape) <= high and v.array.size and v.array.size <= most]
    if not found:
        raise Refused("no value of floating point")
    return preferred(graph.r, found)


def activation(graph, x):
    r = graph.r
    kind = r.choice(("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "HardSigmoid", "Softplus", "Clip", "swish", "gelu", "tanh gelu", "none"))
    if kind == "none":
        return x
    if kind == "swish":
        return graph.add("Mul", r.sample([x, graph.add("Sigmoid", [x])], 2))
    if kind == "gelu":
        return gelu(graph, x)
    if kind == "tanh gelu":
        return tanh_gelu(graph, x)
    if kind == "Clip":
        return graph.add("Clip", [x, number(graph, x, 0.0), number(graph, x, r.choice((1.0, 6.0)))])
    return graph.add(kind, [x])


def gelu(graph, x):
    inner = graph.add("Div", [x, number(graph, x, np.sqrt(2))]) if graph.r.random() < 0.5 else graph.add("Mul", [x, number(graph, x, np.sqrt(0.5))])
    grown = graph.add("Add", [graph.add("Erf", [inner]), number(graph, x, 1.0)])
    if graph.r.random() < 0.5:
        return graph.add("Mul", [graph.add("Mul", [x, grown]), number(graph, x, 0.5)])
    return graph.add("Mul", [graph.add("Mul", [x, number(graph, x, 0.5)]), grown])


def tanh_gelu(graph, x):
    cube = graph.add("Pow", [x, number(graph, x, 3.0)])
    inner = graph.add("Mul", [graph.add("Add", [x, graph.add("Mul", [cube, number(graph, x, 0.044715)])]), number(graph, x, np.sqrt(2 / np.pi))])
    grown = graph.add("Add", [graph.add("Tanh", [inner]), number(graph, x, 1.0)])
    return graph.add("Mul", [graph.add("Mul", [x, grown]), number(graph, x, 0.5)])


@pattern
def activated(graph):
    activation(graph, activation(graph, floats(graph, 0, 5, (1, 1, 1, 10, 11))))


@pattern
def layer_norm(graph):
    x = floats(graph, 2, 4)
    width = x.shape[-1]
    low = graph.add("Sub", [x, reduce(graph, "ReduceMean", x, [-1])])
    square = graph.add("Pow", [low, number(graph, x, 2.0)]) if graph.r.random() < 0.5 else graph.add("Mul", [low, low])
    deviation = graph.add("Sqrt", [graph.add("Add", [reduce(graph, "ReduceMean", square, [-1]), number(graph, x, 1e-2)])])
    y = graph.add("Mul", [graph.add("Div", [low, deviation]), weight(graph, (width,), fan_in=1)])
    graph.add("Add", graph.r.sample([y, weight(graph, (width,), fan_in=1)], 2))


@pattern
def rms_norm(graph):
    x = floats(graph, 2, 4)
    mean = reduce(graph, "ReduceMean", graph.add("Pow", [x, number(graph, x, 2.0)]), [-1])
    deviation = graph.add("Sqrt", [graph.add("Add", [mean, number(graph, x, 1e-2)])])
    y = graph.add("Div", [x, deviation]) if graph.r.random() < 0.5 else graph.add("Mul", [x, graph.add("Reciprocal", [deviation])])
    graph.add("Mul", [weight(graph, (x.shape[-1],), fan_in=1), y])


@pattern
def softmax(graph):
    x = floats(graph, 2, 4)
    axis = graph.r.randrange(len(x.shape))
    risen = graph.add("Exp", [graph.add("Sub", [x, reduce(graph, "ReduceMax", x, [axis])])])
    graph.add("Div", [risen, reduce(graph, "ReduceSum", risen, [axis])])


@pattern
def dense(graph):
    """Layers of a product with weights, a bias and an activation, in some cases with a residual connection."""
    x = start = floats(graph, 2, 4)
    for _ in range(graph.r.choice((1, 1, 2, 3))):
        k, n = x.shape[-1], graph.r.choice((1, 4, 8, 16, 17, 32, start.shape[-1]))
        if graph.r.random() < 0.3 and len(x.shape) == 2:
            turned = graph.r.randint(0, 1)
            x = graph.add("Gemm", [x, weight(graph, (n, k) if turned else (k, n), fan_in=k), weight(graph, (n,), fan_in=1)], {"transB": turned}, scale=4.0 * k)
        else:
            w = weight(graph, (k, n))
            if graph.r.random() < 0.2:
                w = transpose(graph, weight(graph, (n, k), fan_in=k), (1, 0))
            x = graph.add("MatMul", [x, w], scale=4.0 * k)
            if graph.r.random() < 0.8:
                x = graph.add("Add", graph.r.sample([x, weight(graph, (n,), fan_in=1)], 2))
        x = activation(graph, x)
    if x.shape == start.shape:
        graph.add("Add", [x, start])


@pattern
def shared_input(graph):
    """Several products or convolutions of one value, like queries, keys and values."""
    x = floats(graph, 2, 3)
    k, made = x.shape[-1], []
    for _ in range(graph.r.choice((2, 3, 3))):
        n = graph.r.choice((4, 8, 8, 16))
        y = graph.add("MatMul", [x, weight(graph, (k, n))], scale=4.0 * k)
        made.append(graph.add("Add", [y, weight(graph, (n,), fan_in=1)]) if graph.r.random() < 0.7 else y)
    graph.add("Concat", made, {"axis": -1})


@pattern
def attention(graph):
    x = floats(graph, 3, 3)
    r, width = graph.r, x.shape[-1]
    heads, size = r.choice((1, 2, 4)), r.choice((4, 8))
    parts = []
    for _ in range(3):
        y = graph.add("MatMul", [x, weight(graph, (width, heads * size))], scale=4.0 * width)
        if r.random() < 0.7:
            y = graph.add("Add", [weight(graph, (heads * size,), fan_in=1), y])
        parts.append(transpose(graph, reshape(graph, y, [0, -1 if r.random() < 0.5 else 0, heads, size]), (0, 2, 1, 3)))
    query, key, value = parts
    scores = graph.add("MatMul", [query, transpose(graph, key, (0, 1, 3, 2))], scale=4.0 * size)
    scores = graph.add("Mul", [scores, number(graph, x, size ** -0.5)]) if r.random() < 0.5 else graph.add("Div", [scores, number(graph, x, size ** 0.5)])
    if r.random() < 0.4:
        scores = causal(graph, scores)
    mixed = graph.add("MatMul", [graph.add("Softmax", [scores], {"axis": 3}), value], scale=16.0)
    y = reshape(graph, transpose(graph, mixed, (0, 2, 1, 3)), [0, 0, heads * size])
    y = graph.add("MatMul", [y, weight(graph, (heads * size, width))], scale=16.0)
    graph.add("Add", [x, y])


def causal(graph, scores):
    """Scores in which a mask hides later positions; the mask is computed from the length."""
    length = graph.add("Gather", [graph.add("Shape", [scores]), graph.constant(np.asarray(2, np.int64))])
    steps = graph.add("Range", [graph.constant(np.asarray(0, np.int64)), length, graph.constant(np.asarray(1, np.int64))])
    later = graph.add("Less", [unsqueeze(graph, steps, [1]), unsqueeze(graph, steps, [0])])
    return graph.add("Where", [later, number(graph, scores, graph.r.choice((-1e4, -np.inf))), scores])


@pattern
def rotary(graph):
    x = floats(graph, 2, 4)
    width = x.shape[-1]
    if width % 2 or width < 2:
        raise Refused("an odd width")
    if graph.r.random() < 0.5:
        low, high = split(graph, x, -1, [width // 2, width // 2])
    else:
        low, high = slices(graph, x, 0, width // 2, -1), slices(graph, x, width // 2, 1 << 40, -1)
    turned = graph.add("Concat", [graph.add("Neg", [high]), low], {"axis": -1})
    table = weight(graph, (width,), fan_in=1)
    graph.add("Add", [graph.add("Mul", [x, graph.add("Cos", [table])]), graph.add("Mul", [turned, graph.add("Sin", [table])])])


@pattern
def convolution(graph):
    r = graph.r
    x = image_of(graph)
    for _ in range(r.choice((1, 1, 2))):
        channels, k = x.shape[1], r.choice((1, 1, 3))
        group = channels if r.random() < 0.3 else 1
        filters = channels * r.choice((1, 2)) if group > 1 else r.choice((channels, 4, 8, 16))
        w = weight(graph, (filters, channels // group, k, k), fan_in=channels // group * k * k)
        given = [x, w] + ([weight(graph, (filters,), fan_in=1)] if r.random() < 0.5 else [])
        y = graph.add("Conv", given, {"pads": [k // 2] * 4, "group": group, "strides": [r.choice((1, 1, 2))] * 2}, scale=16.0 * k * k)
        if r.random() < 0.5:
            moments = [weight(graph, (filters,), fan_in=1) for _ in range(3)]
            spread = graph.constant(np.abs(moments[0].array) + np.float32(0.3))
            y = graph.add("BatchNormalization", [y, *moments, spread])
        elif r.random() < 0.4:
            y = graph.add(r.choice(("Add", "Mul")), [y, weight(graph, (filters, 1, 1), fan_in=1)])
        if y.shape == x.shape and r.random() < 0.6:
            y = graph.add("Add", r.sample([x, y], 2))
        x = activation(graph, y)
    if r.random() < 0.4 and min(x.shape[2:]) >= 2:
        x = graph.add(r.choice(("MaxPool", "AveragePool")), [x], {"kernel_shape": [2, 2], "strides": [r.choice((1, 2))] * 2})
    elif r.random() < 0.3:
        x = graph.add("GlobalAveragePool", [x])
        graph.add("Flatten", [x]) if r.random() < 0.5 else squeeze(graph, x, [2, 3])


def image_of(graph):
    """A value of rank 4, or another value reshaped to that rank."""
    found = [v for v in graph.tensors() if v.of == 1 and len(v.shape) == 4 and v.array.size and v.shape[1] <= 64]
    found = [v for v in found if v.shape[1] not in graph.world.symbols]
    if found and graph.r.random() < 0.9:
        return preferred(graph.r, found)
    x = floats(graph, 3, 3)
    return unsqueeze(graph, x, [1])


@pattern
def squeeze_and_excite(graph):
    x = image_of(graph)
    channels = x.shape[1]
    y = graph.add("GlobalAveragePool", [x]) if graph.r.random() < 0.5 else reduce(graph, "ReduceMean", x, [2, 3])
    for filters, after in ((max(1, channels // 2), "Relu"), (channels, graph.r.choice(("Sigmoid", "HardSigmoid")))):
        w = weight(graph, (filters, y.shape[1], 1, 1), fan_in=y.shape[1])
        y = graph.add(after, [graph.add("Conv", [y, w], scale=64.0)])
    graph.add("Mul", [x, y])


@pattern
def shape_arithmetic(graph):
    """A shape computed from another one, as exporters do for dynamic extents."""
    x = floats(graph, 2, 4, (1, 1, 7, 11))
    rank, r = len(x.shape), graph.r
    shape = graph.add("Shape", [x])
    first = unsqueeze(graph, graph.add("Gather", [shape, graph.constant(np.asarray(0, np.int64))], {"axis": 0}), [0])
    way = r.choice(("concat", "slice", "product", "expand"))
    if way == "concat":
        target = graph.add("Concat", [first, ints(graph, [-1])], {"axis": 0})
    elif way == "slice":
        target = graph.add("Concat", [slices(graph, shape, 0, rank - 1, 0), ints(graph, [1, -1])], {"axis": 0})
    elif way == "product":
        rest = reduce(graph, "ReduceProd", slices(graph, shape, 1, rank, 0), [0])
        target = graph.add("Concat", [first, rest], {"axis": 0})
    else:
        like = graph.add("ConstantOfShape", [shape])
        graph.add("Add", [graph.add("Cast", [like], {"to": x.of}), x])
        return
    graph.add("Reshape", [x, target])


@pattern
def round_trip(graph):
    """Movements that cancel each other, or almost."""
    x, r = floats(graph, 1, 5, (1, 1, 1, 7, 6, 9, 10, 11, 2, 3)), graph.r
    rank = len(x.shape)
    order = r.sample(range(rank), rank)
    back = [order.index(i) for i in range(rank)] if r.random() < 0.7 else r.sample(range(rank), rank)
    way = r.choice(("transpose", "reshape", "squeeze", "cast", "split", "pad", "identity"))
    if way == "transpose":
        middle = transpose(graph, x, order)
        if x.of == 1 and r.random() < 0.7:
            middle = activation(graph, middle)
        transpose(graph, middle, back)
    elif way == "reshape":
        middle = reshape(graph, x, [-1]) if r.random() < 0.5 else graph.add("Flatten", [x], {"axis": r.randint(0, rank)})
        reshape(graph, middle, [x.shape[0], -1] if rank > 1 else [-1, 1])
    elif way == "squeeze":
        middle = graph.add("Identity", [unsqueeze(graph, x, [r.randint(0, rank)])])
        squeeze(graph, middle, [r.randrange(rank) if 1 in x.shape else 0])
    elif way == "cast":
        graph.add("Cast", [graph.add("Cast", [x], {"to": r.choice((11, 10, 7)) if x.of == 1 else 1})], {"to": x.of})
    elif way == "split" and x.shape[-1] >= 2:
        cut = r.randint(1, x.shape[-1] - 1)
        parts = split(graph, x, rank - 1, [cut, x.shape[-1] - cut])
        graph.add("Concat", parts if r.random() < 0.5 else parts[::-1], {"axis": -1})
    elif way == "pad":
        pads = [r.randint(0, 2) for _ in range(2 * rank)]
        padded = graph.add("Pad", [x, ints(graph, pads)])
        slices(graph, padded, pads[0], x.shape[0] + pads[0], 0)
    else:
        graph.add("Identity", [graph.add("Identity", [x])])


@pattern
def again(graph):
    """A copy of an existing node."""
    found = [n for n in graph.nodes if len(n.outputs) == 1 and n.outputs[0] and not n.captures]
    if not found:
        raise Refused("no node")
    node = graph.r.choice(found)
    first = node.outputs[0]
    copy = graph.add(node.proto.op_type, node.inputs, list(node.proto.attribute), domain=node.proto.domain, least=first.error, type=first.type)
    if first.is_tensor and first.usable() and first.of == 1:
        graph.add(graph.r.choice(("Add", "Sub", "Max")), [first, copy])


@pattern
def foldable(graph):
    """Nodes that read only constants."""
    a, b = weight(graph, (4, 8), fan_in=1), weight(graph, (8,), fan_in=1)
    x = graph.add(graph.r.choice(("Add", "Mul")), [a, b])
    x = activation(graph, transpose(graph, x, (1, 0)) if graph.r.random() < 0.5 else x)
    use = [v for v in graph.tensors() if v.of == 1 and v.shape[-1:] == x.shape[-1:] and v.source != "constant" and v.array.size < 4000]
    if use:
        graph.add("MatMul", [preferred(graph.r, use), transpose(graph, x, (1, 0))], scale=64.0)
