"""A case of one operator inside a graph: if existing values fit what a recipe (recipes/) requests, they become its
inputs."""
import numpy as np

import model
import numbers_of
import schemas
from case import Case, Given, Refused

from . import values

REUSE = 0.85  # share of shapes and inputs that come from values of the graph, if one fits
ALMOST_CONSTANT = 0.9


class NodeCase(Case):
    def __init__(self, graph, operator):
        world = graph.world
        self.graph, self.operator, self.seed, self.number = graph, operator, world.seed, world.number
        self.r, self.numbers = world.r, world.numbers
        self.opset = world.opsets.get(operator.domain, 0)
        fitting = [v for v in operator.versions if v.since <= self.opset <= v.until]
        kernels = operator.kernels_of(fitting[0]) if fitting else []
        if not kernels:
            raise Refused("the oracle has no kernel for it in this opset")
        self.version, self.kernel = fitting[0], self.r.choice(kernels)
        self.inputs, self.attributes, self.outputs = [], {}, None
        self.chosen, self.scale, self.output_types, self.shared, self.form = {}, 0.0, {}, {}, ""
        self.takes = []  # Values, one for each input
        self.pool = graph.tensors()

    # Choices: nothing illegal; types and shapes are preferably those of values of the graph.

    def odd(self, share=0.03):
        return False

    def elem(self, variable, *allowed):
        if variable in self.chosen:
            return self.chosen[variable]
        texts = self.kernel.get(variable) or self.version.types.get(variable) or [variable]
        found = [e for t in texts if t.startswith("tensor") and (e := schemas.element_of(t))]
        found = [e for e in found if not allowed or schemas.NAMES[e] in allowed]
        if not found:
            return super().elem(variable, *allowed)
        there = {}
        for value in self.pool:
            there[value.of] = there.get(value.of, 0) + 1
        weights = [(60 if e == 1 else 0.4) + min(there.get(e, 0), 6) * 2 for e in found]
        self.chosen[variable] = self.r.choices(found, weights)[0]
        return self.chosen[variable]

    def of_pool(self, low, high, most):
        fitting = [v for v in self.pool if low <= len(v.shape) <= high and v.array.size and v.array.size <= 4 * most and max(v.shape, default=0) <= most]
        if not fitting or not self.maybe(REUSE):
            return None
        return preferred(self.r, fitting).shape

    def shape(self, low=0, high=4, empty=0.04, most=600):
        return self.of_pool(low, high, most) or super().shape(low, high, 0, most)

    def extents(self, low, high, most=7, empty=0.03):
        return self.of_pool(low, high, 4 * most) or super().extents(low, high, most, 0)

    def broadcasting(self, count, low=0, high=4, one_way=False):
        shapes = super().broadcasting(count, low, high, True)
        whole = shapes[0]
        others = [v.shape for v in self.pool if len(v.shape) <= len(whole) and all(d in (1, w) for d, w in zip(v.shape[::-1], whole[::-1]))]
        shapes = [s if i == 0 or not others or self.maybe(0.4) else self.r.choice(others) for i, s in enumerate(shapes)]
        if not one_way:
            self.r.shuffle(shapes)
        return shapes

    # Inputs.

    def take(self, value, constant=False):
        self.inputs.append(Given(value.name, value.array, constant))
        self.takes.append(value)
        return value.array

    def skip(self):
        self.inputs.append(None)
        self.takes.append(None)

    def input(self, variable, shape, kind="any", constant=None):
        of = variable if isinstance(variable, int) else schemas.ELEMENTS.get(variable) or self.elem(variable)
        shape = tuple(int(d) for d in shape)
        if constant:
            return self.take(self.graph.drawn(of, shape, kind, True), True)
        found = [v for v in self.pool if v.of == of and v.shape == shape and v.fits(kind)]
        if found and self.maybe(REUSE):
            return self.take(preferred(self.r, found))
        made = adapted(self.graph, self.pool, of, shape, kind) if self.maybe(0.6) else None
        return self.take(made or self.graph.drawn(of, shape, kind, self.maybe(0.75)))

    def give(self, value, constant=None, type=""):
        if value is None:
            raise Refused("an optional without a value")
        if isinstance(value, list):
            made = self.graph.input([value] * self.graph.world.runs, type)
            self.inputs.append(Given(made.name, value, False, type))
            self.takes.append(made)
            return value
        if type.startswith("optional"):
            raise Refused("an input that is optional")
        value = np.asarray(value)
        if constant is None:
            constant = self.maybe(ALMOST_CONSTANT)
        if constant or self.graph.parent or any(d in self.graph.world.symbols for d in value.shape):
            return self.take(self.graph.constant(value), True)
        return self.take(self.graph.input([value] * self.graph.world.runs))

    def node(self):
        """Adds the node and returns its outputs."""
        self.finish()
        if self.shared:
            raise Refused("outputs in the memory of inputs")
        if self.attributes.get("training_mode"):
            raise Refused("the oracle writes into its inputs")
        takes = []
        for given, value in zip(self.inputs, self.takes):
            if given is not None and given.value is not None and not isinstance(given.value, list) and given.value is not value.array:
                value = self.graph.constant(given.value)  # the recipe has changed it
            takes.append(value)
        attributes = [model.attribute(name, value, self.version.attributes[name][0]) for name, value in self.attributes.items()]
        return self.graph.add(self.operator.name, takes[:len(self.inputs)], attributes, self.outputs, domain=self.operator.domain, scale=self.scale, case=self)


