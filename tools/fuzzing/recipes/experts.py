"""Mixtures of experts."""
import numpy as np

import numbers_of

from . import recipe

GATED = ("swiglu", "geglu")


def common(case):
    """(tokens, experts, hidden, inner, rows of the first layer for each of inner)."""
    r = case.r
    activation = r.choice(("relu", "gelu", "silu", "identity", "swiglu", "swiglu"))
    experts = r.choice((1, 2, 3, 4, 8))
    case.attr("activation_type", activation)
    case.attr("k", r.randint(1, experts) + (1 if case.maybe(0.02) else 0))
    case.attr("normalize_routing_weights", r.randint(0, 1), 0.6)
    fusion = 1 if activation in GATED else 0  # the oracle reads memory that it has not written if others are fused
    if activation in GATED and case.maybe(0.1):
        fusion = r.choice((0, 2))
    case.attr("swiglu_fusion", fusion)
    case.attr("activation_alpha", r.choice((1.0, 1.702, 0.5)), 0.5)
    case.attr("activation_beta", r.choice((0.0, 1.0)), 0.5)
    case.attr("swiglu_limit", r.choice((0.5, 7.0)), 0.4)
    tokens = r.choice(((1,), (3,), (7,), (2, 3), (1, 1), (0,)))
    return tokens, experts, 2 if activation in GATED and fusion else 1


def greatest(array):
    """The greatest magnitude; 0 for no array."""
    return 0.0 if array is None else float(np.abs(array.astype(np.float64)).max(initial=0))


def bound(case, x, layers, shares=1.0):
    """A bound of the sums of magnitudes behind an output. `layers`: (magnitudes of the weights, biases or None) of the
    first and the second."""
    (first, first_bias), (second, second_bias) = [(w.astype(np.float64), b) for w, b in layers]
    sums = greatest(np.abs(x.reshape(-1, x.shape[-1]).astype(np.float64)) @ np.abs(first.reshape(-1, first.shape[-1])).T) + greatest(first_bias)
    if case.attributes["activation_type"] in GATED:
        most = min(sums, case.attributes.get("swiglu_limit", np.inf))
        sums = most * (most + case.attributes.get("activation_beta", 0.0))
    return shares * (sums * float(np.abs(second).sum(-1).max(initial=0)) + greatest(second_bias)) or 1.0


def router(case, tokens, experts, kind="normal"):
    case.input("T", (int(np.prod(tokens)), experts), kind)


@recipe("com.microsoft:MoE")
def moe(case):
    tokens, experts, fused = common(case)
    hidden, inner = case.r.choice((4, 8, 16, 17, 32)), case.r.choice((4, 8, 16, 17, 32))
    x, layers = case.input("T", (*tokens, hidden), "normal"), []
    router(case, tokens, experts, "small" if case.maybe(0.2) else "normal")
    for rows, columns in ((fused * inner, hidden), (hidden, inner)):
        weights = case.input("T", (experts, rows + (1 if case.maybe(0.01) else 0), columns), "normal")
        layers.append((weights, case.input("T", (experts, rows), "normal") if case.maybe() else case.skip()))
    case.scale = bound(case, x, layers)


@recipe("com.microsoft:QMoE")
def q_moe(case):
    r = case.r
    tokens, experts, fused = common(case)
    hidden, inner = r.choice((32, 64)), r.choice((32, 64))
    block = case.attr("block_size", r.choice((16, 32)), 0.5)
    triples = fused == 2 and case.elem("T") in (10, 16) and case.maybe(0.3)  # what the schema says of 3 bits
    bits = 3 if triples else r.choice((2, 4, 4, 8))
    if triples:
        block = case.attr("block_size", 32)
        case.attr("swiglu_fusion", 1)
    case.attr("expert_weight_bits", bits)
    case.attr("weights_prepacked", 0, 1.0 if triples else 0.5)
    x, layers = case.input("T", (*tokens, hidden), "normal"), []
    router(case, tokens, experts)
    generator, element = case.numbers.generator, case.elem("T") if triples else case.elem("T2", "float", "float16")
    zeros = []
    for rows, columns in ((fused * inner, hidden), (hidden, inner)):
        case.give(generator.integers(0, 256, (experts, rows, columns * bits // 8), np.uint8))
        shape = (experts, rows, columns // block) if block else (experts, rows)
        scales = case.give(generator.uniform(0.01, 0.2, shape).astype(numbers_of.dtype(element)))
        weights = np.repeat(scales if block else scales[..., None], block or columns, -1)
        layers.append((weights.astype(np.float64) * (1 << bits), case.input("T", (experts, rows), "normal") if case.maybe() else case.skip()))
        zeros.append((experts, rows, -(-columns // block * bits // 8)) if block else (experts, -(-rows * bits // 8)))
    for _ in range(3):
        case.skip()
    if case.maybe() and not triples:
        for shape in zeros:
            case.give(generator.integers(0, 256, shape, np.uint8))
        case.skip()
    else:
        for _ in range(3):
            case.skip()
    shares = case.input("T", (int(np.prod(tokens)), experts), "unit") if case.maybe(0.2) else None
    case.scale = bound(case, x, layers, case.attributes["k"] if shares is not None and not case.attributes.get("normalize_routing_weights") else 1)
    if bits in (2, 8) and block:
        case.scale *= 2.0 ** 23 / 254  # the oracle rounds the inputs of this product to 8 bits


@recipe("com.microsoft:MoEGroupRouter")
def moe_group_router(case):
    r = case.r
    groups, size = r.choice((1, 1, 2, 4)), r.choice((1, 2, 4, 8))
    experts = groups * size
    kept = r.randint(1, groups)
    case.attr("n_group", groups, 1 if groups > 1 else 0.5)
    case.attr("topk_group", kept, 1 if kept > 1 else 0.5)
    case.attr("group_topk", r.randint(1, 3), 0.5)
    case.attr("top_k", r.randint(1, kept * size) + (1 if case.maybe(0.03) else 0))
    case.attr("router_sentinel", r.choice((-1.0, -50000.0)), 0.3)
    full = groups == 1 and case.maybe(0.4)
    projects = full and case.maybe(0.4)
    leading = r.choice(((1,), (3,), (2, 3), (0,)))
    # Below -18, the oracle's sigmoid is 0.
    case.input("T", (leading[0], 256) if projects else (*leading, experts), "small" if case.maybe(0.5) else "unit")
    case.input("float", (experts,), "small" if case.maybe(0.2) else "normal")
    if projects:
        case.input("T", (experts, 256), "normal")
        case.scale = 256.0
    case.want(not full, full, full)
