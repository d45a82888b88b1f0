"""A graph under construction. Every node is run alone when it is added, so its values are known; a node that does not
run is left out."""
import dataclasses
import random
import zlib

import numpy as np
import onnx
from onnx import helper

import compare
import model
import numbers_of
from case import Refused

from . import values
from .values import Value

SAFETY = 16  # values may differ by this many times the estimated error
JUMP = 64
# How inputs with errors are moved, in further runs of a node: (multiple of the error, pattern of signs). In a small tensor, random signs may all be
# equal, and then what a node subtracts, compares or normalises seems to be exact. A negative multiple has the opposite signs: the first of two equal
# numbers stays the least if it moves down.
MOVES = ((1, 0), (1, 1), (8, 0), (8, 1), (8, 2), (-8, 1), (-8, 2))
NEAR = 2  # of these, by the error alone
SYMBOLS = {10: ("N", 3), 11: ("S", 19)}  # {extent of the first run: (its name, extent of the second run)}
QUANTISING = ("QuantizeLinear", "DynamicQuantizeLinear", "QLinear", "QGemm")


@dataclasses.dataclass(eq=False)
class Node:
    proto: object
    inputs: list  # Values; None for an omitted one
    outputs: list
    captures: list  # Values that its bodies capture
    label: str

    def reads(self):
        return [v for v in (*self.inputs, *self.captures) if v is not None]


@dataclasses.dataclass
class NodeFinding:
    """A node that gives other results here than on the oracle when it runs alone."""
    label: str
    kind: str
    detail: str
    model: bytes
    feeds: list
    case: object = None


class World:
    """What a graph and its bodies share. `r` draws choices, `numbers` elements; both depend on the seed and the number
    of the graph alone."""

    def __init__(self, seed, number, probe):
        self.seed, self.number, self.probe = seed, number, probe
        self.r = random.Random(f"{seed}/graph/{number}")
        self.numbers = numbers_of.Numbers(zlib.crc32(f"{seed}/graph/{number}".encode()), False)
        self.onnx_opset = self.r.choice((11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 19, 20, 21, 21, 22, 23, 24))
        self.opsets = {"": self.onnx_opset, "com.microsoft": 1, "com.microsoft.nchwc": 1, "ai.onnx.ml": self.r.choice((1, 2, 3, 4, 5))}
        self.dynamic = self.r.random() < 0.6
        self.symbols = SYMBOLS if self.dynamic else {}
        self.runs = 2 if self.dynamic else 1
        self.count, self.inputs, self.findings, self.imports = 0, 0, [], None

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def shape_in(self, run, shape):
        return tuple(self.symbols[d][1] if run and d in self.symbols else d for d in shape)

    def opset_imports(self):
        if self.imports is None:
            self.imports = [helper.make_opsetid(domain, version) for domain, version in self.opsets.items()]
        return self.imports


def element_type(value):
    """The TypeProto of a value, without a shape."""
    if value.type:
        return model.type_of(value.type)
    if value.kind == "sequence":
        member = value.wires[0][1][0]
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(numbers_of.STRING if member[0] == "strings" else member[1], None))
    return helper.make_tensor_type_proto(value.of, None)


def info_of(value, form, symbols):
    """The declaration of a graph input or output; `form`: fixed, symbolic, ranks or none."""
    if not value.is_tensor or form == "none":
        return onnx.ValueInfoProto(name=value.name, type=element_type(value))
    shapes = [a.shape for a in value.arrays]
    if form == "ranks" or any(len(s) != len(shapes[0]) for s in shapes):
        dims = [None] * len(shapes[0]) if all(len(s) == len(shapes[0]) for s in shapes) else None
    else:
        dims = [each[0] if len(set(each)) == 1 else symbols[each[0]][0] if symbols.get(each[0], (0, 0))[1] == each[1] else None for each in zip(*shapes)]
    return helper.make_tensor_value_info(value.name, value.of, dims)


