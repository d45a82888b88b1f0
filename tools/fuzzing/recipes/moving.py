"""Operators that move elements: shapes, slices, pads."""
import numpy as np

from case import Refused

from . import recipe


@recipe("Reshape")
def reshape(case):
    shape = case.extents(0, 4)
    count, to = int(np.prod(shape, dtype=np.int64)), []
    left = count
    for _ in range(case.dim(0, 4)):
        divisors = [d for d in range(1, left + 1) if left % d == 0] or [1]
        to.append(case.r.choice(divisors))
        left = left // to[-1] if to[-1] else left
    to.append(left)
    keeps_zero = case.attr("allowzero", case.dim(0, 1), 0.4)
    if case.maybe(0.4):
        to[case.r.randrange(len(to))] = -1
    elif case.maybe(0.2) and not keeps_zero:
        to = [0 if i < len(shape) and t == shape[i] else t for i, t in enumerate(to)]
    if case.odd():
        to[0] += 1
    if case.version.since < 5:
        case.attr("shape", to)
    case.input("T", shape)
    if case.version.since >= 5:
        case.int64(to)


@recipe("Transpose")
def transpose(case):
    shape = case.shape(0, 6)
    case.attr("perm", case.r.sample(range(len(shape)), len(shape)), 0.8)
    case.input("T", shape)


@recipe("Flatten")
def flatten(case):
    shape = case.shape(0 if case.version.since >= 9 else 1, 5)
    low = -len(shape) if case.version.since >= 11 else 0
    case.attr("axis", case.r.randint(low, len(shape)) + (9 if case.odd() else 0), 0.8)
    case.input("T", shape)


@recipe("Squeeze Unsqueeze")
def squeeze(case):
    shape = [1 if case.maybe() else d for d in case.shape(1, 4)]
    if case.operator.name == "Squeeze":
        ones = [i for i, d in enumerate(shape) if d == 1 or case.odd(0.02)]
        axes, rank = case.r.sample(ones, case.r.randint(0, len(ones))), len(shape)
    else:
        rank = len(shape) + case.dim(1, 3)
        axes = case.r.sample(range(rank), rank - len(shape))
    if case.version.since >= 11:
        axes = [a - rank if case.maybe(0.3) else a for a in axes]
    inputs = case.version.since >= 13
    empty = case.operator.name == "Unsqueeze" or case.maybe(0.3)  # whether axes are given if there are none
    if not inputs and (axes or empty):
        case.attr("axes", axes)
    case.input("T", shape)
    if inputs and (axes or empty):
        case.int64(axes)


@recipe("Concat")
def concat(case):
    shape = list(case.extents(1, 4))
    axis = case.axis(len(shape)) if case.version.since >= 11 or case.operator.domain else case.r.randrange(len(shape))
    case.attr("axis", axis, 1 if case.version.since > 1 or case.operator.domain else 0.5)
    axis = case.attributes.get("axis", 1)
    quantised = case.operator.name == "QLinearConcat"
    of = case.elem("T8", "uint8", "int8") if quantised else "T"
    if quantised:
        case.give(np.asarray(case.r.uniform(0.01, 0.2), np.float32), True)
        case.input(of, (), "small", True)
        case.output_types[0] = ""
    for _ in range(case.dim(1, 4)):
        own = list(shape)
        if -len(own) <= axis < len(own):
            own[axis] = case.r.randint(0, 4)
        if case.odd(0.02):
            own.append(1)
        case.input(of, own)
        if quantised:
            case.give(np.asarray(case.r.uniform(0.01, 0.2), np.float32), True)
            case.input(of, (), "small", True)


