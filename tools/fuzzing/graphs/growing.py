"""Draws a graph: inputs first, then nodes out of recipes, patterns and nodes with bodies."""
import numpy as np

import tolerances
from case import Refused

from . import more_patterns  # noqa: F401  (it registers its patterns)
from .bodies import node_with_body
from .graph import Graph
from .node_case import NodeCase
from .patterns import PATTERNS

# The weight with which a node is drawn from each file of recipes. Patterns make the operators on sequences.
FAMILIES = {"elementwise": 12, "moving": 9, "indexing": 3, "matrix": 6, "conv": 5, "reduction": 6, "normalization": 4, "quantised": 3, "recurrent": 1, "attention": 2, "linear_attention": 1,
            "microsoft_quantised": 2, "weights": 1.5, "image": 1.5, "ml": 1, "text": 0.5, "signal": 0.5, "contrib": 1, "experts": 0.5}
# They draw numbers, decode files, give maps, or read memory that nothing wrote in the oracle.
LEFT_OUT = {"ImageDecoder", "com.microsoft:SampleOp", "ai.onnx.ml:ZipMap", "ai.onnx.ml:CastMap", "ai.onnx.ml:DictVectorizer", "Dropout", "MaxUnpool",
            "com.microsoft:DecoderMaskedMultiHeadAttention", "com.microsoft:SparseAttention", "TensorScatter",
            "com.microsoft:WordConvEmbedding"} | tolerances.RANDOM
NODES = (30, 200)
TRIES = 5  # attempts for each node of the graph
IMAGES = ((1, 3, 8, 8), (2, 4, 7, 9), (10, 8, 6, 6), (10, 3, 9, 9))
STARTS = ((10, 11, 16), (10, 16), (2, 11, 8), (11, 8), (10, 11, 32), (3, 5), (10,), (), (1, 10, 4, 8))


class Grower:
    """`operators`: {(domain, name): Operator}; `table`: recipes by label."""

    def __init__(self, operators, table):
        self.table, self.families = table, {}
        for label, function in table.items():
            domain, _, name = label.rpartition(":")
            operator = operators.get((domain, name))
            family = function.__module__.rpartition(".")[2]
            # Real models of com.microsoft.nchwc have images with known channels, which drawn graphs do not guarantee.
            left_out = label in LEFT_OUT or domain == "com.microsoft.nchwc"
            if operator and operator.kernels and not left_out and family in FAMILIES:
                self.families.setdefault(family, []).append(operator)

    def start(self, graph):
        """The first inputs, each used by a node."""
        world, r = graph.world, graph.r
        for shape in [r.choice(STARTS), r.choice(IMAGES), r.choice(STARTS + IMAGES)][:r.choice((2, 2, 3))]:
            value = graph.drawn(1, shape, "normal", False)
            graph.add(r.choice(("Tanh", "Neg", "Abs", "Sigmoid", "Identity")), [value])
            graph.register(value)
        if r.random() < 0.5:
            words = [world.numbers.generator.integers(0, 20, world.shape_in(run, r.choice(((10, 11), (4, 5))))) for run in range(1)]
            shape = words[0].shape
            ids = graph.input([world.numbers.generator.integers(0, 20, world.shape_in(run, shape)) for run in range(world.runs)])
            rows = (world.numbers.generator.standard_normal((20, 16))).astype(np.float32)
            graph.add("Gather", [graph.constant(rows), ids])

    def one(self, graph):
        """Adds a node of a recipe."""
        family = graph.r.choices(list(FAMILIES), FAMILIES.values())[0]
        operator = graph.r.choice(self.families[family])
        case = NodeCase(graph, operator)
        self.table[operator.label](case)
        case.node()

    def step(self, graph):
        draw = graph.r.random()
        if draw < 0.62:
            self.one(graph)
        elif draw < 0.94:
            graph.r.choice(PATTERNS)(graph)
        else:
            node_with_body(graph, self.grow)

    def grow(self, graph, count):
        """Adds `count` nodes, or fewer if none fits. A recipe that cannot use a value raises an error of any kind."""
        until = len(graph.nodes) + count
        for _ in range(TRIES * max(count, 2)):
            if len(graph.nodes) >= until:
                return
            try:
                self.step(graph) if not graph.parent or graph.r.random() < 0.05 else self.one(graph)
            except (Refused, ValueError, IndexError, KeyError, TypeError, ZeroDivisionError, OverflowError):
                continue

    def graph(self, world):
        graph = Graph(world)
        self.start(graph)
        self.grow(graph, world.r.randint(*NODES))
        return graph