class Graph:
    """A graph or, with a parent, the body of a node. Values of the parents are visible in it."""

    def __init__(self, world, parent=None):
        self.world, self.parent, self.r = world, parent, world.r
        self.nodes, self.own = [], []  # own: Values of this graph, in order
        self.formals = []  # inputs of a body

    # Values.

    def visible(self):
        return self.own if not self.parent else self.parent.visible() + self.own

    def tensors(self):
        return [v for v in self.visible() if (v.usable() if v.taken is None else v.taken) and v.is_tensor]

    def constant(self, array):
        """A new initializer, or an existing one with the same elements."""
        wire = numbers_of.to_wire(np.asarray(array))
        for value in self.visible():
            if value.source == "constant" and value.wires[0] == wire and self.r.random() < 0.7:
                return value
        return Value(self.world.name("c"), [wire] * self.world.runs, "constant")

    def input(self, arrays, type=""):
        """A new graph input, from its value in each run; in a body, a constant."""
        wires = [numbers_of.to_wire(a) for a in arrays]
        if self.parent:
            if any(w != wires[0] for w in wires):
                raise Refused("a body has no inputs of its own")
            return Value(self.world.name("c"), wires, "constant", type=type)
        return Value(self.world.name("x"), wires, "input", type=type)

    def drawn(self, of, shape, kind, constant):
        """A value with drawn elements: an initializer, or a graph input whose named extents differ between the runs."""
        world = self.world
        named = [d for d in shape if d in world.symbols]
        if (constant and not named) or self.parent or world.inputs >= 10 and not named:
            return self.constant(world.numbers.array(of, shape, kind))
        return self.input([world.numbers.array(of, world.shape_in(run, shape), kind) for run in range(world.runs)])

    def register(self, value):
        """Adds a new constant or input to the graph that uses it first."""
        if value.owner is None:
            value.owner = self
            self.own.append(value)
            self.world.inputs += value.source == "input"

    # Nodes.

    def add(self, name, inputs, attributes=(), wanted=1, **more):
        """Outputs of a new node: Values, or a single one if `wanted` is 1. attributes: a dict, or AttributeProtos.
        Raises Refused if the oracle does not run the node, or if its results here differ. more: domain, captures,
        scale, least (error), case, type (of the output)."""
        outputs = [self.world.name("v") if w else "" for w in ([True] * wanted if isinstance(wanted, int) else wanted)]
        domain = more.get("domain", "")
        proto = helper.make_node(name, [v.name if v else "" for v in inputs], outputs, self.world.name("n"), domain=domain)
        attributes = [helper.make_attribute(k, v) for k, v in attributes.items()] if isinstance(attributes, dict) else attributes
        proto.attribute.extend(attributes)
        label = f"{domain}:{name}" if domain else name
        node = Node(proto, list(inputs), [], more.get("captures", []), label)
        made = self.world.probe.outputs(self.world, node, more)
        for value in node.reads():
            self.register(value)
            value.uses += 1
        node.outputs = [None if not n else made.pop(0) for n in outputs]
        for value in node.outputs:
            if value:
                value.label, value.owner, value.type = label, self, more.get("type", "")
                self.own.append(value)
        self.nodes.append(node)
        kept = [v for v in node.outputs if v]
        return kept[0] if wanted == 1 else node.outputs


class Probe:
    """Runs single nodes on both engines. run: takes (node, model, feeds, requested outputs, step) and returns the outcomes
    of the oracle, for all feeds, and of Retort, for each feed whose number is a multiple of step; explained: whether a
    finding is known."""

    def __init__(self, run, explained):
        self.run, self.explained = run, explained
        self.tried = self.kept = 0
        self.findings = []

    def outputs(self, world, node, more):
        """New Values for the outputs of a node."""
        self.tried += 1
        data, feeds = single(world, node)
        names = [n for n in node.proto.output if n]
        step = len(feeds) // world.runs
        theirs, ours = self.run(node, data, feeds, names, step)
        if theirs[0] != "ok":
            raise Refused(str(theirs))
        made = []
        for i, name in enumerate(names):
            wires = [run[i] for run in theirs[1]]
            made.append(judged(node, name, wires, step, (more.get("scale", 0.0), more.get("least", 0.0))))
        self.compare(node, made, ours, (data, feeds), more.get("case"))
        self.kept += 1
        return made

    def compare(self, node, made, ours, model_and_feeds, case):
        """Refuses a node whose values here differ from the oracle's, and keeps the finding."""
        if ours[0] != "ok":
            found = ours[0] if ours[0] != "error" else "refused", str(ours[1:])
        else:
            found = next((("value", f"output {i}: {text}") for i, value in enumerate(made) for run, wire in enumerate(value.wires)
                          if (text := difference(wire, ours[1][run][i], value.error))), None)
        if found:
            finding = NodeFinding(node.label, *found, *model_and_feeds, case)
            if not self.explained(finding):
                self.findings.append(finding)
            raise Refused(found[1])


