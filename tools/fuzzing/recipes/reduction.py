"""Operators along axes: reductions, softmax, sorting, running sums."""
import numpy as np

from . import recipe
from .matrix import bound, magnitude


@recipe("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare")
def reduce(case):
    name, shape = case.operator.name, case.shape(0, 5)
    axes = case.axes(len(shape), 0)
    case.attr("keepdims", case.dim(0, 1), 0.6)
    case.attr("noop_with_empty_axes", case.dim(0, 1), 0.4)
    if case.has_attr("axes"):
        axes = axes if case.version.since >= 11 else [a % max(1, len(shape)) for a in axes]
        if axes:
            case.attr("axes", axes, 0.8)
    kind = {"ReduceLogSum": "positive", "ReduceProd": "small"}.get(name, "any" if name in ("ReduceMax", "ReduceMin") else "normal")
    x = case.input("T", shape, kind)
    many = max(1, x.size)
    power = {"ReduceSumSquare": 2, "ReduceProd": min(many, 8)}.get(name, 1)
    if name not in ("ReduceMax", "ReduceMin") and x.dtype.kind not in "iub":
        case.scale = min(1e30, many * max(1.0, magnitude(x)) ** power)
    if not case.has_attr("axes") and case.maybe(0.8):
        case.int64(axes)


@recipe("ArgMax ArgMin")
def arg(case):
    shape = case.extents(0 if case.maybe(0.05) else 1, 4)
    rank = max(1, len(shape))
    case.attr("axis", case.axis(rank) if case.version.since >= 11 else case.r.randrange(rank), 0.7)
    case.attr("keepdims", case.dim(0, 1), 0.6)
    case.attr("select_last_index", case.dim(0, 1), 0.6)
    case.input("T", shape, case.pick("small", "normal"))


@recipe("Softmax LogSoftmax Hardmax")
def softmax(case):
    shape = case.extents(1, 4, 9)
    quantised = case.operator.name == "QLinearSoftmax"
    case.attr("axis", case.axis(len(shape)) if case.version.since >= 11 or quantised else case.r.randrange(len(shape)), 0.7)
    case.attr("opset", case.pick(13, 13, 11, 12))
    case.input("T", shape, case.pick("normal", "normal", "small"))
    if quantised:
        case.give(np.asarray(case.r.uniform(0.01, 0.3), np.float32))
        case.input("T", (), "small")
        case.give(np.asarray(1 / 256, np.float32))
        case.give(np.asarray(0 if case.elem("T") == 2 else -128).astype(case.inputs[0].value.dtype))


@recipe("TopK")
def top_k(case):
    shape = case.extents(1, 4, 9)
    axis = case.r.randrange(-len(shape) if case.version.since >= 11 else 0, len(shape))
    case.attr("axis", axis, 0.8 if axis in (-1, len(shape) - 1) else 1)
    case.attr("largest", case.dim(0, 1), 0.6)
    case.attr("sorted", 1, 0.6)  # without it, the order of the results is undefined
    k = case.r.randint(0, shape[axis] + case.odd())
    if case.version.since < 10:
        case.attr("k", k)
    case.input("T", shape, case.pick("small", "normal"))
    if case.version.since >= 10:
        case.int64([k])


@recipe("CumSum CumProd")
def running(case):
    shape = case.extents(1, 4)
    case.attr("exclusive", case.dim(0, 1), 0.6)
    case.attr("reverse", case.dim(0, 1), 0.6)
    variable = "T" if "T" in case.version.types else case.version.inputs[0].type
    x = case.input(variable, shape, "normal" if case.operator.name == "CumSum" else "small")
    bound(case, x.size, x)
    case.int64(case.axis(len(shape)), dtype=np.int32 if case.elem("T2") == 6 else np.int64)


@recipe("LpNormalization")
def lp_normalization(case):
    shape = case.extents(1, 4)
    case.attr("axis", case.axis(len(shape)), 0.7)
    case.attr("p", case.dim(1, 2), 0.7)
    case.input("T", shape, "normal")


@recipe("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss")
def loss(case):
    n, c, rest = case.dim(1, 4), case.dim(1, 5), case.extents(0, 2, 4, empty=0)
    case.attr("reduction", case.pick("none", "mean", "sum"), 0.8)
    ignored = case.attr("ignore_index", case.pick(0, -1, 255), 0.4)
    x = case.input("T", (n, c, *rest), "normal")
    where = case.numbers.generator.integers(0, c, (n, *rest))
    if ignored is not None and where.size:
        where.flat[0] = ignored
    if case.odd() and where.size:
        where.flat[-1] = c
    of = case.elem("Tind") if "Tind" in case.version.types else 7
    case.give(np.asarray(where).astype(np.int32 if of == 6 else np.int64))
    if case.maybe():
        case.input("T", (c,), "unit")
    case.scale = max(1.0, magnitude(x)) * max(1, x.size)


@recipe("NonMaxSuppression")
def non_max_suppression(case):
    batches, classes, boxes = case.dim(1, 2), case.dim(1, 3), case.dim(1, 12)
    center = case.attr("center_point_box", case.dim(0, 1), 0.5)
    g = case.numbers.generator
    low, size = g.uniform(0, 1, (batches, boxes, 2)), g.uniform(0.1, 0.8, (batches, boxes, 2))
    corners = np.concatenate([low, size if center else low + size], -1).astype(np.float32)
    case.give(corners[..., [2, 3, 0, 1]] if case.maybe(0.2) and not center else corners)
    case.give(g.uniform(0, 1, (batches, classes, boxes)).astype(np.float32))
    for value in (np.int64(case.pick(0, 1, 3, 100)), np.float32(g.uniform(0, 1)), np.float32(g.uniform(0, 0.8))):
        if case.maybe(0.15):
            case.skip()
        else:
            case.give(np.asarray(value if case.maybe() else [value]))


@recipe("Dropout")
def dropout(case):
    case.attr("seed", case.dim(0, 9), 0.3)
    case.attr("ratio", case.pick(0.0, 0.5), 0.5)
    if case.version.since < 7:
        case.attr("is_test", 1)
    case.input("T", case.shape(1, 4))
    if case.version.since >= 12:
        if case.maybe(0.6):
            case.input("T1", (), "unit")
        else:
            case.skip()
        if case.maybe():
            case.give(np.asarray(False))
