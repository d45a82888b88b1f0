"""Attention, positions and caches."""
import numpy as np

import numbers_of
import schemas

from . import recipe


class Heads:
    """Extents of attention: batch, heads of queries and of keys, sizes of heads, lengths."""

    def __init__(self, case, grouped=True, even=False):
        self.batch = case.dim(1, 3)
        self.kv = case.dim(1, 3)
        self.heads = self.kv * (case.pick(1, 1, 2, 3) if grouped else 1)
        self.size = case.pick(2, 4, 8, 16) if even else case.pick(1, 2, 4, 5, 8, 16)
        self.value_size = self.size if case.maybe(0.7) else case.pick(2, 4, 8)
        self.queries, self.keys = case.dim(1, 5), case.dim(1, 7)
        self.past = case.pick(0, 0, case.dim(1, 6))


def bias(case, variable, *shapes):
    """An additive mask with some elements of minus infinity, but with no row of minus infinity alone."""
    array = case.numbers.array(case.elem(variable) if isinstance(variable, str) else variable, case.r.choice(shapes), "normal")
    return case.give(array)


def shown(mask):
    """A mask that leaves at least one key to each query: if all scores of a query are masked, its softmax depends on how -10000 was added to them."""
    mask[..., -1] = 1
    return mask


def int32(case, values):
    return case.give(np.asarray(values, np.int32))


@recipe("Attention")
def attention(case):
    h = Heads(case)
    flat = case.maybe(0.4)
    if flat:
        case.attr("q_num_heads", h.heads), case.attr("kv_num_heads", h.kv)
    case.attr("is_causal", case.dim(0, 1), 0.4)
    case.attr("scale", case.pick(0.5, 1.0), 0.3)
    case.attr("softcap", case.pick(0.0, 2.0), 0.3)
    case.attr("qk_matmul_output_mode", case.dim(0, 3), 0.3)
    case.attr("left_window_size", case.dim(0, 4), 0.3), case.attr("right_window_size", case.dim(0, 4), 0.2)
    wide = lambda heads, length, size: (h.batch, length, heads * size) if flat else (h.batch, heads, length, size)  # noqa: E731
    case.input("T1", wide(h.heads, h.queries, h.size), "normal")
    case.input("T1", wide(h.kv, h.keys, h.size), "normal")
    case.input("T2", wide(h.kv, h.keys, h.value_size), "normal")
    total = h.keys + h.past
    if case.maybe(0.5):
        of = case.elem("U")
        shapes = ((h.queries, total), (1, 1, h.queries, total), (h.batch, 1, h.queries, total), (h.batch, h.heads, h.queries, total), (h.batch, h.heads, 1, total))
        mask = case.numbers.array(of, case.r.choice(shapes), "normal")
        if of == 9:
            mask[..., 0] = True  # no row is masked completely
        case.give(mask)
    else:
        case.skip()
    if h.past:
        case.input("T1", (h.batch, h.kv, h.past, h.size), "normal")
        case.input("T2", (h.batch, h.kv, h.past, h.value_size), "normal")
    both = bool(h.past) or case.maybe(0.3)
    case.want(True, both, both, case.maybe(0.3))


def caches(case, variable, positions, size):
    for _ in range(2):
        case.input(variable, (positions, size), "unit")


