"""Operators of com.microsoft without a family of their own."""
import numpy as np

import numbers_of
import schemas

from . import recipe
from .matrix import magnitude


@recipe("com.microsoft:CDist")
def cdist(case):
    width = case.dim(1, 9)
    case.attr("metric", case.pick("sqeuclidean", "euclidean"))
    for _ in range(2):
        x = case.input("T", (case.dim(1, 7), width), "normal")
    case.scale = width * max(1.0, magnitude(x)) ** 2 * 8


@recipe("com.microsoft:SparseToDenseMatMul")
def sparse_to_dense(case):
    m, k, n = (case.dim(1, 7) for _ in range(3))
    of = case.elem("T1")
    turned = [case.attr(name, case.dim(0, 1), 0.6) for name in ("transA", "transB")]
    if of in numbers_of.FLOATS:
        case.attr("alpha", case.pick(1.0, 0.5, -2.0), 0.4)
    a = case.numbers.array(of, (k, m) if turned[0] else (m, k), "normal")
    a[case.numbers.generator.random(a.shape) < case.pick(0, 0.3, 0.7, 1)] = 0
    case.give(numbers_of.Sparse(a, case.pick("coo", "csr")), False, f"sparse_tensor({schemas.NAMES[of]})")
    case.chosen["T1"] = of
    inner = k + 1 if case.odd() else k
    b = case.input("T1", (n, inner) if turned[1] else (inner, n), "normal")
    case.scale = 2 * k * magnitude(a) * magnitude(b)


@recipe("com.microsoft:SampleOp")
def sample(case):
    case.input("T", case.shape())


@recipe("com.microsoft:DynamicTimeWarping")
def dynamic_time_warping(case):
    case.input("F", (case.dim(1, 6), case.dim(1, 6)) if case.maybe() else (1, case.dim(1, 6), case.dim(1, 6)), "unit")


@recipe("com.microsoft:BifurcationDetector")
def bifurcation_detector(case):
    source = case.numbers.generator.integers(0, 4, case.dim(1, 12)).astype(np.int64)
    case.attr("min_ngram_size", 1, 0.5), case.attr("max_ngram_size", case.dim(1, 3), 0.5)
    case.give(source)
    case.give(case.numbers.generator.integers(0, 4, case.dim(1, 6)).astype(np.int64))
    at = case.dim(0, len(source) - 1)
    case.give(np.asarray(at, np.int64))
    if case.maybe():
        case.give(case.numbers.generator.integers(0, 4, len(source) - at + 1).astype(np.int64))


@recipe("com.microsoft:GatedAdd")
def gated_add(case):
    shape = (case.dim(1, 3), case.dim(1, 3), case.pick(1, 4, 8, 33))
    case.input("T", shape, "normal"), case.input("T", shape, "normal")
    case.input("T", (*shape[:-1], 1 + case.odd()), "normal")


@recipe("com.microsoft:HyperConnectionPreMix com.microsoft:HyperConnectionPostMix")
def hyper_connection(case):
    lead, branches, hidden = (case.dim(1, 2), case.dim(1, 3)), case.dim(1, 4), case.pick(1, 4, 8)
    case.attr("num_branches", branches)
    case.input("T", (*lead, branches * hidden), "normal")
    if case.operator.name.endswith("PostMix"):
        case.input("T", (*lead, hidden), "normal")
    case.input("M", (*lead, branches), "normal")
    if case.operator.name.endswith("PostMix") and case.maybe():
        case.input("M", (*lead, branches, branches), "normal")


@recipe("com.microsoft:EngramGate")
def engram_gate(case):
    shape = (case.dim(1, 2), case.dim(1, 3), case.dim(1, 3), case.pick(4, 8))
    case.attr("epsilon", 1e-3, 0.4)
    case.input("T", shape, "normal"), case.input("T", shape, "normal")
    case.input("T", (*shape[:2], shape[3]), "normal")
    for _ in range(2):
        case.input("T", shape[2:], "normal")
    with_norm = case.maybe()
    if with_norm:
        case.input("T", shape[2:], "normal")
    case.want(True, with_norm)


@recipe("com.microsoft:NGramHashMapping com.microsoft:VarlenNGramHashMapping")
def ngram_hash(case):
    varlen = case.operator.name.startswith("Varlen")
    most, heads = case.dim(2, 4), case.dim(1, 3)
    of = np.int64 if case.elem("M") == 7 else np.int32
    case.attr("max_ngram_size", most), case.attr("n_head_per_ngram", heads), case.attr("pad_id", case.dim(-1, 3))
    case.attr("reset_on_eos", case.dim(0, 1), 0.6)
    g, batch, length = case.numbers.generator, case.dim(1, 3), case.dim(0, 6)
    ends = np.cumsum([0] + [case.dim(1, 4) for _ in range(batch)])
    ids = (int(ends[-1]),) if varlen else (batch, length)
    width = (most - 1) * heads

    def maybe(array):
        case.give(array) if case.maybe(0.4) else case.skip()

    case.give(g.integers(0, 6, ids).astype(of))
    case.give(g.integers(-2 ** 31, 2 ** 31, (most + case.dim(0, 1),)).astype(of))
    case.give(g.integers(0 if case.odd() else 1, 50, (width,)).astype(of))
    if varlen:
        case.give(ends.astype(np.int32))
    maybe(g.integers(0, 6, (batch, most - 1)).astype(of))
    maybe(g.integers(0, 99, (width,)).astype(of))
    maybe(np.asarray(g.integers(0, 6), of))
    segments = case.maybe()
    case.give(g.integers(0, 2, ids).astype(np.int32)) if segments else case.skip()
    if not varlen:
        return
    case.give(g.integers(0, 2, (batch, most - 1)).astype(np.int32)) if segments and case.maybe() else case.skip()
    captures = case.attr("state_update_capacity", case.dim(0, 3), 0.5)
    if captures:
        case.give(g.integers(-1, 5, (batch,)).astype(np.int32))
    case.want(True, case.maybe(), segments and case.maybe(), bool(captures) and case.maybe())


@recipe("SwiGLU")
def swi_glu(case):
    shape = case.extents(1, 3)
    case.attr("alpha", case.pick(1.0, 1.7), 0.5), case.attr("beta", case.pick(0.0, 1.0), 0.3), case.attr("limit", 3.0, 0.3)
    for _ in case.version.inputs:
        case.input(case.version.inputs[0].type, shape, "normal")