def difference(expected, actual, error):
    """Describes a difference that is larger than the error explains; empty if there is none."""
    apart = values.distance(expected, actual)
    if apart <= SAFETY * error:
        return ""
    found = compare.values("Identity", expected, actual)
    return f"{found[0]}: {found[1]}; distance {apart:.3g}, error {error:.3g}" if found else ""


def judged(node, name, wires, step, roundings):
    """The Value of an output, from the runs of its node: one for each run of the graph, and, if inputs have errors, some
    with inputs moved by their error and others with inputs moved by eight times that. `roundings`: (scale, least error).
    Raises Refused if the output jumps."""
    scale, error = roundings
    if wires[0][0] == "tensor" and not values.is_float(wires[0][1]):
        error = 0.0
    for at in range(0, len(wires), step):
        base, near, far = wires[at], wires[at + 1:at + step][:NEAR], wires[at + 1 + NEAR:at + step]
        own = values.roundings(node.label, base, scale)
        by_one, by_eight = (max((values.distance(base, w) for w in some), default=0.0) for some in (near, far))
        if jumps(node, base, own, by_one, by_eight):
            raise Refused("it jumps within the error of its inputs")
        if near and quantises(node, base):
            own = max(own, 1.0)
        error = max(error, own + max(by_one, by_eight / 8))
    value = Value(name, wires[::step], error=error)
    if any(w[0] == "sequence" and not w[1] for w in value.wires):
        raise Refused("an empty sequence, whose element type is unknown")
    for array in value.arrays:
        if node.label != "Where" and array is not None and array.dtype.kind not in "OSUb" and array.size and not np.isfinite(values.magnitude(array)):
            raise Refused("not finite")
    return value


def quantises(node, wire):
    return node.proto.op_type.startswith(QUANTISING) and wire[0] == "tensor" and not values.is_float(wire[1])


def jumps(node, base, own, by_one, by_eight):
    """Whether an output changes by more than the errors of its inputs explain."""
    if base[0] == "tensor" and values.is_float(base[1]):
        return by_eight > JUMP * max(by_one, own) or not np.isfinite(by_one)
    if quantises(node, base):
        return by_eight > 16
    whole = all(v.of and not values.is_float(v.of) for v in node.reads() if v.error)
    return by_eight > 0 and not (whole and np.isfinite(by_eight)) and base[0] != "sequence" or not np.isfinite(by_eight)


def declared(value, symbols):
    """The declaration of a value as the input of a single node; it is made once."""
    if value.declaration is None:
        value.declaration = info_of(value, "symbolic", symbols)
    return value.declaration


def stored(value):
    """A constant as an initializer; it is made once."""
    if value.proto is None:
        value.proto = model.tensor_proto(value.name, value.array)
    return value.proto


def single(world, node):
    """(model of a single node, its feeds for each run)."""
    reads = list({v.name: v for v in node.reads()}.values())
    fed = [v for v in reads if v.source != "constant"]
    proto = onnx.ModelProto(ir_version=10, producer_name=model.PRODUCER, opset_import=world.opset_imports())
    proto.graph.name = "node"
    proto.graph.node.append(node.proto)
    proto.graph.input.extend(declared(v, world.symbols) for v in fed)
    proto.graph.output.extend(onnx.ValueInfoProto(name=n) for n in node.proto.output if n)
    proto.graph.initializer.extend(stored(v) for v in reads if v.source == "constant")
    inexact, feeds = any(v.error for v in fed), []
    generator = np.random.Generator(np.random.PCG64(len(node.proto.name))) if inexact else None
    for run in range(world.runs):
        feeds.append([(v.name, v.wires[run]) for v in fed])
        for factor, pattern in MOVES if inexact else ():
            feeds.append([(v.name, values.moved(v.wires[run], factor * v.error, values.Signs(generator, pattern, i))) for i, v in enumerate(fed)])
    return proto.SerializeToString(), feeds
