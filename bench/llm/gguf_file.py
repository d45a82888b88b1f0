"""Reads GGUF files, and writes small ones: metadata and tensors, in the types that the models of bench/llm have.

A tensor of codes is a Matrix: weight = (code - zero) · scale, in blocks of 32 along a row."""
import dataclasses
import mmap
import struct

import numpy as np

MAGIC = b"GGUF"
BLOCK = 32
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
# Types of tensors: their number in the file, and the bytes and elements of a block.
F32, F16, Q4_1, Q8_0 = 0, 1, 3, 8
BLOCKS = {F32: (4, 1), F16: (2, 1), Q4_1: (20, BLOCK), Q8_0: (34, BLOCK)}


@dataclasses.dataclass
class Matrix:
    """Weights [rows, columns] in codes. `zeros` None: all zero points are half of the range."""
    bits: int
    codes: np.ndarray  # uint8 [rows, columns], a code each
    scales: np.ndarray  # float32 [rows, columns / BLOCK]
    zeros: np.ndarray | None = None  # float32, like scales

    @property
    def shape(self):
        return self.codes.shape

    def rows(self, order):
        """The same with rows in another order."""
        return Matrix(self.bits, self.codes[order], self.scales[order], None if self.zeros is None else self.zeros[order])

    def floats(self):
        zeros = np.float32(1 << (self.bits - 1)) if self.zeros is None else np.repeat(self.zeros, BLOCK, axis=1)
        return (self.codes - zeros) * np.repeat(self.scales, BLOCK, axis=1)


