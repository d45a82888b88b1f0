"""A case: a node of one operator with its attributes and inputs, which a recipe fills in."""
import dataclasses
import random
import zlib

import numpy as np

import numbers_of
import schemas
from schemas import ELEMENTS

CONSTANT = 0.35  # share of inputs that are initializers, unless the recipe decides
LATEST = 0.6  # share of cases of the newest version that the oracle has
FOREIGN_TYPES = 0.05  # share of cases with types for which the oracle may have no kernel
FORMS = ("fixed", "fixed", "symbolic", "ranks", "none")  # how the model declares the shapes of graph inputs
WILD = 0.4  # share of cases with special values


@dataclasses.dataclass
class Given:
    """An input of the node: an input of the graph or an initializer."""
    name: str
    value: object  # an array, a list of arrays (a sequence), or None (an empty optional)
    constant: bool
    type: str = ""  # if it does not follow from the value: of an empty sequence or an optional


class Refused(Exception):
    """Raised by a recipe that cannot make a case with this version or these types."""


class Case:
    """A case, which a recipe fills in. `r` draws choices and `numbers` elements; both depend only on the seed, the
    operator and the number of the case."""

    def __init__(self, operator, seed, number):
        self.operator, self.seed, self.number = operator, seed, number
        self.r = random.Random(f"{seed}/{operator.label}/{number}")
        self.numbers = numbers_of.Numbers(zlib.crc32(f"{seed}/{operator.label}/{number}".encode()), self.r.random() < WILD)
        self.version, self.kernel = self.choose_version()
        self.opset = self.choose_opset()
        self.inputs, self.attributes, self.outputs = [], {}, None
        self.chosen, self.scale, self.output_types = {}, 0.0, {}
        self.shared = {}  # {output: the input whose memory it is bound to}; that input is an input of the graph
        self.undefined = {}  # {output: the elements whose values the definition leaves open}
        self.form = ""  # one of FORMS; empty until the recipe or finish() chooses it

    @property
    def id(self):
        return f"{self.seed}/{self.operator.label}/{self.number}"

    def choose_version(self):
        """(version of the operator, types of a kernel that the oracle has for it); the types are empty if any types of
        the schema may be drawn."""
        having = [v for v in self.operator.versions if self.operator.kernels_of(v)] or self.operator.versions
        version = having[-1] if self.r.random() < LATEST else self.r.choice(self.operator.versions)
        kernels = self.operator.kernels_of(version)
        return version, self.r.choice(kernels) if kernels and self.r.random() >= FOREIGN_TYPES else {}

    def choose_opset(self):
        """An opset of the version. Some operators without a kernel have a body that the oracle runs in the version's first opset only."""
        if not self.operator.kernels and self.maybe(LATEST):
            return self.version.since
        return self.r.randint(self.version.since, self.version.until)

    # Choices.

    def maybe(self, share=0.5):
        return self.r.random() < share

    def odd(self, share=0.03):
        """Whether to do something illegal, which few cases do."""
        return self.maybe(share)

    def pick(self, *values):
        return self.r.choice(values)

    def elem(self, variable, *allowed):
        """The element type of a type variable or of a named type, the same in each call. `allowed`: names of types to
        choose among; all without it."""
        if variable not in self.chosen:
            texts = self.kernel.get(variable) or self.version.types.get(variable) or [variable]
            found = [e for t in texts if (e := schemas.element_of(t)) and t.startswith("tensor")]
            found = found or [e for t in texts if (e := schemas.element_of(t))]
            if allowed:
                found = [e for e in found if schemas.NAMES[e] in allowed]
            if not found:
                raise Refused(f"no type for {variable}")
            self.chosen[variable] = self.r.choice(found)
        return self.chosen[variable]

    def dim(self, low=1, high=6):
        return self.r.randint(low, high)

    def shape(self, low=0, high=4, empty=0.04, most=600):
        """A shape of a random rank from `low` to `high` with at most `most` elements; in the share `empty` of shapes,
        one extent is 0."""
        shape = [self.r.choice((1, 2, 3, 4, 5, 7, 8, 16, 17, 33)) for _ in range(self.r.randint(low, high))]
        while int(np.prod(shape, dtype=np.int64)) > most:
            i = max(range(len(shape)), key=lambda k: shape[k])
            shape[i] = max(1, shape[i] // 2)
        if shape and self.maybe(empty):
            shape[self.r.randrange(len(shape))] = 0
        return tuple(shape)

    def extents(self, low, high, most=7, empty=0.03):
        """Extents from 1 to `most`, of a random rank; for operators whose work grows with their product."""
        shape = [self.dim(1, most) for _ in range(self.r.randint(low, high))]
        if shape and self.maybe(empty):
            shape[self.r.randrange(len(shape))] = 0
        return tuple(shape)

    def axis(self, rank):
        """An axis of a tensor of that rank, often negative; out of range in few cases."""
        if self.odd() or not rank:
            return self.pick(rank, -rank - 1, 0)
        return self.r.randrange(-rank, rank)

    def axes(self, rank, least=0):
        """Distinct axes of a tensor of that rank, some of them negative."""
        axes = self.r.sample(range(rank), self.r.randint(min(least, rank), rank))
        return [a - rank if self.maybe(0.3) else a for a in axes] + ([rank] if self.odd() else [])

    def broadcasting(self, count, low=0, high=4, one_way=False):
        """`count` shapes that broadcast to a common shape; with `one_way`, to the first of them."""
        whole = self.shape(low, high)
        shapes = [whole]
        for i in range(1, count):
            kept = self.r.choice((len(whole), len(whole), self.r.randint(0, len(whole))))
            shapes.append(tuple(1 if self.maybe(0.3) else d for d in whole[len(whole) - kept:]))
        if not one_way:
            self.r.shuffle(shapes)
        return shapes

    # Attributes, inputs and outputs of the node.

    def attr(self, name, value, share=1.0):
        """Sets an attribute, in a share of cases, if this version of the operator has it. Returns the value if it was
        set, else None."""
        if name in self.version.attributes and (share >= 1 or self.maybe(share)):
            self.attributes[name] = value
            return value
        return None

    def has_attr(self, name):
        return name in self.version.attributes

    def give(self, value, constant=None, type=""):
        """Adds an input with this value: an array, a list of arrays, or None for an empty optional. Returns the
        value."""
        constant = self.maybe(CONSTANT) if constant is None else constant
        self.inputs.append(Given(f"i{len(self.inputs)}", value, constant and isinstance(value, np.ndarray), type))
        return value

    def input(self, variable, shape, kind="any", constant=None):
        """Adds an input with random elements. `variable`: a type variable, the name of a type, or an element type."""
        of = variable if isinstance(variable, int) else ELEMENTS.get(variable) or self.elem(variable)
        return self.give(self.numbers.array(of, shape, kind), constant)

    def skip(self):
        """Omits the next input, which is optional."""
        self.inputs.append(None)

    def int64(self, values, constant=None, dtype=np.int64):
        """Adds an input of integers, such as axes or extents; it is mostly constant."""
        return self.give(np.array(values, dtype), self.maybe(0.7) if constant is None else constant)

    def want(self, *wanted):
        """Sets which outputs the node has: True or False for each."""
        self.outputs = list(wanted)

    def finish(self):
        """Chooses outputs, form and opset of ai.onnx, as far as the recipe has not."""
        while self.inputs and self.inputs[-1] is None:
            self.inputs.pop()
        if self.outputs is None:
            formal = self.version.outputs
            self.outputs = [p.option != "optional" or i < self.version.min_outputs or self.maybe() for i, p in enumerate(formal)]
        while self.outputs and not self.outputs[-1]:
            self.outputs.pop()
        self.form = self.form or self.r.choice(FORMS)
        self.onnx_opset = self.r.randint(13, 24)  # imported beside another domain
        return self
