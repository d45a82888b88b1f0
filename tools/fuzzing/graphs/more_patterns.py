"""More patterns like those of patterns.py: quantised values, sequences, recurrent networks and choices."""
import numpy as np

import numbers_of
import schemas
from case import Refused

from .patterns import floats, image_of, pattern
from .spelling import ints, number, reshape, squeeze, transpose, weight


@pattern
def quantised(graph):
    """A value is quantised and dequantised, in some cases with an operator between."""
    x, r = floats(graph, 1, 4), graph.r
    of = r.choice((np.uint8, np.int8))
    most = max(float(np.max(np.abs(x.array))), 0.1)

    def there_and_back(value, most):
        scale, zero = graph.constant(np.asarray(most / 127, np.float32)), graph.constant(np.asarray(128 if of == np.uint8 else 0, of))
        return graph.add("DequantizeLinear", [graph.add("QuantizeLinear", [value, scale, zero]), scale, zero])
    y = there_and_back(x, most)
    kind = r.choice(("none", "Relu", "Add", "MatMul", "Reshape", "Sigmoid", "Concat", "Softmax"))
    if kind == "Add":
        y = graph.add("Add", [y, y if r.random() < 0.3 else there_and_back(x, most * 1.5)])
    elif kind == "Concat":
        y = graph.add("Concat", [y, there_and_back(x, most * 1.5)], {"axis": 0})
    elif kind == "MatMul" and len(x.shape) > 1:
        scale, zero = graph.constant(np.asarray(0.02, np.float32)), graph.constant(np.asarray(0, np.int8))
        codes = graph.constant(graph.world.numbers.array(numbers_of.element(np.zeros(0, np.int8)), (x.shape[-1], 8), "small"))
        y = graph.add("MatMul", [y, graph.add("DequantizeLinear", [codes, scale, zero])], scale=64.0)
    elif kind == "Reshape":
        y = reshape(graph, y, [x.shape[0], -1])
    elif kind not in ("none", "MatMul"):
        y = graph.add(kind, [y])
    there_and_back(y, max(float(np.max(np.abs(y.array))), 0.1))


@pattern
def quantised_convolution(graph):
    x, r = image_of(graph), graph.r
    channels, of = x.shape[1], r.choice((np.uint8, np.int8))
    scale = graph.constant(np.asarray(max(float(np.max(np.abs(x.array))), 0.1) / 127, np.float32))
    zero = graph.constant(np.asarray(128 if of == np.uint8 else 0, of))
    y = graph.add("DequantizeLinear", [graph.add("QuantizeLinear", [x, scale, zero]), scale, zero])
    filters = r.choice((4, 8))
    codes = graph.constant(graph.world.numbers.array(3, (filters, channels, 3, 3), "small"))
    each = graph.constant((np.abs(graph.world.numbers.generator.standard_normal(filters)) * 0.02 + 0.005).astype(np.float32))
    if graph.world.onnx_opset >= 13 and r.random() < 0.5:
        w = graph.add("DequantizeLinear", [codes, each, graph.constant(np.zeros(filters, np.int8))], {"axis": 0})
    else:
        w = graph.add("DequantizeLinear", [codes, graph.constant(np.asarray(0.02, np.float32)), graph.constant(np.asarray(0, np.int8))])
    y = graph.add("Conv", [y, w], {"pads": [1, 1, 1, 1]}, scale=256.0)
    y = graph.add("Relu", [y]) if r.random() < 0.5 else y
    out = graph.constant(np.asarray(max(float(np.max(np.abs(y.array))), 0.1) / 127, np.float32))
    graph.add("DequantizeLinear", [graph.add("QuantizeLinear", [y, out, zero]), out, zero])


@pattern
def sequence(graph):
    r = graph.r
    x = floats(graph, 1, 4, (1, 1, 7))
    if r.random() < 0.5:
        made = graph.add("SequenceConstruct", [x] + [v for v in graph.tensors() if v.of == x.of and v.shape == x.shape][:2])
    else:
        made = graph.add("SplitToSequence", [x], {"axis": r.randrange(len(x.shape)), "keepdims": 1})
    if r.random() < 0.4:
        made = graph.add("SequenceInsert", [made, x] + ([graph.constant(np.asarray(0, np.int64))] if r.random() < 0.5 else []))
    if r.random() < 0.3:
        made = graph.add("SequenceErase", [made] + ([graph.constant(np.asarray(0, np.int64))] if r.random() < 0.5 else []))
    graph.add("SequenceAt", [made, graph.constant(np.asarray(r.choice((0, -1)), np.int64))])
    if r.random() < 0.6:
        graph.add("ConcatFromSequence", [made], {"axis": 0})
    if r.random() < 0.4:
        graph.add("SequenceLength", [made])


@pattern
def optional(graph):
    if graph.world.onnx_opset < 15:
        raise Refused("no optionals yet")
    x = floats(graph, 0, 4, (1, 7))
    made = graph.add("Optional", [x], type=f"optional(tensor({schemas.NAMES[x.of]}))")
    graph.add("OptionalGetElement", [made])
    graph.add("OptionalHasElement", [made])


@pattern
def ranked(graph):
    """The greatest elements of a value without error; their indices gather and scatter other values."""
    found = [v for v in graph.tensors() if v.of == 1 and not v.error and v.shape and v.shape[-1] >= 2 and v.array.size < 4000]
    if not found:
        raise Refused("nothing is known exactly")
    x = graph.r.choice(found)
    greatest, places = graph.add("TopK", [x, ints(graph, [graph.r.randint(1, x.shape[-1])])], {"axis": -1}, 2)
    others = [v for v in graph.tensors() if v.of == 1 and v.shape == x.shape]
    gathered = graph.add("GatherElements", [graph.r.choice(others), places], {"axis": -1})
    graph.add("ScatterElements", [graph.r.choice(others), places, graph.add("Add", [gathered, greatest])], {"axis": -1})


@pattern
def recurrent(graph):
    x, r = floats(graph, 3, 3), graph.r
    name, gates = r.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
    hidden, width, ways = r.choice((4, 8)), x.shape[-1], r.choice((1, 1, 2))
    turned = transpose(graph, x, (1, 0, 2))
    given = [turned, weight(graph, (ways, gates * hidden, width), fan_in=width), weight(graph, (ways, gates * hidden, hidden), fan_in=hidden)]
    if r.random() < 0.7:
        given.append(weight(graph, (ways, 2 * gates * hidden), fan_in=4))
    attributes = {"hidden_size": hidden, "direction": "bidirectional" if ways == 2 else "forward"}
    y = graph.add(name, given, attributes, [True] * (3 if name == "LSTM" else 2))[0]
    if ways == 1:
        transpose(graph, squeeze(graph, y, [1]), (1, 0, 2))
    else:
        reshape(graph, transpose(graph, y, (2, 0, 1, 3)), [0, 0, -1])


@pattern
def selected(graph):
    """Selects between two values by the comparison of a third one, which has no error."""
    exact = [v for v in graph.tensors() if v.of in (1, 7) and not v.error and v.array.size <= 4000]
    if not exact:
        raise Refused("nothing is known exactly")
    test = graph.r.choice(exact)
    mask = graph.add(graph.r.choice(("Greater", "Less")), [test, number(graph, test, 0)])
    same = [v for v in graph.tensors() if v.of == 1 and v.shape == test.shape]
    if len(same) >= 2:
        graph.add("Where", [mask, *graph.r.sample(same, 2)])
    else:
        graph.add("Where", [mask, graph.constant(np.float32(0.5)), graph.constant(np.float32(-1.5))])