class File:
    """`facts`: the metadata by name. tensor(name) gives an array of float32, or a Matrix."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self._data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        if self._data[:4] != MAGIC:
            raise ValueError(f"{path} begins with {self._data[:4]!r}, expected {MAGIC!r}: it is no GGUF file")
        self._at = 4
        version, tensors, facts = self._scalar("I"), self._scalar("Q"), self._scalar("Q")
        if version not in (2, 3):
            raise ValueError(f"{path} has version {version} of GGUF, expected 2 or 3")
        self.facts = {}
        for _ in range(facts):
            name = self._text()
            self.facts[name] = self._value(self._scalar("I"))
        self._tensors = {}
        for _ in range(tensors):
            name = self._text()
            shape = [self._scalar("Q") for _ in range(self._scalar("I"))]
            self._tensors[name] = (tuple(reversed(shape)), self._scalar("I"), self._scalar("Q"))
        align = self.facts.get("general.alignment", 32)
        self._begin = (self._at + align - 1) // align * align

    def names(self):
        return list(self._tensors)

    def type(self, name):
        return self._tensors[name][1]

    def tensor(self, name):
        if name not in self._tensors:
            raise ValueError(f"the file has no tensor {name!r}; it has {', '.join(sorted(self._tensors)[:5])} …")
        shape, kind, offset = self._tensors[name]
        if kind not in BLOCKS:
            raise ValueError(f"tensor {name!r} has the type {kind}, expected one of {sorted(BLOCKS)}: float32, float16, Q4_1, Q8_0")
        size, elements = BLOCKS[kind]
        count = int(np.prod(shape, dtype=np.int64))
        if shape[-1] % elements:
            raise ValueError(f"tensor {name!r} has rows of {shape[-1]}, expected a multiple of {elements}")
        data = np.frombuffer(self._data, np.uint8, count // elements * size, self._begin + offset)
        if kind in (F32, F16):
            return data.view(np.float32 if kind == F32 else np.float16).astype(np.float32).reshape(shape)
        return unpack(data.reshape(shape[0], -1, size), kind)

    def _scalar(self, form):
        value, = struct.unpack_from("<" + form, self._data, self._at)
        self._at += struct.calcsize("<" + form)
        return value

    def _text(self):
        size = self._scalar("Q")
        self._at += size
        return self._data[self._at - size:self._at].decode("utf-8")

    def _value(self, kind):
        if kind == STRING:
            return self._text()
        if kind == ARRAY:
            kind, count = self._scalar("I"), self._scalar("Q")
            return [self._value(kind) for _ in range(count)]
        if kind not in SCALARS:
            raise ValueError(f"a value of the metadata has the type {kind}, which GGUF does not have")
        return self._scalar(SCALARS[kind])


def unpack(blocks, kind):
    """The Matrix of blocks [rows, blocks, bytes]."""
    rows, count, _ = blocks.shape
    scales = half(blocks[:, :, 0:2])
    if kind == Q8_0:
        codes = (blocks[:, :, 2:].view(np.int8).astype(np.int16) + 128).astype(np.uint8)
        return Matrix(8, codes.reshape(rows, count * BLOCK), scales)
    nibbles = blocks[:, :, 4:]
    codes = np.concatenate([nibbles & 15, nibbles >> 4], axis=2)
    least = half(blocks[:, :, 2:4])
    # A block of equal weights has the scale 0 and codes of 0: the weight becomes the scale.
    equal = scales == 0
    zeros = np.where(equal, np.float32(-1), -least / np.where(equal, np.float32(1), scales))
    return Matrix(4, codes.reshape(rows, count * BLOCK), np.where(equal, least, scales), zeros)


def half(pairs):
    return np.ascontiguousarray(pairs).view(np.float16)[:, :, 0].astype(np.float32)


def pack_q4_1(weights):
    """The bytes of float32 [rows, columns] in Q4_1."""
    x = weights.reshape(weights.shape[0], -1, BLOCK)
    least = x.min(axis=2).astype(np.float16)
    scale = ((x.max(axis=2) - least) / 15).astype(np.float16)
    step = np.where(scale == 0, np.float32(1), scale.astype(np.float32))
    codes = np.clip(np.rint((x - least.astype(np.float32)[:, :, None]) / step[:, :, None]), 0, 15).astype(np.uint8)
    codes[scale == 0] = 0
    nibbles = codes[:, :, :BLOCK // 2] | codes[:, :, BLOCK // 2:] << 4
    parts = [scale[:, :, None].view(np.uint8), least[:, :, None].view(np.uint8), nibbles]
    return np.concatenate(parts, axis=2).tobytes()


def pack_q8_0(weights):
    """The bytes of float32 [rows, columns] in Q8_0."""
    x = weights.reshape(weights.shape[0], -1, BLOCK)
    scale = (np.abs(x).max(axis=2) / 127).astype(np.float16)
    step = np.where(scale == 0, np.float32(1), scale.astype(np.float32))
    codes = np.clip(np.rint(x / step[:, :, None]), -127, 127).astype(np.int8)
    return np.concatenate([scale[:, :, None].view(np.uint8), codes.view(np.uint8)], axis=2).tobytes()


PACKERS = {F32: lambda x: x.astype(np.float32).tobytes(), F16: lambda x: x.astype(np.float16).tobytes(), Q4_1: pack_q4_1, Q8_0: pack_q8_0}


def write(path, facts, tensors):
    """facts: {name: int, float, str, bool, or a list of one of them}; tensors: {name: (type, float32 array)}."""
    heads, data = [], b""
    for name, (kind, array) in tensors.items():
        data += bytes(-len(data) % 32)
        heads.append(text(name) + struct.pack(f"<I{array.ndim}QIQ", array.ndim, *reversed(array.shape), kind, len(data)))
        data += PACKERS[kind](array)
    head = MAGIC + struct.pack("<IQQ", 3, len(tensors), len(facts)) + b"".join(text(n) + value(v) for n, v in facts.items()) + b"".join(heads)
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + data)


def text(t):
    raw = t.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def value(v):
    if isinstance(v, list):
        kind = value(v[0])[:4]
        return struct.pack("<I", ARRAY) + kind + struct.pack("<Q", len(v)) + b"".join(value(e)[4:] for e in v)
    if isinstance(v, str):
        return struct.pack("<I", STRING) + text(v)
    kind = 7 if isinstance(v, bool) else 6 if isinstance(v, float) else 4 if v >= 0 else 5
    return struct.pack("<I" + SCALARS[kind], kind, v)