@recipe("Split")
def split(case):
    shape = list(case.extents(1, 4, 9))
    axis = case.r.randrange(-len(shape) if case.version.since >= 11 else 0, len(shape))
    case.attr("axis", axis, 1 if axis % len(shape) else 0.5)
    count = case.dim(1, 4)
    cuts = sorted(case.r.randint(0, shape[axis]) for _ in range(count - 1))
    parts = [b - a for a, b in zip([0, *cuts], [*cuts, shape[axis]])]
    explicit = case.maybe(0.6)
    if not explicit:
        if not case.attr("num_outputs", count):
            shape[axis] = count * case.dim(1, 3)
    elif case.odd():
        parts[0] += 1
    case.input("T", shape)
    if explicit and case.version.since >= 13:
        case.int64(parts)
    elif explicit and case.version.since > 1 or case.version.since == 1:
        case.attr("split", parts if explicit else [shape[axis] // count] * count)
    case.want(*[True] * count)


@recipe("Slice")
def slice_(case):
    shape = case.shape(1, 4)
    rank = len(shape)
    axes = case.r.sample(range(rank), case.r.randint(1, rank))
    edge = [*range(-9, 10), 2 ** 31 - 1, -2 ** 31, 2 ** 63 - 1, -2 ** 63]
    starts, ends = [case.r.choice(edge) for _ in axes], [case.r.choice(edge) for _ in axes]
    if case.version.since < 10:
        case.attr("axes", axes), case.attr("starts", starts), case.attr("ends", ends)
        case.input("T", shape)
        return
    of = np.int32 if case.elem("Tind") == 6 else np.int64
    limit = np.iinfo(of)
    clamp = [[min(max(v, limit.min), limit.max) for v in values] for values in (starts, ends)]
    case.input("T", shape)
    for values in clamp:
        case.int64(values, dtype=of)
    if case.maybe(0.8) or len(axes) != rank:
        case.int64([a - rank if case.maybe(0.3) else a for a in axes], dtype=of)
        if case.maybe(0.7):
            case.int64([case.pick(1, 1, 2, 3, -1, -2, -1, 0 if case.odd() else 1) for _ in axes], dtype=of)


@recipe("Pad com.microsoft:Pad")
def pad(case):
    shape = case.extents(1, 4)
    mode = case.attr("mode", case.pick("constant", "reflect", "edge", "wrap" if case.version.since >= 19 else "edge"), 0.7)
    rank = len(shape)
    axes = case.r.sample(range(rank), case.r.randint(1, rank)) if case.version.since >= 18 and case.maybe() else None
    some = list(range(rank)) if axes is None else axes
    least = -1 if case.maybe(0.2) else 0
    pads = [case.r.randint(least, max(least, shape[a] - 1) if mode == "reflect" else 3) for _ in range(2) for a in some]
    modern = case.version.since >= 11 or case.operator.domain
    if not modern:
        case.attr("pads" if case.version.since > 1 else "paddings", pads)
        case.attr("value", 1.5, 0.5)
    case.input("T", shape)
    if modern:
        case.int64(pads)
        if case.maybe(0.6):
            case.input("T", (), "small")
        else:
            case.skip()
        if axes is not None:
            case.int64([a - rank if case.maybe(0.3) else a for a in axes], dtype=np.int32 if case.elem("Tind") == 6 else np.int64)


@recipe("Tile")
def tile(case):
    shape = case.extents(0, 4, 5)
    case.input("T", shape)
    if case.version.since < 6:
        case.give(np.asarray(case.dim(1, 3)).astype(np.float32))
        case.give(np.asarray(case.r.randrange(max(1, len(shape)))).astype(np.float32))
        raise Refused("tiles and axis of version 1 have the type of the data")
    case.int64([0 if case.maybe(0.03) else case.dim(1, 3) for _ in range(len(shape) + case.odd())])


@recipe("Expand")
def expand(case):
    a, b = case.broadcasting(2)
    case.input("T", a)
    case.int64(b)


@recipe("com.microsoft:ExpandDims")
def expand_dims(case):
    shape = case.shape(0, 4)
    case.input("T", shape)
    case.int64(case.r.randint(-len(shape) - 1, len(shape)), dtype=np.int32)


@recipe("DepthToSpace SpaceToDepth")
def blocks(case):
    block = case.dim(1, 3)
    case.attr("blocksize", block)
    case.attr("mode", case.pick("DCR", "CRD"), 0.6)
    n, c, h, w = case.dim(1, 2), case.dim(1, 3), case.dim(1, 4), case.dim(1, 4)
    wide = case.operator.name == "DepthToSpace"
    case.input("T", (n, c * block * block + case.odd(), h, w) if wide else (n, c, h * block, w * block + case.odd()))


@recipe("Compress")
def compress(case):
    shape = case.extents(1, 4)
    axis = case.attr("axis", case.r.randrange(-len(shape) if case.version.since >= 11 else 0, len(shape)), 0.6)
    most = int(np.prod(shape)) if axis is None else shape[axis]
    case.input("T", shape)
    case.give(case.numbers.array(9, (case.r.randint(0, most),)))


@recipe("ReverseSequence")
def reverse_sequence(case):
    shape = case.extents(2, 4)
    time = case.attr("time_axis", case.dim(0, 1), 0.6)
    batch = 1 - time if time is not None else 1
    case.attr("batch_axis", batch, 1 if time is not None else 0.5)
    time = 0 if time is None else time
    case.input("T", shape)
    case.give(case.numbers.generator.integers(0, shape[time] + 1, (shape[1 - time],)).astype(np.int64))


@recipe("Trilu com.microsoft:Trilu")
def trilu(case):
    case.attr("upper", case.dim(0, 1), 0.7)
    case.input("T", case.shape(2, 4) if not case.odd() else (3,))
    if case.maybe(0.6):
        case.int64(case.pick(0, 1, -1, 2, -3, 9, -9, 2 ** 40, case.r.randint(-5, 5)))


@recipe("CenterCropPad")
def center_crop_pad(case):
    shape = case.extents(1, 4)
    axes = case.attr("axes", case.axes(len(shape), 1), 0.5)
    case.input("T", shape)
    case.int64([case.dim(1, 8) for _ in (axes or shape)])


@recipe("NonZero Shape Size")
def of_one(case):
    rank = len(shape := case.shape(0 if case.operator.name != "NonZero" else 1, 5))
    for name in ("start", "end"):
        case.attr(name, case.r.randint(-rank - 1, rank + 1), 0.5)
    case.input("T", shape, "small" if case.operator.name == "NonZero" else "any")


@recipe("Unique com.microsoft:Unique")
def unique(case):
    ms = bool(case.operator.domain)
    shape = case.shape(1, 1 if ms else 3, most=60)
    case.attr("sorted", case.dim(0, 1), 0.6)
    case.attr("axis", case.r.randrange(-len(shape), len(shape)), 0.5)
    case.input("T", shape, case.pick("small", "small", "any"))
    if not ms:
        case.want(True, *[case.maybe() for _ in range(3)])


@recipe("Range com.microsoft:Range")
def range_(case):
    import numbers_of
    of = case.elem("T")
    whole = of in numbers_of.INTEGERS
    start, delta = case.r.randint(-9, 9), case.pick(1, 2, -1, -3, 0.5 if not whole else 1)
    values = start, start + delta * case.dim(-2, 9), 0 if case.odd() else delta
    for value in values:
        case.give(np.asarray(value if whole else value * case.pick(1, 1, 0.3)).astype(numbers_of.dtype(of)))
        if case.maybe(0.1) and case.operator.domain and len(case.inputs) == 2:
            break
    if case.operator.domain:
        case.scale = 40.0 * 9  # the oracle adds delta again and again: as many roundings of numbers up to 9 as there are elements


@recipe("EyeLike")
def eye_like(case):
    case.attr("k", case.r.randint(-4, 4), 0.6)
    types = [t for t in case.version.types["T2"] if "tensor(" in t]
    import schemas
    to = case.attr("dtype", schemas.element_of(case.pick(*types)), 0.6)
    case.input("T1", case.extents(2, 2))
    case.chosen["T2"] = to or case.chosen["T1"]


@recipe("ConstantOfShape")
def constant_of_shape(case):
    if case.maybe(0.8):
        case.attr("value", case.numbers.array(case.elem("T2"), (1,)))
    else:
        case.chosen["T2"] = 1
    case.int64(list(case.extents(0, 4)))


@recipe("com.microsoft:UnfoldTensor")
def unfold_tensor(case):
    case.elem("T", "float", "double", "int32", "int64", "bool") if case.maybe(0.8) else None
    shape = case.extents(1, 4)
    axis = case.r.randrange(-len(shape), len(shape))
    case.attr("dim", axis, 0.8 if axis != -1 else 0.4)
    case.attr("size", case.dim(1, max(1, shape[case.attributes.get("dim", -1)])))
    case.attr("step", case.dim(1, 3), 0.6)
    case.input("T", shape)


@recipe("Cast CastLike")
def cast(case):
    import schemas
    from_, to = case.elem("T1"), case.elem("T2")
    float_to_integer = case.elem("T1") in (1, 10, 11, 16, 17, 18, 19, 20) and schemas.NAMES[to].strip("u").startswith("int")
    unsigned = schemas.NAMES[to].startswith("uint")
    unsigned |= to == 24  # negative numbers have no exponent of their own in FLOAT8E8M0
    kind = "positive" if (float_to_integer or to == 24) and unsigned else "small" if float_to_integer else case.pick("any", "normal")
    case.attr("saturate", case.dim(0, 1), 0.3 if to in (17, 18, 19, 20) else 0.03)
    if case.operator.name == "Cast":
        case.attr("to", schemas.NAMES[to].upper() if case.version.since < 6 else to)
    shape = case.shape(0, 4)
    if from_ == 8:
        words = ["1", "-2", "3.5", "0", "7", "1e3", "inf"] if not schemas.NAMES[to].strip("u").startswith("int") else ["1", "2", "0", "3"]
        array = np.empty(int(np.prod(shape)), object)
        array[:] = [case.pick(*words) for _ in array]
        case.give(array.reshape(shape))
    else:
        case.input("T1", shape, kind)
    if case.operator.name == "CastLike":
        case.input("T2", case.shape(0, 2))
    case.chosen["T2"] = to


@recipe("DynamicSlice")
def dynamic_slice(case):
    shape = case.extents(1, 4)
    axes = case.r.sample(range(len(shape)), case.r.randint(1, len(shape)))
    of = np.int32 if case.elem("Tind") == 6 else np.int64
    given = case.maybe(0.7)
    axes = axes if given else list(range(len(axes)))
    case.input("T", shape)
    for _ in range(2):
        case.int64([case.r.randint(-shape[a] - 2, shape[a] + 2) for a in axes], dtype=of)
    if given:
        case.int64([a - len(shape) if case.maybe(0.3) else a for a in axes], dtype=of)


@recipe("MemcpyFromHost MemcpyToHost")
def memcpy(case):
    case.input("T", case.shape())
