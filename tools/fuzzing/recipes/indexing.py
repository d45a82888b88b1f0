"""Operators that move elements by index: gathers, scatters, one-hot vectors."""
import numpy as np

from . import recipe


def indices(case, shape, extent, negative=True):
    """Indices into an extent, some counted from the end."""
    low = -extent if negative else 0
    values = case.numbers.generator.integers(low, max(extent, low + 1), shape)
    if case.odd() and values.size:
        values.flat[0] = extent
    of = {6: np.int32}.get(case.elem("Tind") if "Tind" in case.version.types else 7, np.int64)
    return np.asarray(values).astype(of)


@recipe("Gather")
def gather(case):
    shape = case.shape(1, 4)
    axis = case.r.randrange(-len(shape) if case.version.since >= 11 else 0, len(shape))
    case.attr("axis", axis, 0.8 if axis else 0.5)
    axis = case.attributes.get("axis", 0)
    case.input("T", shape)
    own = case.extents(0, 3, 4) if shape[axis] else (0,)
    case.give(indices(case, own, shape[axis], case.version.since >= 11))


@recipe("GatherElements")
def gather_elements(case):
    shape = case.extents(1, 4)
    case.attr("axis", axis := case.r.randrange(-len(shape), len(shape)))
    own = [case.r.randint(1, d) if d else 0 for d in shape]
    own[axis] = case.dim(1, 6) if shape[axis] else 0
    case.input("T", shape)
    case.give(indices(case, own, shape[axis]))


def tuples(case, batch, prefix, shape, width):
    """Indices of the last extent `width` into the axes of a shape after its batch axes."""
    parts = [case.numbers.generator.integers(-d if d else 0, max(d, 1), (*batch, *prefix)) for d in shape[:width]]
    values = np.stack(parts, -1) if parts else np.zeros((*batch, *prefix, 0), np.int64)
    if case.odd() and values.size:
        values.flat[0] = 99
    return values.astype(np.int32 if "Tind" in case.version.types and case.elem("Tind") == 6 else np.int64)


@recipe("GatherND com.microsoft:GatherND")
def gather_nd(case):
    shape = case.extents(1, 4, 5)
    batch = case.attr("batch_dims", case.r.randint(0, len(shape) - 1), 0.5) or 0
    width = case.r.randint(1, len(shape) - batch)
    case.input("T", shape)
    case.give(tuples(case, shape[:batch], case.extents(0 if batch else 1, 2, 4), shape[batch:], width))


@recipe("ScatterND")
def scatter_nd(case):
    shape = case.extents(1, 4, 5)
    width = case.r.randint(1, len(shape))
    prefix = case.extents(1, 2, 4)
    where = tuples(case, (), prefix, shape, width)
    reduction = case.attr("reduction", case.pick("none", "add", "mul", "max", "min"), 0.7)
    flat = np.unique((where % np.array([max(1, d) for d in shape[:width]])).reshape(-1, width), axis=0)
    if reduction in (None, "none") and len(flat) < where.size // max(1, width):
        where, prefix = np.asarray(flat, np.int64), (len(flat),)  # it is undefined which of two equal indices is written last
    case.input("T", shape, "small")
    case.give(where)
    case.input("T", (*prefix, *shape[width:]), "small")


@recipe("ScatterElements Scatter")
def scatter_elements(case):
    shape = case.extents(1, 4, 6)
    axis = case.r.randrange(-len(shape), len(shape))
    case.attr("axis", axis, 1 if axis else 0.5)
    reduction = case.attr("reduction", case.pick("none", "add", "mul", "max", "min"), 0.7)
    own = [case.r.randint(1, d) if d else 0 for d in shape]
    where = indices(case, own, shape[axis])
    if reduction in (None, "none") and where.size:
        order = np.argsort(case.numbers.generator.random(shape), axis=axis).astype(where.dtype)  # distinct along the axis
        where = order[tuple(slice(0, d) for d in own)]
    case.input("T", shape, "small")
    case.give(where)
    case.input("T", own, "small")


@recipe("OneHot")
def one_hot(case):
    depth, shape = case.dim(1, 6), case.extents(0 if case.odd() else 1, 3, 4)
    case.attr("axis", case.r.randint(-len(shape) - 1, len(shape)), 0.7)
    low = -depth - 1 if case.version.since >= 11 else 0
    values = case.numbers.generator.integers(low, depth + 1, shape)
    import numbers_of
    of = numbers_of.dtype(case.elem("T1"))
    case.give(np.asarray(np.maximum(values, 0) if of.kind == "u" else values).astype(of))
    case.give(np.asarray(depth if case.maybe() else [depth]).astype(numbers_of.dtype(case.elem("T2"))))
    case.input("T3", (2,))


@recipe("TensorScatter")
def tensor_scatter(case):
    batch, length, new = case.dim(1, 3), case.dim(2, 7), case.dim(1, 3)
    circular = case.attr("mode", case.pick("linear", "circular"), 0.6) == "circular"
    new = min(new, length)
    ahead = case.extents(0, 1, 3, empty=0)
    case.attr("axis", -2, 0.6)
    case.input("T", (batch, *ahead, length, 3))
    case.input("T", (batch, *ahead, new, 3))
    if case.maybe(0.8):
        case.give(case.numbers.generator.integers(0, length if circular else length - new + 1, batch).astype(np.int64))