@recipe("RotaryEmbedding com.microsoft:RotaryEmbedding")
def rotary_embedding(case):
    ms = bool(case.operator.domain)
    h = Heads(case, even=True)
    length, most = h.queries, h.queries + case.dim(0, 5)
    flat = case.maybe()
    part = case.attr("rotary_embedding_dim", h.size // 2, 0.2) if h.size >= 4 else None
    if part or flat:
        case.attr("num_heads", h.heads)
    case.attr("interleaved", case.dim(0, 1), 0.6)
    size = (part or h.size) // 2
    case.input("T", (h.batch, length, h.heads * h.size) if flat else (h.batch, h.heads, length, h.size), "normal")
    positions = np.asarray(case.numbers.generator.integers(0, most - length + 1, (h.batch, 1)) + np.arange(length), np.int64)
    if ms:
        case.give(positions if case.maybe(0.7) else positions[0, :1])
        caches(case, "T", most, size)
    elif case.maybe():
        caches(case, "T", most, size)
        case.give(positions)
    else:
        for _ in range(2):
            case.input("T", (h.batch, length, size), "unit")


@recipe("com.microsoft:MRotaryEmbedding")
def mrotary(case):
    h = Heads(case, even=True)
    half = h.size // 2
    first = case.r.randint(0, half)
    case.attr("mrope_section", [first, 0, half - first]), case.attr("num_heads", h.heads), case.attr("interleaved", case.dim(0, 1), 0.3)
    case.input("T", (h.batch, h.queries, h.heads * h.size), "normal")
    case.give(case.numbers.generator.integers(0, 8, (3, h.batch, h.queries)).astype(np.int64))
    caches(case, "T", 8, half)


@recipe("com.microsoft:Attention")
def ms_attention(case):
    quantised = case.operator.name == "QAttention"
    h = Heads(case, grouped=False)
    hidden, width = h.heads * h.size, case.pick(4, 8, 16)
    case.attr("num_heads", h.heads)
    unidirectional = case.attr("unidirectional", case.dim(0, 1), 0.4)
    case.attr("scale", 0.5, 0.2), case.attr("mask_filter_value", -1000.0, 0.2)
    values = hidden
    if not quantised and not h.past and case.maybe(0.2):
        values = h.heads * h.value_size
        case.attr("qkv_hidden_sizes", [hidden, hidden, values])
    variable = "T1" if quantised else "T"
    case.input(variable, (h.batch, h.queries, width), "normal")
    case.input("T2" if quantised else "T", (width, 2 * hidden + values), "normal", constant=case.maybe(0.7))
    of = "T3" if quantised else "T"
    case.input(of, (2 * hidden + values,), "normal")
    if quantised:
        for _ in range(2):
            case.give(np.asarray(case.r.uniform(0.005, 0.03), np.float32))
    total = h.queries + h.past
    if case.maybe(0.4):
        kind = case.dim(0, 2)
        g = case.numbers.generator
        int32(case, g.integers(1, total + 1, h.batch) if kind == 0 else shown(g.integers(0, 2, (h.batch, total))) if kind == 1 else
              shown(g.integers(0, 2, (h.batch, h.queries, total))))
    else:
        case.skip()
    if quantised:
        case.input("T1", (), "small"), case.input("T2", (), "small")
    if h.past:
        case.input(of, (2, h.batch, h.heads, h.past, h.size), "normal")
    elif not quantised:
        case.skip()
    if not quantised and case.maybe(0.3) and (not h.past or case.odd()):
        bias(case, "T", (h.batch, h.heads, h.queries, total), (1, h.heads, h.queries, total), (1, 1, h.queries, total))
    del unidirectional
    case.want(True, bool(h.past) or case.maybe(0.3))


def packed_or_apart(case, h, packed):
    """Adds query, key and value of MultiHeadAttention as three inputs, or packed into fewer as `packed` names it."""
    hidden = h.heads * h.size
    if packed == "qkv":
        case.input("T", (h.batch, h.queries, h.heads, 3, h.size), "normal"), case.skip(), case.skip()
    elif packed == "kv":
        case.input("T", (h.batch, h.queries, hidden), "normal"), case.input("T", (h.batch, h.keys, h.heads, 2, h.size), "normal"), case.skip()
    elif packed == "cross":
        case.input("T", (h.batch, h.queries, hidden), "normal")
        case.input("T", (h.batch, h.heads, h.keys, h.size), "normal"), case.input("T", (h.batch, h.heads, h.keys, h.value_size), "normal")
    else:
        case.input("T", (h.batch, h.queries, hidden), "normal"), case.input("T", (h.batch, h.keys, hidden), "normal")
        case.input("T", (h.batch, h.keys, h.heads * h.value_size), "normal")


@recipe("com.microsoft:MultiHeadAttention")
def multi_head_attention(case):
    h = Heads(case, grouped=False)
    packed = case.pick(*[""] * 6, "qkv", "kv", "cross", "cross")
    if (packed or h.past) and not case.odd():
        h.value_size = h.size
    if packed == "qkv":
        h.keys = h.queries
    if packed:
        h.past = 0
    case.attr("num_heads", h.heads), case.attr("scale", 0.5, 0.2), case.attr("mask_filter_value", -1000.0, 0.2)
    case.attr("unidirectional", case.dim(0, 1), 0.3)
    packed_or_apart(case, h, packed)
    total = h.keys + h.past
    case.input("T", (h.heads * (2 * h.size + h.value_size),), "normal") if case.maybe(0.4) and packed in ("", "qkv") else case.skip()
    if case.maybe(0.3):
        g = case.numbers.generator
        int32(case, case.pick(g.integers(1, total + 1, h.batch), shown(g.integers(0, 2, (h.batch, total))), shown(g.integers(0, 2, (h.batch, h.queries, total)))))
    else:
        case.skip()
    if case.maybe(0.3):
        bias(case, "T", (h.batch, h.heads, h.queries, total), (1, h.heads, h.queries, total), (1, 1, h.queries, total))
    else:
        case.skip()
    if h.past:
        case.input("T", (h.batch, h.heads, h.past, h.size), "normal"), case.input("T", (h.batch, h.heads, h.past, h.value_size), "normal")
    both = bool(h.past) or case.maybe(0.3)
    case.want(True, both, both)


def beams(case, h, longest):
    """The beam width and the table of beams; the batch has all beams of each entry."""
    entries, width = h.batch, case.pick(1, 2, 3)
    h.batch *= width
    table = case.numbers.generator.integers(0, width, (entries, width, longest))
    return [width], table


@recipe("com.microsoft:DecoderMaskedMultiHeadAttention")
def decoder_attention(case):
    h = Heads(case, grouped=False)
    kind = case.pick(*["shared"] * 6, *["cross"] * 3, "grown")
    h.past = case.dim(0, 6) if kind == "shared" else case.dim(1, 6) if kind == "grown" else 0
    most, total = h.past + case.dim(1, 4), h.keys if kind == "cross" else h.past + 1
    width, table = beams(case, h, most) if kind == "shared" and case.maybe() else (None, None)
    if not case.odd():
        h.value_size = h.size
    hidden, values = h.heads * h.size, h.heads * h.value_size
    case.attr("num_heads", h.heads), case.attr("scale", 0.5, 0.2), case.attr("mask_filter_value", -1000.0, 0.3)
    case.attr("past_present_share_buffer", int(kind == "shared"), 1 if kind == "shared" else 0.3)
    packed = kind != "cross" and case.maybe(0.08)
    if kind == "cross":
        case.input("T", (h.batch, 1, hidden), "normal"), case.input("T", (h.batch, h.heads, h.keys, h.size), "normal")
        case.input("T", (h.batch, h.heads, h.keys, h.value_size), "normal")
    elif packed:
        case.input("T", (h.batch, 1, 2 * hidden + values), "normal"), case.skip(), case.skip()
    else:
        case.input("T", (h.batch, 1, hidden), "normal"), case.input("T", (h.batch, 1, hidden), "normal"), case.input("T", (h.batch, 1, values), "normal")
    int32(case, shown(case.numbers.generator.integers(0, 2, (h.batch, total)))) if case.maybe(0.4) else case.skip()
    if case.maybe(0.3):
        bias(case, "T", (h.batch, h.heads, 1, total), (1, h.heads, 1, total), (1, 1, 1, total))
    else:
        case.skip()
    if kind != "cross":
        for size in (h.size, h.value_size):
            case.input("T", (h.batch, h.heads, most if kind == "shared" else h.past, size), "normal", constant=False)
    else:
        case.skip(), case.skip()
    int32(case, [h.past]) if kind == "shared" else case.skip()
    for value in (width, table):
        case.skip() if value is None else int32(case, value)
    case.input("T", (2 * hidden + values,), "normal") if case.maybe(0.3) else case.skip()
    if kind == "shared":
        case.shared = {1: 5, 2: 6}
    products = case.attr("output_qk", 1, 0.3 if kind == "cross" else 0)
    case.want(True, kind != "cross", kind != "cross", bool(products))
    case.output_types[3] = f"tensor({schemas.NAMES[case.elem('T')]})"


class Cache:
    """What GroupQueryAttention does to the caches of a batch: the tokens of each entry before the step (`past`), those that it appends
    (`fresh`), and the rows of the caches. `chunk`: query_seqlens tells how many rows are valid; `window`: the cache has the last rows."""

    def __init__(self, case, h):
        self.kind = case.pick("all", "all", "all", "chunk", "chunk", "window")
        g, self.window, self.shares = case.numbers.generator, 0, False
        self.chunk = self.kind == "chunk" or (self.kind == "window" and case.maybe())
        self.length = h.queries if self.chunk or self.kind == "window" or case.maybe() else 1
        if self.kind == "all":
            self.prompt = self.length > 1 or case.maybe(0.1)
            before = 0 if self.prompt else h.past
            total = np.full(h.batch, self.length + before)
            if not self.prompt and case.maybe():
                total = g.integers(self.length, self.length + before + 1, h.batch)
            self.total, self.longest, self.fresh = total, self.length + before, np.full(h.batch, self.length)
            self.shares = case.maybe(0.3)  # the caller's cache, which is longer than what it holds
            self.rows = self.longest + 2 if self.shares else before + (case.number % 3 if before else 0)
            return
        if self.kind == "window" and not self.chunk:
            h.batch = 1 if self.length > 1 else h.batch
        self.fresh = g.integers(0, self.length + 1, h.batch) if self.chunk else np.full(h.batch, self.length)
        before = g.integers(1, 7 if self.kind == "chunk" else 12, h.batch)
        self.total = before + self.fresh
        self.longest = int(max(self.total.max(), self.length))
        if self.chunk:
            self.longest += case.dim(0, 3)
        if self.kind == "chunk":
            self.rows = max(int(before.max()) + self.length, self.longest)
            self.shares = case.maybe(0.3)
        else:
            self.window = case.attr("local_window_size", case.dim(1, 4))
            case.attr("sliding_window_cache", 1)
            self.rows = self.window + case.dim(0, 4)

    def held(self, total):
        """Rows that the cache holds after `total` tokens."""
        if not self.window or total <= self.rows:
            return total
        step = self.rows - self.window + 1
        return total - step * -(-(total - self.rows) // step)

    def mark(self, case, h, stored):
        """Says which elements of the outputs are undefined."""
        rows = max(self.rows, 0 if self.window else self.longest)
        for output in (1, 2) if self.kind != "all" else ():
            where = np.zeros((h.batch, h.kv, rows, stored), bool)
            for b, total in enumerate(self.total):
                where[b, :, self.held(int(total)):] = True
            case.undefined[output] = where
        if self.kind != "all":
            where = np.zeros((h.batch, self.length, h.heads * h.size), bool)
            for b, fresh in enumerate(self.fresh):
                where[b, int(fresh):] = True
            case.undefined[0] = where


def codes_of_caches(case, h):
    """(type of the caches, elements of a row, scales) of quantised caches."""
    bits, mode = case.pick(4, 8), case.pick("PER_TENSOR", "PER_CHANNEL")
    case.attr("k_quant_type", mode), case.attr("v_quant_type", mode), case.attr("kv_cache_bit_width", bits)
    shape = (1,) if mode == "PER_TENSOR" else (1, h.kv, 1, h.size)
    scales = [case.numbers.generator.uniform(0.02, 0.5, shape).astype(np.float32) for _ in range(2)]
    return (2 if bits == 4 else 3), h.size * bits // 8, scales


@recipe("com.microsoft:GroupQueryAttention")
def group_query_attention(case):
    h = Heads(case, even=True)
    rotary = case.attr("do_rotary", case.dim(0, 1), 0.6)
    h.size = case.pick(16, 32) if rotary else case.pick(8, 16)
    case.attr("num_heads", h.heads), case.attr("kv_num_heads", h.kv), case.attr("scale", 0.5, 0.2)
    case.attr("rotary_interleaved", case.dim(0, 1), 0.4), case.attr("local_window_size", case.dim(1, 4), 0.3)
    case.attr("softcap", 5.0, 0.2), case.attr("smooth_softmax", case.dim(0, 1), 0.2)
    of, cache = case.elem("T"), Cache(case, h)
    stored, scales = h.size, None
    case.chosen["T_CACHE"] = of
    if case.maybe(0.3) and (cache.rows or cache.kind != "all"):
        case.chosen["T_CACHE"], stored, scales = codes_of_caches(case, h)
    length = cache.length
    if case.maybe(0.3):
        case.input("T", (h.batch, length, (h.heads + 2 * h.kv) * h.size), "normal", False), case.skip(), case.skip()
    else:
        case.input("T", (h.batch, length, h.heads * h.size), "normal", False)
        for _ in range(2):
            case.input("T", (h.batch, length, h.kv * h.size), "normal", False)
    for _ in range(2):
        given = case.numbers.array(case.chosen["T_CACHE"], (h.batch, h.kv, cache.rows, stored), "normal")
        for row, total, fresh in zip(given, cache.total, cache.fresh):
            row[:, max(0, cache.held(int(total - fresh))):] *= 1 - int(cache.shares)  # the rest stays there and is made zeros here
        case.give(given, False)
    case.shared = {1: 3, 2: 4} if cache.shares else {}
    int32(case, cache.total - 1)
    case.give(np.asarray(cache.longest if case.maybe() else [cache.longest], np.int32))
    if rotary:
        caches(case, of, cache.longest + 3, h.size // 2)
    else:
        case.skip(), case.skip()
    case.skip()  # positions
    if case.maybe(0.2):
        bias(case, "T", (h.batch, h.heads, length, cache.longest), (1, h.heads, length, cache.longest), (1, 1, length, cache.longest))
    else:
        case.skip()
    case.input("T", (h.heads,), "normal") if case.maybe(0.2) else case.skip()
    for i in range(2):
        case.give(scales[i]) if scales else case.skip()
    case.skip(), case.skip()
    if cache.chunk:
        int32(case, cache.fresh)
    scores = cache.kind != "window" and case.maybe(0.1)
    if scores:
        case.attr("qk_output", case.dim(1, 2))
    cache.mark(case, h, stored)
    case.want(True, True, True, scores)


def block_layouts(case, count, blocks):
    """Rows and columns of layouts: each block sees itself and some of those before it, all of them, or in few cases none."""
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


@recipe("LinearAttention com.microsoft:LinearAttention")
def linear_attention(case):
    h = Heads(case)
    case.attr("q_num_heads", h.heads), case.attr("kv_num_heads", h.kv)
    rule = case.attr("update_rule", case.pick("linear", "gated", "delta", "gated_delta"))
    case.attr("scale", 0.5, 0.3), case.attr("chunk_size", case.pick(1, 2, 64), 0.4)
    first = case.version.inputs[0].type
    if "S" in case.version.types:
        case.chosen["S"] = case.elem("T")
    case.input(first, (h.batch, h.queries, h.heads * h.size), "normal")
    case.input(first, (h.batch, h.queries, h.kv * h.size), "unit")
    case.input(first, (h.batch, h.queries, h.kv * h.value_size), "normal")
    state = case.version.inputs[3].type
    case.input(state, (h.batch, h.kv, h.size, h.value_size), "normal") if case.maybe() else case.skip()
    if rule and "gated" in rule:
        width = case.pick(h.kv, h.kv * h.size)
        case.give((-np.abs(case.numbers.array(11, (h.batch, h.queries, width), "unit"))).astype(numbers_of.dtype(case.elem(first))))
    else:
        case.skip()
    if rule and "delta" in rule:
        case.input(first, (h.batch, h.queries, case.pick(h.kv, 1)), "unit")


@recipe("CausalConvWithState com.microsoft:CausalConvWithState")
def causal_conv(case):
    batch, channels, length, k = case.dim(1, 3), case.dim(1, 5), case.dim(1, 6), case.dim(1, 4)
    case.attr("activation", case.pick("none", "silu", "swish"), 0.7)
    case.attr("ndim", 1, 0.2)
    case.input("T", (batch, channels, length), "normal")
    case.input("T", (channels, 1, k), "normal")
    case.input("T", (channels,), "normal") if case.maybe() else case.skip()
    if case.maybe():
        case.input("T", (batch, channels, k - 1), "normal")
    case.want(True, True)


@recipe("com.microsoft:LinearAttentionGate")
def linear_attention_gate(case):
    heads, lead = case.dim(1, 4), (case.dim(1, 3), case.dim(1, 4))
    case.input("T", (*lead, heads), "normal"), case.input("TF", (heads,), "normal"), case.input("TF", (heads,), "normal")
    with_b = case.maybe()
    if with_b:
        case.input("T", (*lead, heads), "normal")
    case.want(True, with_b)


@recipe("com.microsoft:GatedDeltaNet")
def gated_delta_net(case):
    heads, size, values, lengths = case.dim(1, 3), case.pick(4, 8), case.pick(4, 8), [case.dim(0, 4) for _ in range(case.dim(1, 3))]
    total = max(1, sum(lengths))
    lengths[0] += total - sum(lengths)
    case.attr("update_rule", rule := case.pick("linear", "gated", "delta", "gated_delta"), 1)
    case.chosen["TG"] = case.pick(case.elem("T"), 1)
    case.attr("qk_l2_norm", case.dim(0, 1), 0.5), case.attr("scale", 0.5, 0.3)
    case.chosen["TG"] = case.pick(1, case.elem("T"))
    for width in (size, size, values):
        case.input("T", (total, heads, width), "normal")
    int32(case, np.cumsum([0, *lengths]))
    if "gated" in rule:
        case.give((-np.abs(case.numbers.array(11, (total, heads), "unit"))).astype(numbers_of.dtype(case.elem("TG"))))
    else:
        case.skip()
    case.input("TG", (total, heads), "unit") if "delta" in rule else case.skip()
    case.input("TS", (len(lengths), heads, values, size), "normal") if case.maybe() else case.skip()
    case.want(True, case.maybe())


@recipe("com.microsoft:VarlenCausalConvWithState")
def varlen_causal_conv(case):
    channels, k, lengths = case.dim(1, 5), case.dim(1, 4), [case.dim(1, 4) for _ in range(case.dim(1, 3))]
    case.attr("activation", case.pick("none", "silu", "swish"), 0.7)
    case.input("T", (sum(lengths), channels), "normal"), case.input("T", (channels, 1, k), "normal")
    int32(case, np.cumsum([0, *lengths]))
    case.input("T", (channels,), "normal") if case.maybe() else case.skip()
    case.input("T", (len(lengths), channels, k - 1), "normal")
    case.want(True, True)
