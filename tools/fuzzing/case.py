"""A case: a node of one operator with its attributes and inputs, which a recipe fills in."""
import dataclasses
import random
import zlib

import numpy as np

import numbers_of
import schemas
from schemas import ELEMENTS

CONSTANT = 0.35  # share of inputs that are initializers where a recipe leaves the choice open
LATEST = 0.6  # share of cases of the newest version that the oracle has
FOREIGN_TYPES = 0.05  # share of cases with types for which the oracle may have no kernel
FORMS = ("fixed", "fixed", "symbolic", "ranks", "none")  # of the shapes of graph inputs
WILD = 0.4  # share of cases with special values


@dataclasses.dataclass
class Given:
    """An input of the node: a value that is fed or is an initializer."""
    name: str
    value: object  # array; list of arrays: a sequence; None: an optional that holds nothing
    constant: bool
    type: str = ""  # where the value does not tell it: of an empty sequence, of an optional


class Refused(Exception):
    """A recipe has no case for this version or these types."""


class Case:
    """What a recipe works on. `r` draws choices, `numbers` elements; both depend on the seed, the operator and the number of the case alone."""

    def __init__(self, operator, seed, number):
        self.operator, self.seed, self.number = operator, seed, number
        self.r = random.Random(f"{seed}/{operator.label}/{number}")
        self.numbers = numbers_of.Numbers(zlib.crc32(f"{seed}/{operator.label}/{number}".encode()), self.r.random() < WILD)
        self.version, self.kernel = self.choose_version()
        self.opset = self.r.randint(self.version.since, self.version.until)
        self.inputs, self.attributes, self.outputs = [], {}, None
        self.chosen, self.scale, self.output_types = {}, 0.0, {}
        self.shared = {}  # output: input in whose memory it is to lie, which is fed
        self.undefined = {}  # output: elements that the definition leaves open
        self.form = ""  # of the shapes of graph inputs ; one of FORMS, where a recipe chooses it

    @property
    def id(self):
        return f"{self.seed}/{self.operator.label}/{self.number}"

    def choose_version(self):
        """A version of the operator, and the types of a kernel that the oracle has for it (of its schema if there is none)."""
        having = [v for v in self.operator.versions if self.operator.kernels_of(v)] or self.operator.versions
        version = having[-1] if self.r.random() < LATEST else self.r.choice(self.operator.versions)
        kernels = self.operator.kernels_of(version)
        return version, self.r.choice(kernels) if kernels and self.r.random() >= FOREIGN_TYPES else {}

    # Choices.

    def maybe(self, share=0.5):
        return self.r.random() < share

    def odd(self, share=0.03):
        """Whether to leave what is legal: in few cases."""
        return self.maybe(share)

    def pick(self, *values):
        return self.r.choice(values)

    def elem(self, variable, *allowed):
        """The element type of a type variable (or of a type by name), the same each time; one of those `allowed` (names), if there are any."""
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
        """Extents of a random rank from `low` to `high`, of at most `most` elements; some are 0 in a share of shapes."""
        shape = [self.r.choice((1, 2, 3, 4, 5, 7, 8, 16, 17, 33)) for _ in range(self.r.randint(low, high))]
        while int(np.prod(shape, dtype=np.int64)) > most:
            i = max(range(len(shape)), key=lambda k: shape[k])
            shape[i] = max(1, shape[i] // 2)
        if shape and self.maybe(empty):
            shape[self.r.randrange(len(shape))] = 0
        return tuple(shape)

    def extents(self, low, high, most=7, empty=0.03):
        """Extents from 1 to `most` of a random rank; for operators that multiply them."""
        shape = [self.dim(1, most) for _ in range(self.r.randint(low, high))]
        if shape and self.maybe(empty):
            shape[self.r.randrange(len(shape))] = 0
        return tuple(shape)

    def axis(self, rank):
        """An axis of a rank, often counted from the end; outside of it in few cases."""
        if self.odd() or not rank:
            return self.pick(rank, -rank - 1, 0)
        return self.r.randrange(-rank, rank)

    def axes(self, rank, least=0):
        """Different axes of a rank, some counted from the end."""
        axes = self.r.sample(range(rank), self.r.randint(min(least, rank), rank))
        return [a - rank if self.maybe(0.3) else a for a in axes] + ([rank] if self.odd() else [])

    def broadcasting(self, count, low=0, high=4, one_way=False):
        """`count` shapes that broadcast to one; with `one_way`, to the first."""
        whole = self.shape(low, high)
        shapes = [whole]
        for i in range(1, count):
            kept = self.r.choice((len(whole), len(whole), self.r.randint(0, len(whole))))
            shapes.append(tuple(1 if self.maybe(0.3) else d for d in whole[len(whole) - kept:]))
        if not one_way:
            self.r.shuffle(shapes)
        return shapes

    # What the node has.

    def attr(self, name, value, share=1.0):
        """Sets an attribute (in a share of cases) if this version of the operator has it; the value that then holds, else None."""
        if name in self.version.attributes and (share >= 1 or self.maybe(share)):
            self.attributes[name] = value
            return value
        return None

    def has_attr(self, name):
        return name in self.version.attributes

    def give(self, value, constant=None, type=""):
        """The next input of the node: an array, a list of arrays or None in an optional. Answers it."""
        constant = self.maybe(CONSTANT) if constant is None else constant
        self.inputs.append(Given(f"i{len(self.inputs)}", value, constant and isinstance(value, np.ndarray), type))
        return value

    def input(self, variable, shape, kind="any", constant=None):
        """The next input, drawn: of a type variable, a type by name or an element type."""
        of = variable if isinstance(variable, int) else ELEMENTS.get(variable) or self.elem(variable)
        return self.give(self.numbers.array(of, shape, kind), constant)

    def skip(self):
        """Leaves out the next input, which is optional."""
        self.inputs.append(None)

    def int64(self, values, constant=None, dtype=np.int64):
        """The next input: small integers such as axes and extents, mostly constant."""
        return self.give(np.array(values, dtype), self.maybe(0.7) if constant is None else constant)

    def want(self, *wanted):
        """Which outputs the node has: True or False for each."""
        self.outputs = list(wanted)

    def finish(self):
        """Fills in what recipes leave open: the outputs."""
        while self.inputs and self.inputs[-1] is None:
            self.inputs.pop()
        if self.outputs is None:
            formal = self.version.outputs
            self.outputs = [p.option != "optional" or i < self.version.min_outputs or self.maybe() for i, p in enumerate(formal)]
        while self.outputs and not self.outputs[-1]:
            self.outputs.pop()
        self.form = self.form or self.r.choice(FORMS)
        self.onnx_opset = self.r.randint(13, 24)  # of ai.onnx beside another domain
        return self
