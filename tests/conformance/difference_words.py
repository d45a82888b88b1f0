"""What the rows of difference_rows.py are written in: models of one node, and what an engine should do with them."""
import os
import sys

import numpy as np
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, os.pardir, "tools", "fuzzing"))
from numbers_of import element, from_wire, to_wire  # noqa: E402

f32, i32, i64, u8, i8 = np.float32, np.int32, np.int64, np.uint8, np.int8
INF, NAN = np.float32(np.inf), np.float32(np.nan)
MS, ML = "com.microsoft", "ai.onnx.ml"
NOT_RUN = {}  # (operators, condition): why no row runs it
ROWS = []  # (operators, condition, [(ours, theirs, model, inputs, outputs)])


class Fixed:
    """An input that is an initializer of the model."""

    def __init__(self, array):
        self.array = array


def A(*values, dtype=f32, shape=None):
    array = np.array(values, dtype)
    return array if shape is None else array.reshape(shape)


def model(op, inputs, outputs=1, opset=23, domain="", ranks=False, **attributes):
    """(bytes, inputs, names of outputs) of a model of one node. inputs: arrays, Fixed arrays or None (left out). ranks: it tells no extents."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    while names and not names[-1]:
        names.pop()
    out = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
    given = [(n, x) for n, x in zip(names, inputs) if n and not isinstance(x, Fixed)]
    node = helper.make_node(op, names, out, domain=domain, **{k: v for k, v in attributes.items() if v is not None})
    ports = [helper.make_tensor_value_info(n, element(x), [None] * x.ndim if ranks else x.shape) for n, x in given]
    graph = helper.make_graph([node], "g", ports, [helper.ValueInfoProto(name=o) for o in out if o],
                              [numpy_helper.from_array(x.array, n) for n, x in zip(names, inputs) if isinstance(x, Fixed)])
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, {ML: 3}.get(domain, 1))] if domain else [])
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return proto.SerializeToString(), [(n, to_wire(x)) for n, x in given], [o for o in out if o]


class Error:
    """An error whose text contains `word`."""

    def __init__(self, word=""):
        self.word = word

    def check(self, outcome):
        return None if outcome[0] == "error" and self.word in outcome[-1] else f"no error with '{self.word}'"


class Crash:
    def check(self, outcome):
        return None if outcome[0] == "crash" else "it does not end"


class Anything:
    """Results that are undefined, but a run that ends."""

    def check(self, outcome):
        return None if outcome[0] == "ok" else "it does not run"


class Undefined:
    """Results of memory that nothing wrote, or an error."""

    def check(self, outcome):
        return None if outcome[0] in ("ok", "error") else "it does not end well"


class Differs:
    """Results that are not those of Retort."""

    def check(self, outcome):
        return None if outcome[0] == "ok" and outcome[1] != self.ours[1] else "it does not run, or agrees with Retort"


class Result:
    """Results by shape, values (NaN equals NaN) or a function of the arrays; None: not looked at."""

    def __init__(self, *wanted, tolerance=1e-5):
        self.wanted, self.tolerance = wanted, tolerance

    def check(self, outcome):
        if outcome[0] != "ok":
            return "it does not run"
        got = [from_wire(v) for v in outcome[1]]
        for i, (w, g) in enumerate(zip(self.wanted, got)):
            if callable(w) and not w(g):
                return f"output {i} is {g!r}"
            if w is None or callable(w):
                continue
            w = np.asarray(w)
            if w.shape != g.shape or not np.allclose(w.astype(np.float64), g.astype(np.float64), self.tolerance, self.tolerance, equal_nan=True):
                return f"output {i} is {g!r} and not {w!r}"
        return None


def shape(*extents):
    return lambda g: g.shape == extents


def other(*wanted):
    """Results that are not `wanted`."""
    return lambda g: not (g.shape == np.asarray(wanted[0]).shape and np.allclose(g.astype(np.float64), np.asarray(wanted[0], np.float64), 1e-4, 1e-4, equal_nan=True))


def row(operators, condition):
    def add(function):
        ROWS.append((operators, condition, list(function())))
        return function
    return add
