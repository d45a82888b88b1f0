"""Weights of few bits in com.microsoft."""
import numpy as np

import numbers_of

from . import recipe


def codes(case, shape):
    return case.numbers.generator.integers(0, 256, shape, np.uint8)


def scales(case, element, shape):
    """Scales of weights that are large enough for float16."""
    return case.numbers.generator.uniform(0.01, 0.5, shape).astype(numbers_of.dtype(element))


def leading(case):
    return case.r.choice(((), (1,), (2,), (3,), (5,), (9,), (2, 3), (0,), (1, 4)))


def wrong(case):
    """A small change to an extent, rarely."""
    return case.r.choice((-1, 1)) if case.maybe(0.02) else 0


@recipe("com.microsoft:MatMulNBits")
def matmul_n_bits(case):
    r, element = case.r, case.elem("T1")
    k, n = r.choice((1, 7, 16, 20, 32, 48, 64, 100, 256)), r.choice((1, 2, 3, 16, 17, 33, 40))
    bits, block = r.choice((2, 4, 4, 4, 8)), r.choice((16, 16, 32, 64, 128, 256))
    blocks, zero = -(-k // block), r.choice(("none", "packed", "real"))
    if bits == 8 and zero == "real":
        zero = "none"  # the oracle has no kernel
    groups = case.maybe(0.1)
    for name, value in (("K", k), ("N", n), ("bits", bits), ("block_size", block)):
        case.attr(name, value)
    case.attr("accuracy_level", r.choice((0, 1)), 0.5)
    case.input("T1", leading(case) + (k + wrong(case),), "normal", constant=False)
    case.give(codes(case, (n, blocks, block * bits // 8)))
    vector = case.maybe(0.1)
    case.give(scales(case, element, (n * blocks,) if vector else (n, blocks)))
    if zero == "packed":
        case.give(codes(case, (n, -(-blocks * bits // 8) + wrong(case))))
    elif zero == "real":
        case.chosen["T3"] = element
        case.input("T3", (n, blocks), "small")
    else:
        case.skip()
    if groups:
        case.give(case.numbers.generator.integers(0, blocks, k).astype(np.int32))
    else:
        case.skip()
    if case.maybe():
        case.input("T1", (n,), "normal", constant=True)
    case.scale = 40.0 * k * (2 ** bits)


@recipe("com.microsoft:MatMulBnb4")
def matmul_bnb4(case):
    r = case.r
    k, n, block = r.choice((1, 7, 16, 20, 33, 64)), r.choice((1, 2, 3, 16, 17, 40)), r.choice((16, 32, 64, 128))
    for name, value in (("K", k), ("N", n), ("block_size", block), ("quant_type", r.randint(0, 1))):
        case.attr(name, value)
    case.attr("training_mode", r.randint(0, 1), 0.3)
    transposed = case.attr("transB", 1, 0.5)
    if transposed is None and k == n and case.maybe(0.1):
        case.attr("transB", 1)
    case.input("T1", leading(case) + (k + wrong(case),), "normal")
    case.give(codes(case, ((n * k + 1) // 2,)))
    case.give(scales(case, case.elem("T1"), (-(-n * k // block),)))
    case.scale = 40.0 * k


@recipe("com.microsoft:MatMulFpQ4")
def matmul_fp_q4(case):
    r = case.r
    k, n, kind = r.choice((1, 7, 32, 40, 64, 100)), r.choice((1, 2, 3, 16, 17, 40)), r.choice((0, 1, 1))
    case.attr("blk_quant_type", kind)
    case.input("T1", leading(case) + (k + wrong(case),), "normal")
    blocks = n * -(-k // 32)
    parts = [np.frombuffer(scales(case, 1, (1,)).tobytes() + (bytes([r.randint(0, 15)]) if kind else b""), np.uint8) for _ in range(blocks)]
    blob = np.concatenate([np.concatenate([p, codes(case, (16,))]) for p in parts])
    case.give(blob)
    case.int64([k, n], constant=True)
    case.scale = 40.0 * k * 16


@recipe("com.microsoft:GatherBlockQuantized")
def gather_block_quantized(case):
    r, element = case.r, case.elem("T1")
    integer, packs = element in (2, 21, 22), element == 2
    rank = r.randint(2, 4)
    shape = [r.choice((1, 2, 3, 5, 8, 17, 33)) for _ in range(rank)]
    gather = 0 if packs and case.maybe(0.95) else r.randrange(rank)
    blocked = rank - 1 if packs and case.maybe(0.95) else r.randrange(rank)
    bits = case.attr("bits", r.choice((2, 4, 8)) if packs else 4, 0.9) or 4
    block = r.choice((16, 16, 32, 128))
    if not integer and case.maybe(0.2):
        block = 0
    case.attr("block_size", block)
    case.attr("gather_axis", gather - (rank if case.maybe(0.3) else 0))
    case.attr("quantize_axis", blocked - (rank if case.maybe(0.3) else 0))
    data = codes(case, shape) if packs else case.numbers.array(element, shape, "any")
    case.give(data, constant=None)
    extent = shape[gather]
    indices = case.numbers.generator.integers(-extent, extent, r.choice(((), (1,), (3,), (2, 2), (0,))))
    if case.maybe(0.2):
        indices = indices + r.randint(-extent - 2, extent + 2)
    case.give(np.asarray(indices).astype(numbers_of.dtype(case.elem("Tind"))))
    per = 8 // bits if packs else 1
    scale = list(shape)
    scale[blocked] = -(-shape[blocked] * per // (block or max(1, shape[blocked]))) + wrong(case)
    for axis in range(rank):
        if not integer and axis != blocked and case.maybe(0.2):
            scale[axis] = 1
    case.give(scales(case, case.elem("T2"), scale), constant=True)
    if integer and case.maybe():
        scale[blocked] = -(-scale[blocked] // per)
        case.give(codes(case, scale) if packs else case.numbers.array(element, scale, "any"), constant=True)


FORMATS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 6: (32, 22), 8: (32, 34), 13: (256, 176), 14: (256, 210), 16: (256, 66), 17: (256, 74), 18: (256, 98),
           20: (32, 18), 22: (256, 82), 23: (256, 136), 30: (1, 2), 42: (64, 18)}


@recipe("com.microsoft:GatherPacked")
def gather_packed(case):
    r = case.r
    kind = r.choice(list(FORMATS))
    block, size = FORMATS[kind]
    k = block * r.randint(1, 3)
    case.attr("packed_type", kind)
    case.attr("K", k)
    case.attr("output_dtype", case.elem("T2"))
    case.output_types[0] = {1: "tensor(float)", 10: "tensor(float16)", 16: "tensor(bfloat16)"}[case.elem("T2")]
    rows = r.choice((1, 2, 5))
    case.give(codes(case, (rows, k // block * size + wrong(case))))
    indices = case.numbers.generator.integers(-1, rows + 1, r.choice(((), (1,), (3,), (2, 2), (0,))))
    case.give(np.asarray(indices).astype(numbers_of.dtype(case.elem("Tind"))))
