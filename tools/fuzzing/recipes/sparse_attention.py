"""Attention in which blocks of queries see some blocks of keys."""
import numpy as np

from . import recipe
from .attention import Heads, caches, int32


def block_layouts(case, count, blocks):
    """Rows and columns of layouts: each block sees itself and some of those before it, all of them, or in few cases
    none."""
    g = case.numbers.generator
    rows, columns = np.zeros((count, blocks + 1), np.int32), []
    for layout in range(count):
        seen = []
        for row in range(blocks):
            before = np.arange(row)
            own = [row] if not case.odd(0.05) else []
            seen += ([*before] if case.maybe(0.2) else [c for c in before if g.random() < 0.5]) + own
            rows[layout, row + 1] = len(seen)
        columns.append(seen)
    width = max(1, *map(len, columns))
    return rows, np.asarray([c + [0] * (width - len(c)) for c in columns], np.int32)


@recipe("com.microsoft:SparseAttention")
def sparse_attention(case):
    h = Heads(case, even=True)
    rotary = case.attr("do_rotary", case.dim(0, 1), 0.5)
    h.size = case.pick(16, 32) if rotary else case.pick(8, 16)
    case.attr("num_heads", h.heads), case.attr("kv_num_heads", h.kv), case.attr("scale", 0.5, 0.3)
    case.attr("rotary_interleaved", case.dim(0, 1), 0.4)
    block, blocks = case.pick(1, 2, 4, 16), case.dim(1, 5)
    case.attr("sparse_block_size", block)
    most = block * blocks
    prompt = case.maybe()
    length = case.dim(1, most) if prompt else case.pick(1, 1, case.dim(1, most))
    total = length if prompt else case.dim(length, most)
    g = case.numbers.generator
    lengths = np.full(h.batch, total) if prompt or case.maybe() else g.integers(length, total + 1, h.batch)
    if case.maybe(0.3):
        case.input("T", (h.batch, length, (h.heads + 2 * h.kv) * h.size), "normal", False), case.skip(), case.skip()
    else:
        case.input("T", (h.batch, length, h.heads * h.size), "normal", False)
        for _ in range(2):
            case.input("T", (h.batch, length, h.kv * h.size), "normal", False)
    capacity = most + case.dim(0, 3)
    for _ in range(2):
        case.input("T", (h.batch, h.kv, capacity, h.size), "normal", False)
    for array in block_layouts(case, case.pick(*[n for n in (1, 2, 3) if h.heads % n == 0]), blocks):
        int32(case, array)
    int32(case, [total]), int32(case, lengths)
    if rotary:
        caches(case, "T", most + case.dim(0, 2), case.pick(8, h.size // 2))
    case.shared = {1: 3, 2: 4}
    case.want(True, True, True)
