"""The model of a graph, and its feeds."""
import dataclasses
import zlib

import onnx
from onnx import helper

import model

from .graph import info_of

SINKS, OTHERS = 0.9, 0.08  # share of outputs among unused values, and among the others


@dataclasses.dataclass
class Form:
    """The form in which a model has a graph."""
    inputs: str = "fixed"  # shapes of its inputs, as in model.dims_of
    nodes: float = 0.0  # share of constants that are nodes
    overridable: float = 0.0  # share of initializers that are inputs, too
    functions: int = 0  # functions of the model
    infos: float = 0.0  # share of values with a declaration
    ir: int = 10

    @staticmethod
    def drawn(world):
        r = world.r
        form = Form(r.choice(("symbolic", "symbolic", "ranks", "none")) if world.dynamic else r.choice(("fixed", "fixed", "ranks", "none")))
        form.nodes, form.overridable = r.choice((0.0, 0.0, 0.3, 1.0)), r.choice((0.0, 0.0, 0.1))
        form.functions, form.infos = r.choice((0, 0, 0, 1, 2)), r.choice((0.0, 0.0, 0.3))
        form.ir = 11 if world.onnx_opset > 23 else r.choice((8, 9, 10)) if form.functions else r.choice((7, 8, 10))
        return form


@dataclasses.dataclass
class Whole:
    """A graph to be run. nodes: Nodes; outputs: Values."""
    world: object
    nodes: list
    outputs: list
    form: Form

    def sources(self):
        """Values that nodes read but none of them makes."""
        made = {v for n in self.nodes for v in n.outputs if v}
        reads = [v for n in self.nodes for v in n.reads()] + self.outputs
        return [v for v in dict.fromkeys(reads) if v not in made]

    def fed(self):
        return [v for v in self.sources() if v.source != "constant"]

    def feeds(self):
        return [[(v.name, v.wires[run]) for v in self.fed()] for run in range(self.world.runs)]

    def model(self):
        world, form = self.world, self.form
        share = _Share(world.number)
        sources = self.sources()
        constants = [v for v in sources if v.source == "constant"]
        as_nodes = [v for v in constants if share(v, form.nodes) and v not in self.outputs]
        kept = [v for v in constants if v not in as_nodes]
        free = [info_of(v, "fixed", {}) for v in kept if share(v, form.overridable)]
        nodes = [helper.make_node("Constant", [], [v.name], v.name + "_constant", value=model.tensor_proto(v.name, v.array)) for v in as_nodes]
        nodes, functions = with_functions(world, nodes + [n.proto for n in self.nodes], self.nodes, self.outputs, form.functions)
        infos = [info_of(v, "ranks", {}) for n in self.nodes for v in n.outputs if v and v.is_tensor and v not in self.outputs and share(v, form.infos)]
        if functions:
            infos = []
        graph = helper.make_graph(nodes, "graph", [info_of(v, form.inputs, world.symbols) for v in self.fed()] + free,
                                  [info_of(v, "none", {}) for v in self.outputs], [model.tensor_proto(v.name, v.array) for v in kept], value_info=infos)
        proto = onnx.ModelProto(ir_version=form.ir, producer_name=model.PRODUCER, graph=graph, functions=functions)
        proto.opset_import.extend(world.opset_imports())
        if functions:
            proto.opset_import.append(helper.make_opsetid("local", 1))
        return proto


class _Share:
    """Decides whether a value belongs to a share of values: the decision depends on its name alone."""

    def __init__(self, number):
        self.number = number

    def __call__(self, value, share):
        return share >= 1 or hash_of(f"{self.number}{value.name}") < share


def hash_of(text):
    return zlib.crc32(text.encode()) / 2 ** 32


def with_functions(world, protos, nodes, outputs, count):
    """(nodes, FunctionProtos): some groups of adjacent nodes become calls of functions of the model."""
    functions, at = [], len(protos) - len(nodes)
    plain = protos[:at]
    ends = set()
    for i in range(count):
        if len(nodes) > 8:
            begin = int(hash_of(f"{world.number}/{i}") * (len(nodes) - 6))
            if not ends & set(range(begin, begin + 6)):
                ends |= set(range(begin, begin + 6))
                functions.append(begin)
    made, i = [], 0
    while i < len(nodes):
        if i not in functions:
            plain.append(protos[at + i])
            i += 1
            continue
        call, function = called(world, nodes[i:i + 6], nodes[i + 6:], outputs)
        plain.append(call)
        made.append(function)
        i += 6
    return plain, made


def called(world, inner, later, outputs):
    """(the call, the function) of some nodes."""
    results = [v for n in inner for v in n.outputs if v]
    reads = [v for v in dict.fromkeys(v for n in inner for v in n.reads()) if v not in set(results)]
    wanted = {v for n in later for v in n.reads()} | set(outputs)
    leaves = [v for v in results if v in wanted]
    name = f"Function_{inner[0].proto.name}"
    function = helper.make_function("local", name, [v.name for v in reads], [v.name for v in leaves], [n.proto for n in inner], world.opset_imports())
    return helper.make_node(name, [v.name for v in reads], [v.name for v in leaves], name.lower(), domain="local"), function


def whole(graph):
    """A graph with drawn outputs and a drawn form."""
    r = graph.r
    made = [v for n in graph.nodes for v in n.outputs if v and (v.usable() or v.is_tensor)]
    outputs = [v for v in made if r.random() < (SINKS if not v.uses else OTHERS)] or made[-1:]
    return Whole(graph.world, list(graph.nodes), outputs, Form.drawn(graph.world))
