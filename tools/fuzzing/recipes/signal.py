"""Windows, Fourier transforms and random numbers."""
import numpy as np

import schemas

from . import recipe
from .matrix import magnitude


@recipe("HannWindow HammingWindow BlackmanWindow")
def window(case):
    to = case.attr("output_datatype", case.pick(1, 11, 1, 10, 6, 7), 0.7) or 1
    case.attr("periodic", case.dim(0, 1), 0.6)
    case.chosen["T2"] = to
    case.int64(case.pick(1, 2, 5, 16, 0 if case.odd() else 3), dtype=np.int32 if case.elem("T1") == 6 else np.int64)


@recipe("MelWeightMatrix")
def mel(case):
    case.chosen["T3"] = case.attr("output_datatype", case.pick(1, 11), 0.7) or 1
    for value in (case.dim(1, 8), case.pick(8, 16, 32), 8000):
        case.int64(value, dtype=np.int32 if case.elem("T1") == 6 else np.int64)
    for value in (case.pick(0.0, 100.0), case.pick(2000.0, 4000.0)):
        case.give(np.asarray(value, np.float32))


@recipe("DFT")
def dft(case):
    batch, length = case.dim(1, 2), case.pick(1, 2, 3, 4, 5, 8, 12, 16, 17)
    onesided, inverse = case.attr("onesided", case.dim(0, 1), 0.4), case.attr("inverse", case.dim(0, 1), 0.4)
    parts = 1 if onesided and not inverse else case.pick(1, 2)
    more = case.extents(0, 1, 3, empty=0)
    shape = (batch, length, *more, parts)
    axis = case.attr("axis", 1, 0.5)
    x = case.input("T1", shape, "normal")
    if case.maybe(0.4):
        case.int64(case.pick(length, max(1, length - 1), length + 2))
    elif case.version.since >= 20 and case.maybe():
        case.skip()
        case.int64(1 if case.maybe() else -len(shape) + 1)
    del axis
    case.scale = length * max(1.0, magnitude(x))


@recipe("com.microsoft:Rfft com.microsoft:Irfft")
def real_fourier(case):
    """Of finite numbers: which parts of a result are infinite depends on the order of the products."""
    length = case.dim(2, 9)
    case.attr("onesided", 1), case.attr("normalized", 0), case.attr("signal_ndim", 1)
    shape = (*case.extents(0, 2, 4, empty=0), length)
    x = case.input("T", shape if case.operator.name == "Rfft" else (*shape, 2), "normal")
    case.scale = length * max(1.0, magnitude(x))


@recipe("STFT")
def stft(case):
    frame, step = case.pick(4, 8, 5), case.dim(1, 4)
    length = frame + step * case.dim(0, 4)
    case.attr("onesided", case.dim(0, 1), 0.6)
    x = case.input("T1", (case.dim(1, 2), length, 1) if case.maybe(0.8) else (1, length, 2), "normal")
    case.int64(step)
    with_window = case.maybe(0.7)
    case.input("T1", (frame,), "unit") if with_window else case.skip()
    if not with_window or case.maybe():
        case.int64(frame)
    case.scale = frame * max(1.0, magnitude(x))


@recipe("RandomNormal RandomUniform")
def random(case):
    case.attr("shape", list(case.extents(1, 3)))
    case.attr("seed", 1.0, 0.5)
    case.chosen["T"] = case.attr("dtype", case.pick(1, 11), 0.6) or 1


@recipe("RandomNormalLike RandomUniformLike Bernoulli Multinomial")
def random_like(case):
    case.attr("seed", 1.0, 0.5)
    name = case.operator.name
    types = [schemas.element_of(t) for t in case.version.types["T2"]]
    default = 6 if name == "Multinomial" else case.elem("T1")
    to = case.attr("dtype", case.r.choice(types), 0.6) or (default if default in types else case.attr("dtype", types[0]))
    case.chosen["T2"] = to
    case.attr("sample_size", case.dim(1, 4), 0.6)
    case.input("T1", (case.dim(1, 3), case.dim(1, 5)) if name == "Multinomial" else case.extents(0, 3), "unit")
