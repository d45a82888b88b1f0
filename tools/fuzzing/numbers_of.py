"""Draws elements of every type, among them the values for which implementations often differ: NaN, infinities, zeros of
both signs, denormals and the limits of integers."""
import functools

import numpy as np
import onnx


FLOATS = {1, 10, 11, 16}
SMALL_FLOATS = {17, 18, 19, 20, 23, 24}
INTEGERS = {2, 3, 4, 5, 6, 7, 12, 13}
SUB_BYTE = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}
STRING, BOOL = 8, 9
FLOAT32, FLOAT64 = 1, 11
WORDS = ["", "a", "b", "ab", "ba", "A", "Ab", "a b", " ", "  x ", "0", "1", "-1", "3.5", "nan", "ä", "日本", "the quick fox", "a,b,c", "x" * 40]


@functools.cache
def dtype(element):
    return np.dtype(object) if element == STRING else onnx.helper.tensor_dtype_to_np_dtype(element)


@functools.cache
def of_dtype(kind):
    return STRING if kind == object else onnx.helper.np_dtype_to_tensor_dtype(kind)


def element(array):
    return of_dtype(array.dtype)


def limits(of):
    """The least and the greatest integer of an element type."""
    if of in (21, 22, 25, 26):
        bits, signed = SUB_BYTE[of], of in (22, 26)
        return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    info = np.iinfo(dtype(of))
    return int(info.min), int(info.max)


def specials(of):
    """Special values of a float type."""
    tiny, most, least = {1: (1e-40, 3.4e38, 1.17549435e-38), 11: (5e-324, 1.79e308, 2.2250738585072014e-308), 10: (6e-8, 65504, 6.1e-5),
                         16: (1e-40, 3.38e38, 1.1754944e-38)}[of]
    return [np.nan, np.inf, -np.inf, 0.0, -0.0, tiny, -tiny, most, -most, least, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5]


def packed(array, of):
    """Bytes of sub-byte elements, the first in the low bits."""
    bits = SUB_BYTE[of]
    raw = array.view(np.uint8).ravel() & ((1 << bits) - 1)
    per = 8 // bits
    raw = np.concatenate([raw, np.zeros(-raw.size % per, np.uint8)]).reshape(-1, per)
    return np.bitwise_or.reduce(raw << (np.arange(per, dtype=np.uint8) * bits), axis=1).astype(np.uint8).tobytes()


def unpacked(data, of, shape):
    bits, signed = SUB_BYTE[of], of in (22, 26)
    per, count = 8 // bits, int(np.prod(shape, dtype=np.int64))
    raw = (np.frombuffer(data, np.uint8)[:, None] >> (np.arange(per, dtype=np.uint8) * bits)) & ((1 << bits) - 1)
    raw = raw.ravel()[:count].astype(np.int8)
    raw = np.where(raw >= 1 << (bits - 1), raw - (1 << bits), raw) if signed else raw
    return raw.astype(np.int8).reshape(shape)


class Sparse:
    """A matrix that a run gets as a sparse tensor. `form`: coo or csr."""

    def __init__(self, dense, form):
        self.dense, self.form = dense, form

    def to_wire(self):
        rows, columns = np.nonzero(self.dense)
        indices = [np.stack([rows, columns], 1)] if self.form == "coo" else [columns, np.searchsorted(rows, np.arange(len(self.dense) + 1))]
        return "sparse", element(self.dense), self.dense.shape, self.dense[rows, columns].tobytes(), len(rows), [i.ravel().tolist() for i in indices]


def to_wire(value):
    """An array, a list (a sequence), a Sparse or None (an empty optional) in the form of wire.py."""
    if value is None:
        return ("none",)
    if isinstance(value, Sparse):
        return value.to_wire()
    if isinstance(value, tuple):
        return value
    if isinstance(value, list):
        return "sequence", [to_wire(v) for v in value]
    of = element(value)
    if of == STRING:
        return "strings", tuple(value.shape), [str(s).encode() for s in value.ravel()]
    value = np.ascontiguousarray(value).reshape(value.shape)
    return "tensor", of, tuple(value.shape), packed(value, of) if of in SUB_BYTE else value.tobytes()


def from_wire(value):
    """The array of a value in the form of wire.py; sequences become lists, maps pairs, and sub-byte elements int8."""
    if value[0] == "tensor":
        _, of, shape, data = value
        if of in SUB_BYTE:
            return unpacked(data, of, shape)
        return np.frombuffer(data, dtype(of)).reshape(shape)
    if value[0] == "strings":
        array = np.empty(len(value[2]), object)
        array[:] = value[2]
        return array.reshape(value[1])
    if value[0] == "sequence":
        return [from_wire(v) for v in value[1]]
    if value[0] == "map":
        return from_wire(value[1]), from_wire(value[2])
    return None


class Numbers:
    """Draws elements. `wild`: whether floats of the kind "any" have special values and integers their limits."""

    def __init__(self, seed, wild):
        self.generator, self.wild = np.random.Generator(np.random.PCG64(seed)), wild

    def floats(self, of, shape, kind):
        g = self.generator
        if kind == "positive":
            x = g.uniform(0.05, 4, shape)
        elif kind == "unit":
            x = g.uniform(0, 1, shape)
        elif kind == "small":
            x = g.integers(-4, 5, shape).astype(np.float64)
        else:
            x = g.standard_normal(shape) * (10.0 ** g.integers(-2, 2))
        x = np.asarray(x)
        if kind == "any" and self.wild and of in FLOATS:
            chosen = g.random(x.shape) < 0.3
            x = np.where(chosen, g.choice(specials(of), x.shape), x)
        with np.errstate(all="ignore"):
            return x.astype(dtype(of))

    def integers(self, of, shape, kind):
        low, high = limits(of)
        if kind == "positive":
            low, high = 1, min(high, 9)
        elif kind in ("small", "unit"):
            low, high = max(low, -4), min(high, 4)
        elif kind == "normal" or not self.wild:
            low, high = max(low, -100), min(high, 100)
        x = self.generator.integers(low, high, shape, np.int64 if low < 0 else np.uint64, endpoint=True)
        if kind == "any" and self.wild:
            edge = self.generator.choice(np.array([low, low + 1, high - 1, high, 0, 1], x.dtype), shape)
            x = np.where(self.generator.random(shape) < 0.3, edge, x)
        return np.asarray(x).astype(dtype(of))

    def array(self, of, shape, kind="any"):
        shape = tuple(shape)
        if of == STRING:
            x = np.empty(int(np.prod(shape, dtype=np.int64)), object)
            x[:] = [WORDS[i] for i in self.generator.integers(0, len(WORDS), x.size)]
            return x.reshape(shape)
        if of == BOOL:
            return np.asarray(self.generator.random(shape) < 0.5)
        if of in (14, 15):
            parts = [self.floats(1, shape, kind) for _ in range(2)]
            with np.errstate(all="ignore"):
                return np.asarray(parts[0] + 1j * parts[1]).astype(dtype(of))
        if of in FLOATS or of in SMALL_FLOATS:
            return self.floats(of, shape, "positive" if of == 24 else kind)
        return self.integers(of, shape, kind)