def preferred(r, found):
    """One of some values; unused and new ones are preferred."""
    return r.choices(found, [(4 if not v.uses and v.source == "node" else 1) * (1 + 2 * i / len(found)) for i, v in enumerate(found)])[0]


def cast(graph, value, of):
    if value.of == of:
        return value
    if of == numbers_of.BOOL and values.is_float(value.of):
        return graph.add("Greater", [value, graph.constant(np.zeros((), value.array.dtype))])
    return graph.add("Cast", [value], {"to": of})


def reshaped(graph, value, shape):
    """A value of the given shape that consists of a part or of repetitions of another one."""
    count = int(np.prod(shape, dtype=np.int64))
    flat = value if len(value.shape) == 1 else graph.add("Reshape", [value, graph.constant(np.array([-1], np.int64))])
    least = min(a.size for a in flat.arrays)
    if not least:
        return None
    if least < count:
        flat = graph.add("Tile", [flat, graph.constant(np.array([-(-count // least)], np.int64))])
    if any(a.size != count for a in flat.arrays):
        start = graph.r.randint(0, min(a.size for a in flat.arrays) - count)
        flat = graph.add("Slice", [flat, *(graph.constant(np.array([v], np.int64)) for v in (start, start + count, 0))])
    return graph.add("Reshape", [flat, graph.constant(np.array(shape, np.int64))])


def into_kind(graph, value, kind):
    if value.fits(kind):
        return value
    if not values.is_float(value.of) or value.of not in (1, 10, 11):
        return None
    if kind in ("unit", "positive", "small"):
        value = graph.add("Sigmoid", [value])
    if kind == "positive":
        value = graph.add("Add", [value, graph.constant(np.asarray(0.25, value.array.dtype))])
    return value


def adapted(graph, pool, of, shape, kind):
    """A value that Cast, Reshape or Sigmoid make of another one; None if that is impossible."""
    if of == numbers_of.STRING or not pool or 0 in shape:
        return None
    try:
        same = [v for v in pool if v.shape == shape and v.of not in (numbers_of.STRING, 14, 15)]
        if same:
            return into_kind(graph, cast(graph, preferred(graph.r, same), of), kind)
        floats = [v for v in pool if v.of == of and v.array.size]
        if not floats or any(d in graph.world.symbols for d in shape):
            return None
        return into_kind(graph, reshaped(graph, preferred(graph.r, floats), shape), kind)
    except Refused:
        return None
