"""Products of matrices, plain and quantised."""
import numpy as np

from . import recipe


def stacks(case, m, k, n):
    """Shapes of two stacks of matrices that can be multiplied; vectors in some cases."""
    batch_a, batch_b = case.broadcasting(2, 0, 2) if case.maybe() else ((), ())
    a, b = [*batch_a[:2], m, k], [*batch_b[:2], k, n]
    if case.maybe(0.1) and not batch_a:
        a = a[-1:]
    elif case.maybe(0.1) and not batch_b:
        b = b[:1]
    if case.odd():
        b[-1] += 1
        b[0] += 1
    return tuple(a), tuple(b)


def extents(case):
    """M, K and N: small, or beyond the blocks of kernels; 0 in few cases."""
    return [0 if case.maybe(0.02) else case.pick(1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65) for _ in range(3)]


def magnitude(array):
    """The greatest finite magnitude of numbers; 0 for anything else."""
    if array.dtype.kind in "OSU" or not array.size:
        return 0.0
    with np.errstate(all="ignore"):
        wide = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    return float(np.max(np.where(np.isfinite(wide), wide, 0), initial=0))


def bound(case, k, *arrays):
    """The scale of sums of k products."""
    case.scale = max(1, k) * float(np.prod([magnitude(a) for a in arrays]))


@recipe("MatMul")
def mat_mul(case):
    m, k, n = extents(case)
    a, b = stacks(case, m, k, n)
    bound(case, k, case.input("T", a, "normal"), case.input("T", b, "normal"))


@recipe("com.microsoft:FusedMatMul com.microsoft:TransposeMatMul")
def fused_mat_mul(case):
    m, k, n = extents(case)
    a, b = (list(s) for s in stacks(case, m, k, n))
    for shape, side in ((a, "A"), (b, "B")):
        if case.attr(f"trans{side}", case.dim(0, 1), 0.6) and len(shape) > 1:
            shape[-1], shape[-2] = shape[-2], shape[-1]
        if case.attr(f"transBatch{side}", 1, 0.1) and len(shape) > 2:
            shape[:-1] = shape[1:-1] + shape[:1]
    alpha = case.attr("alpha", case.pick(0.5, 1.0, -2.0, 0.0), 0.6)
    bound(case, k * abs(1 if alpha is None else alpha), case.input("T", a, "normal"), case.input("T", b, "normal"))


@recipe("Gemm com.microsoft:FusedGemm")
def gemm(case):
    m, k, n = extents(case)
    turned = [case.attr(name, case.dim(0, 1), 0.7) for name in ("transA", "transB")]
    alpha, beta = (case.attr(name, case.pick(0.5, 1.0, 0.0, -1.5), 0.6) for name in ("alpha", "beta"))
    case.attr("activation", case.pick("Celu", "Elu", "HardSigmoid", "LeakyRelu", "ParametricSoftplus", "Relu", "ScaledTanh", "Selu", "Sigmoid",
                                      "Softplus", "Softsign", "Tanh", "ThresholdedRelu"))
    for name, value in (("alpha", 0.2), ("beta", 0.3), ("gamma", 1.1)):
        case.attr(f"activation_{name}", value, 0.98)
    a = case.input("T", (k, m) if turned[0] else (m, k), "normal")
    b = case.input("T", (n, k + case.odd()) if turned[1] else (k + case.odd(), n), "normal")
    bound(case, k * max(1, abs(alpha or 1)), a, b)
    if case.version.since < 11 and case.operator.name == "Gemm" or case.maybe(0.7):
        shape = case.pick((m, n), (n,), (1, n), (m, 1), (), (1,), (1, 1))
        if case.has_attr("broadcast"):
            case.attr("broadcast", int(shape != (m, n)))
        c = case.input("T", shape, "normal")
        case.scale += magnitude(c) * max(1, abs(beta or 1))
    if case.operator.domain:
        case.scale = max(case.scale, 1.0)


def zero_point(case, of, share=0.6, shape=()):
    """The next input: a zero point, or nothing."""
    if case.maybe(share):
        case.input(of, shape, case.pick("any", "small"))
    else:
        case.skip()


@recipe("MatMulInteger")
def mat_mul_integer(case):
    m, k, n = extents(case)
    a, b = stacks(case, m, k, n)
    case.input("T1", a)
    case.input("T2", b)
    if case.operator.name == "MatMulInteger":
        zero_point(case, "T1", shape=case.pick((), (), (1,), (a[-2],) if len(a) == 2 and case.odd(0.2) else ()))
        zero_point(case, "T2", shape=case.pick((), (), (n,)) if len(b) == 2 else ())


def scale(case, shape=()):
    """The next input: a positive scale."""
    value = case.numbers.generator.uniform(0.003, 0.2, shape)
    return case.give(np.asarray(value, np.float32))


@recipe("QLinearMatMul")
def qlinear_mat_mul(case):
    m, k, n = extents(case)
    a, b = stacks(case, m, k, n)
    names = ("TS", "TS", "TS") if "TS" in case.version.types else ("float",) * 3
    if "TS" in case.version.types:
        case.elem("TS", "float")
    for variable, shape, _ in zip(("T1", "T2"), (a, b), names):
        each = shape[-1:] if variable == "T2" and len(shape) == 2 and case.maybe(0.3) else ()
        case.input(variable, shape)
        scale(case, each)
        case.input(variable, each, "small")
    scale(case)
    case.input("T3", (), "small")


@recipe("Einsum")
def einsum(case):
    letters = {c: case.dim(1, 5) for c in "abcdij"}
    count = case.pick(1, 1, 2, 2, 3)
    terms = ["".join(case.r.sample(sorted(letters), case.dim(0, 4))) for _ in range(count)]
    if case.maybe(0.1) and terms[0]:
        terms[0] += terms[0][0]  # a diagonal
    used = sorted(set("".join(terms)))
    result = case.r.sample(used, case.dim(0, min(4, len(used))))
    dots, ahead = case.maybe(0.2), [case.dim(1, 3) for _ in range(2)]
    equation = ",".join(("..." if dots else "") + t for t in terms)
    if case.maybe(0.8):
        equation += "->" + ("..." if dots else "") + "".join(result)
    case.attr("equation", equation.replace(",", " , ") if case.maybe(0.1) else equation + ("z" if case.odd() and "->" in equation else ""))
    arrays = [case.input("T", (*(ahead if dots else ()), *(letters[c] for c in t)), "normal") for t in terms]
    bound(case, int(np.prod(list(letters.values()))), *arrays)


@recipe("Det com.microsoft:Inverse")
def square(case):
    n = case.dim(1, 5)
    x = case.input("T" if "T" in case.version.types else case.version.inputs[0].type, (*case.extents(0, 2, 3), n, n + case.odd()), "normal")
    case.scale = 24 * max(1, magnitude(x)) ** n
    if case.operator.name == "Inverse" and x.size and x.shape[-1] == x.shape[-2]:
        case.scale = float(min(np.max(np.linalg.cond(x.astype(np.float64)) ** 2), 1e30))  # an error of the matrix, and the size of the inverse
