"""Normalisations."""
import numpy as np

from . import recipe
from .matrix import magnitude


def epsilon(case):
    case.attr("epsilon", case.pick(1e-5, 1e-3, 0.1), 0.6)


@recipe("BatchNormalization")
def batch_normalization(case):
    n, c, rest = case.dim(0 if case.maybe(0.05) else 1, 3), case.dim(1, 5), case.extents(0, 3, 5)
    epsilon(case)
    case.attr("momentum", 0.8, 0.3)
    case.attr("is_test", 1)
    case.attr("spatial", 1, 0.4)
    case.attr("consumed_inputs", [0, 0, 0, 1, 1])
    training = case.attr("training_mode", 1, 0.15)
    second, third = ("T1", "T2") if "T2" in case.version.types else ("T", "U") if "U" in case.version.types else ("T", "T")
    case.input("T", (n, c, *rest), "normal")
    case.input(second, (c + case.odd(),), "normal")
    case.input(second, (c,), "normal")
    case.input(third, (c,), "normal")
    case.input(third, (c,), "positive")
    case.scale = 1e4 if training else 0  # the variance of few elements may be 0, and its root is a divisor
    case.want(True, *[True, True] if training else [])


@recipe("InstanceNormalization")
def instance_normalization(case):
    n, c = case.dim(1, 3), case.dim(1, 4)
    epsilon(case)
    case.attr("consumed_inputs", [0, 0, 0], 0.3)
    x = case.input("T", (n, c, *case.extents(1, 3, 5)), "normal")
    case.scale = 1e4 if x.size <= n * c else 0  # the variance of one element is 0, and the divisor is the root of epsilon
    for _ in range(2):
        case.input("T", (c + case.odd(),), "normal")


@recipe("GroupNormalization")
def group_normalization(case):
    groups, each, n = case.dim(1, 3), case.dim(1, 3), case.dim(1, 3)
    case.attr("num_groups", groups)
    case.attr("stash_type", 1, 0.3)
    epsilon(case)
    case.input("T", (n, groups * each, *case.extents(1, 3, 5)), "normal")
    for _ in range(2):
        case.input("T", (groups * each if case.version.since >= 21 else groups,), "normal")


@recipe("LayerNormalization RMSNormalization")
def layer_normalization(case):
    shape = case.extents(1, 4, 8)
    axis = case.r.randrange(-len(shape), len(shape))
    case.attr("axis", axis, 1 if axis != -1 else 0.5)
    epsilon(case)
    case.attr("stash_type", 1, 0.3)
    rms = case.operator.name == "RMSNormalization"
    case.input("T", shape, "normal")
    inner = shape[axis % len(shape):]
    if case.maybe(0.15):
        inner = tuple(1 if case.maybe() else d for d in inner)
    second = "V" if "V" in case.version.types else "T"
    case.input(second, inner, "normal")
    if not rms and case.maybe(0.6):
        case.input(second, inner, "normal")
    if not rms and case.operator.name == "LayerNormalization":
        case.want(True, case.maybe(0.3), case.maybe(0.3))


@recipe("MeanVarianceNormalization")
def mean_variance_normalization(case):
    case.attr("axes", sorted(case.r.sample(range(4), case.dim(1, 4))), 0.5)
    rank = case.dim(1, 5) if case.maybe(0.2) else 4  # axes that do not exist have no effect
    case.input("T", tuple(case.dim(1, 5) for _ in range(rank)), "normal")


@recipe("LRN")
def lrn(case):
    case.attr("size", case.pick(1, 3, 5))
    for name in ("alpha", "beta", "bias"):
        case.attr(name, case.r.uniform(0.01, 1.5), 0.6)
    case.input("T", (case.dim(1, 2), case.dim(1, 7), *case.extents(2, 2, 5)), "normal")


@recipe("com.microsoft:SkipLayerNormalization com.microsoft:SkipSimplifiedLayerNormalization")
def skip_layer_normalization(case):
    simplified = "Simplified" in case.operator.name
    batch, length, hidden = case.dim(1, 3), case.dim(1, 4), case.pick(1, 4, 8, 16, 33, 64)
    shape = (batch, length, hidden) if case.maybe(0.7) else (length, hidden)
    epsilon(case)
    case.input("T", shape, "normal")
    case.input("T", case.pick(shape, shape, shape, (1, length, hidden), (length, hidden)), "normal")
    case.input("T", (hidden,), "normal")
    if not simplified and case.maybe(0.6):
        case.input("T", (hidden,), "normal")
    elif not simplified:
        case.skip()
    if case.maybe():
        case.input("T", (hidden,), "normal")
    case.want(True, False, False, case.maybe())


@recipe("com.microsoft:EmbedLayerNormalization")
def embed_layer_normalization(case):
    batch, length, hidden, words = case.dim(1, 3), case.dim(1, 5), case.pick(4, 8, 16, 33), case.dim(2, 9)
    segments = case.maybe(0.6)
    case.form = "fixed"  # shape inference of the oracle refuses extents that it does not know
    epsilon(case)
    pick = lambda most, shape: case.give(case.numbers.generator.integers(0, most, shape).astype(np.int32))  # noqa: E731
    table = lambda shape: case.give(case.numbers.array(case.elem("T"), shape, "normal"))  # noqa: E731
    pick(words, (batch, length))
    pick(2, (batch, length)) if segments else case.skip()
    table((words, hidden)), table((length + case.dim(0, 2), hidden))
    table((2, hidden)) if segments or case.maybe(0.3) else case.skip()
    table((hidden,)), table((hidden,))
    mask = case.maybe()
    pick(2, (batch, length)) if mask else case.skip()
    if case.maybe(0.3):
        pick(length, (batch, length))
    case.attr("mask_index_type", case.dim(0, 1), 0.5)
    case.want(True, mask or case.maybe(), case.maybe(0.3))


@recipe("com.microsoft:GatedRMSNorm com.microsoft:BranchwiseRMSNorm")
def gated(case):
    hidden = case.pick(4, 8, 16, 33)
    shape = (case.dim(1, 3), case.dim(1, 3), hidden)
    epsilon(case)
    if case.operator.name == "GatedRMSNorm":
        case.attr("activation", case.pick("silu", "sigmoid"), 0.5)
        _, weight, gate = case.input("T", shape, "normal"), case.input("T", (hidden,), "normal"), case.input("T", shape, "normal")
        # The oracle's sigmoid has an absolute error, which gate, weight and the normed element multiply.
        case.scale = max(1.0, magnitude(gate)) * max(1.0, magnitude(weight)) * hidden ** 0.5
    else:
        branches = case.dim(1, 3)
        case.attr("num_branches", branches)
        case.input("T", (*shape[:-1], branches * hidden), "normal")
        if case.maybe(0.7):
            case.input("M", case.pick((hidden,), (branches * hidden,), (branches, hidden)), "normal")
