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
    return float(np.max(np.abs(array.astype(np.float64)), initial=0)) if array.size else 0.0


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
    activation = case.attr("activation", case.pick("Relu", "LeakyRelu", "Tanh", "Sigmoid"), 0.8)
    if activation == "LeakyRelu":
        case.attr("activation_alpha", 0.1)
    a = case.input("T", (k, m) if turned[0] else (m, k), "normal")
    b = case.input("T", (n, k + case.odd()) if turned[1] else (k + case.odd(), n), "normal")
    bound(case, k * max(1, abs(alpha or 1)), a, b)
    if case.version.since < 11 and case.operator.name == "Gemm" or case.maybe(0.7):
        shape = case.pick((m, n), (n,), (1, n), (m, 1), (), (1,), (1, 1))
        if case.has_attr("broadcast"):
            case.attr("broadcast", int(shape != (m, n)))
        c = case.input("T", shape, "normal")
        case.scale += magnitude(c) * max(1, abs(beta or 1))


def zero_point(case, of, share=0.6, shape=()):
    """The next input: a zero point, or nothing."""
    if case.maybe(share):
        case.input(of, shape, case.pick("any", "small"))
    else:
        case.skip()


@recipe("MatMulInteger com.microsoft:MatMulInteger16")
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


@recipe("com.microsoft:MatMulIntegerToFloat")
def mat_mul_integer_to_float(case):
    m, k, n = extents(case)
    a, b = stacks(case, m, k, n)
    each = (n,) if case.maybe(0.3) and len(b) == 2 else ()
    bound(case, k, case.input("T1", a), case.input("T2", b))
    scale(case)
    scale(case, each)
    zero_point(case, "T1")
    zero_point(case, "T2", shape=each)
    if case.maybe():
        case.input("T3", (n,), "normal")


@recipe("com.microsoft:DynamicQuantizeMatMul")
def dynamic_quantize_mat_mul(case):
    m, k, n = extents(case)
    a, b = stacks(case, m, k, n)
    each = (n,) if case.maybe(0.3) and len(b) == 2 else ()
    bound(case, k, case.input("T1", a, "normal"), case.input("T2", b))
    scale(case, each)
    zero_point(case, "T2", shape=each)
    if case.maybe():
        case.input("T1", (n,), "normal")


@recipe("com.microsoft:QGemm")
def qgemm(case):
    m, k, n = (max(1, e) for e in extents(case))
    turned = [case.attr(name, case.dim(0, 1), 0.7) for name in ("transA", "transB")]
    case.attr("alpha", case.pick(0.5, 1.0), 0.4)
    each = (n,) if case.maybe(0.3) else ()
    for variable, shape, per in (("TA", (k, m) if turned[0] else (m, k), ()), ("TB", (n, k) if turned[1] else (k, n), each)):
        case.input(variable, shape)
        scale(case, per)
        case.input(variable, per, "small")
    if case.maybe(0.6):
        case.input("TC", case.pick((n,), (m, n), (1, n)), "normal")
    else:
        case.skip()
    if case.maybe(0.7):
        scale(case)
        case.input("TYZ", (), "small")
        case.output_types[0] = ""
    else:
        case.output_types[0] = "tensor(float)"


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


@recipe("com.microsoft:MatMulNBits")
def mat_mul_nbits(case):
    bits, block = case.pick(2, 4, 4, 4, 8), case.pick(16, 32, 64, 128)
    m, k, n = case.dim(1, 5), case.pick(16, 32, 64, 128, 40, 100, 256), case.pick(1, 3, 8, 16, 17, 33)
    blocks = -(-k // block)
    case.attr("K", k), case.attr("N", n), case.attr("bits", bits, 1 if bits != 4 else 0.5), case.attr("block_size", block)
    case.attr("accuracy_level", case.pick(0, 1, 4), 0.5)
    a = case.input("T1", (*case.extents(0, 1, 3), m, k), "normal", constant=False)
    fixed = case.maybe(0.8)
    case.give(case.numbers.array(2, (n, blocks, block * bits // 8)), fixed)
    s = case.input("T1", case.pick((n, blocks), (n * blocks,)), "unit", fixed)
    if case.maybe():
        packed = -(-blocks * bits // 8)
        if case.maybe(0.7) or "T3" not in case.version.types:
            case.give(case.numbers.array(2, case.pick((n, packed), (n * packed,))), fixed)
        else:
            case.give(case.numbers.array(case.elem("T1"), (n, blocks), "normal"), fixed)
    else:
        case.skip()
    if case.maybe(0.2):
        order = np.arange(k, dtype=np.int32) // block
        case.give(case.numbers.generator.permutation(order) if case.maybe() else order, fixed)
    else:
        case.skip()
    if case.maybe(0.4):
        case.input("T1", (n,), "normal")
    case.scale = k * magnitude(a) * magnitude(s) * 2 ** bits


@recipe("com.microsoft:MatMulBnb4")
def mat_mul_bnb4(case):
    block, k, n = case.pick(16, 32, 64, 128), case.pick(16, 32, 64, 100), case.pick(1, 4, 8, 17)
    case.attr("K", k), case.attr("N", n), case.attr("block_size", block), case.attr("quant_type", case.dim(0, 1))
    a = case.input("T1", (*case.extents(0, 1, 3), case.dim(1, 5), k), "normal", constant=False)
    case.give(case.numbers.array(2, ((n * k + 1) // 2,)), True)
    case.input("T1", (-(-n * k // block),), "unit", True)
    case.scale = k * magnitude(a) * 2


