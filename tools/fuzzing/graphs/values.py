"""A value of a graph that is being drawn: its content in each run, and by how much an engine may differ from it."""
import dataclasses

import numpy as np

import numbers_of
import tolerances

LOUDEST = 100.0  # greatest magnitude of values that further nodes may read
LARGEST = 20000  # elements
LOOSE = 0.01  # greatest error, relative to the greatest element, of values that further nodes may read


def array_of(wire):
    """The array of a tensor in the form of wire.py, with the type of its elements; None for anything else."""
    if wire[0] not in ("tensor", "strings"):
        return None
    array = numbers_of.from_wire(wire)
    if wire[0] == "strings":
        array = np.array([s.decode("utf-8", "replace") for s in array.ravel()], object).reshape(array.shape)
    return array.astype(numbers_of.dtype(wire[1])) if wire[0] == "tensor" and wire[1] in numbers_of.SUB_BYTE else array


def is_float(of):
    return of in numbers_of.FLOATS or of in numbers_of.SMALL_FLOATS


def magnitude(array):
    """The greatest magnitude of numbers, NaN if one is NaN; 0 for anything else."""
    if array is None or array.dtype.kind in "OSUb" or not array.size:
        return 0.0
    with np.errstate(all="ignore"):
        return float(np.max(np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))))


@dataclasses.dataclass(eq=False)
class Value:
    """`wires`: its content in each run. `error`: a bound of the absolute difference that roundings explain. `source`:
    input, constant, node."""
    name: str
    wires: list
    source: str = "node"
    error: float = 0.0
    uses: int = 0
    label: str = ""  # of the operator that makes it
    owner: object = None  # graph or body where it is visible
    type: str = ""  # of a sequence or an optional, as schemas write it
    taken: bool | None = None  # the result of usable(), once it is known
    declaration: object = None  # its ValueInfoProto, once it is made
    proto: object = None  # its TensorProto, once it is made

    def __post_init__(self):
        self.kind = self.wires[0][0]
        self.one_kind = self.kind in ("tensor", "strings") and all(w[0] == self.kind for w in self.wires)
        self.arrays = [array_of(w) for w in self.wires]
        for array in self.arrays:
            if array is not None:
                array.flags.writeable = False  # recipes may not change what other nodes use
        self.array = self.arrays[0]
        self.shape = () if self.array is None else self.array.shape
        self.of = numbers_of.STRING if self.kind == "strings" else self.wires[0][1] if self.kind == "tensor" else 0

    @property
    def is_tensor(self):
        return self.one_kind and not self.type

    def usable(self):
        """Whether further nodes may take it: finite, moderate, and known exactly enough."""
        if self.taken is None:
            self.taken = self.moderate()
        return self.taken

    def moderate(self):
        if not self.is_tensor:
            return self.error == 0
        if any(a.size > LARGEST for a in self.arrays):
            return False
        most = max(magnitude(a) for a in self.arrays)
        if not is_float(self.of):
            return self.error <= 1 and (self.error == 0 or most >= 8) and most <= 2.0 ** 40
        return most <= LOUDEST and self.error <= LOOSE * max(most, 1e-3)

    def fits(self, kind):
        """Whether its elements are of a kind that recipes request."""
        if self.of in (numbers_of.STRING, numbers_of.BOOL) or kind in ("any", "normal"):
            return True
        least, most = (f([f(a.astype(np.float64), initial=0 if f is max_of else np.inf) for a in self.arrays]) for f in (min_of, max_of))
        if kind == "positive":
            return least >= (0.05 if is_float(self.of) else 1) and most <= 9
        return (least >= 0 and most <= 1) if kind == "unit" else max(abs(least), abs(most)) <= 4


def min_of(values, initial=np.inf):
    return np.min(values, initial=initial)


def max_of(values, initial=-np.inf):
    return np.max(values, initial=initial)


class Signs:
    """Draws whether numbers are moved up or down. `pattern`: 0 for random signs; otherwise, this number of elements have the same sign, and as
    many after them the other one; at every second `place` of an input, it begins with the other sign."""

    def __init__(self, generator, pattern=0, place=0):
        self.generator, self.pattern, self.place = generator, pattern, place

    def of(self, shape):
        if not self.pattern:
            return self.generator.choice([-1.0, 1.0], shape)
        at = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape) // self.pattern + self.place
        return np.where(at % 2, 1.0, -1.0)


def moved(wire, error, signs):
    """A wire whose numbers are moved up or down by an error, as another engine may compute them."""
    if wire[0] == "sequence":
        return "sequence", [moved(w, error, signs) for w in wire[1]]
    if wire[0] != "tensor" or wire[1] in (numbers_of.BOOL, 14, 15) or not error:
        return wire
    array = array_of(wire)
    up = signs.of(array.shape)
    with np.errstate(all="ignore"):
        if is_float(wire[1]):
            array = (array.astype(np.float64) + up * error).astype(array.dtype)
        else:
            low, high = numbers_of.limits(wire[1])
            array = np.clip(array.astype(np.float64) + np.round(up * error), low, min(high, 2.0 ** 53)).astype(array.dtype)
    return numbers_of.to_wire(np.asarray(array))


def distance(one, other):
    """The greatest difference of two values; infinite if their types or shapes differ."""
    if one == other:
        return 0.0
    if one[0] != other[0]:
        return np.inf
    if one[0] == "sequence":
        return max(map(distance, one[1], other[1]), default=0.0) if len(one[1]) == len(other[1]) else np.inf
    if one[0] != "tensor" or one[1:3] != other[1:3] or one[1] == numbers_of.BOOL:
        return np.inf
    a, b = (array_of(w) for w in (one, other))
    with np.errstate(all="ignore"):
        wide = np.complex128 if a.dtype.kind == "c" else np.float64 if a.dtype.kind not in "iu" else object if a.dtype.itemsize == 8 else np.int64
        a, b = a.astype(wide), b.astype(wide)
        same = (a == b) | ((a != a) & (b != b))
        apart = np.abs(np.where(same, 0, a - b)).astype(np.float64)
    return float(np.max(np.where(np.isnan(apart), np.inf, apart), initial=0))


def roundings(label, wire, scale):
    """A bound of the difference that the roundings of the operator itself cause in an output."""
    if wire[0] == "sequence":
        return max((roundings(label, w, scale) for w in wire[1]), default=0.0)
    if wire[0] != "tensor":
        return 0.0
    relative, absolute = tolerances.of(label, wire[1])
    if wire[1] not in tolerances.EPSILON:
        return absolute
    most = magnitude(array_of(wire))
    return max(relative * most + absolute * (scale or 1), 2 * tolerances.EPSILON[wire[1]] * most) if np.isfinite(most) else 0.0
