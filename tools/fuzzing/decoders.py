"""Small random decoders, as graphs for the attributes of operators that search for sequences: one like GPT, with the past of each layer in
one tensor, and encoders with decoders like those of T5 and Whisper. Their logits are spread, so that no two tokens are equally likely."""
import dataclasses

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64


@dataclasses.dataclass
class Sizes:
    vocabulary: int = 24
    layers: int = 1
    heads: int = 2
    size: int = 4  # of a head
    longest: int = 40  # positions with an embedding
    features: int = 5  # of a frame of sound
    spread: float = 6.0  # of the logits
    fused: bool = False  # attention by com.microsoft.Attention in decoders like GPT
    hidden_states: bool = False  # the decoder reads the encoder's hidden states
    whole: bool = False  # the decoder reads whole sequences
    outer: bool = False  # the embedding is an initializer of the outer graph
    shared: bool = False  # caches have room for whole sequences, and an input tells how much of them is filled
    beamed: bool = False  # so do these; they stay where they are, and cache_indirection says which beam wrote a position
    cross: bool = False  # the decoder of sound returns its products of queries and keys of the encoder
    only_caches: bool = False  # the encoder does not decode the first token; that of T5 may have this form

    @property
    def width(self):
        return self.heads * self.size


class Body:
    """A graph under construction; weights are drawn from `generator`. Those of one name are drawn once for all graphs of a `weights`."""

    def __init__(self, sizes, generator, weights):
        self.s, self.generator, self.weights = sizes, generator, weights
        self.nodes, self.initializers, self.counter = [], {}, 0

    def op(self, kind, *inputs, outputs=1, name="", domain="", **attributes):
        self.counter += 1
        names = [name or f"t{self.counter}"] if outputs == 1 else [f"t{self.counter}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, values, dtype=np.int64):
        name = f"c{len(self.initializers)}"
        self.initializers[name] = np.asarray(values, dtype)
        return name

    def weight(self, name, *shape, scale=1.0):
        if name not in self.weights:
            self.weights[name] = (self.generator.standard_normal(shape) * scale / (shape[0] ** 0.5 if len(shape) > 1 else 1)).astype(np.float32)
        self.initializers[name] = self.weights[name]
        return name

    def embedding(self, ids):
        if self.s.outer:
            self.weight("embedding", self.s.vocabulary, self.s.width, scale=self.s.vocabulary ** 0.5)
            del self.initializers["embedding"]
            return self.op("Gather", "embedding", ids)
        return self.op("Gather", self.weight("embedding", self.s.vocabulary, self.s.width, scale=self.s.vocabulary ** 0.5), ids)

    def linear(self, x, name, *shape, scale=1.0):
        return self.op("MatMul", x, self.weight(name, *shape, scale=scale))

    def logits(self, x):
        return self.op("MatMul", x, self.weight("head", self.s.width, self.s.vocabulary, scale=self.s.spread), name="logits")

    def split_heads(self, x):
        """[B, S, H·D] as [B, H, S, D]."""
        return self.op("Transpose", self.op("Reshape", x, self.constant([0, 0, self.s.heads, self.s.size])), perm=[0, 2, 1, 3])

    def attend(self, q, k, v, hidden="", products=""):
        """Heads of queries, keys and values, each [B, H, ., D], to [B, S, H·D]; `hidden` is added to the scores, which are also `products`."""
        scores = self.op("Mul", self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2])), self.constant(self.s.size ** -0.5, np.float32), name=products)
        p = self.op("Softmax", self.op("Add", scores, hidden) if hidden else scores, axis=-1)
        y = self.op("Transpose", self.op("MatMul", p, v), perm=[0, 2, 1, 3])
        return self.op("Reshape", y, self.constant([0, 0, self.s.width]))

    def kept(self, past, new, name=""):
        """(the present cache, what is filled of it): `new` rows after those of `past`, both [B, H, rows, D]."""
        if not self.s.shared and not self.s.beamed:
            whole = self.op("Concat", past, new, axis=2, **({"name": name} if name else {}))
            return whole, whole
        begin, rows, room = self.op("Cast", "past_sequence_length", to=INT64), *[self.op("Gather", self.op("Shape", x), self.constant([2])) for x in (new, past)]
        end = self.op("Add", begin, rows)
        at = self.op("Range", self.constant(0), self.op("Squeeze", room), self.constant(1))
        shifted = self.op("Max", self.op("Min", self.op("Sub", at, begin), self.op("Sub", rows, self.constant([1]))), self.constant([0]))
        fresh = self.op("Unsqueeze", self.op("And", self.op("GreaterOrEqual", at, begin), self.op("Less", at, end)), self.constant([1]))
        whole = self.op("Where", fresh, self.op("Gather", new, shifted, axis=2), past, **({"name": name} if name else {}))
        return whole, self.op("Slice", whole, self.constant([0]), end, self.constant([2]))

    def attend_beams(self, q, k, v, past, present, mask=""):
        """One row of queries, keys and values, each [B, 1, H·D], beside caches of several beams, to [B, 1, H·D]."""
        inputs = [q, k, v, mask, "", *past, "past_sequence_length", "beam_width", "cache_indirection"]
        y = self.op("DecoderMaskedMultiHeadAttention", *inputs, outputs=3, domain="com.microsoft", num_heads=self.s.heads, past_present_share_buffer=1)
        for made, name in zip(y[1:], present):
            self.op("Identity", made, name=name)
        return y[0]

    def hiding(self, mask):
        """A mask of keys [B, T] as what is added to scores, [B, 1, 1, T]."""
        shown = self.op("Cast", self.op("Unsqueeze", mask, self.constant([1, 2])), to=FLOAT)
        return self.op("Mul", self.op("Sub", shown, self.constant(1, np.float32)), self.constant(10000, np.float32))

    def graph(self, name, inputs, outputs):
        made = [numpy_helper.from_array(a, n) for n, a in self.initializers.items()]
        infos = [[helper.make_tensor_value_info(n, t, dims) for n, t, dims in side] for side in (inputs, outputs)]
        return helper.make_graph(self.nodes, name, *infos, made)


def cache_inputs(sizes):
    """The inputs that caches of full length need."""
    inputs = [("past_sequence_length", INT32, [1])] if sizes.shared or sizes.beamed else []
    return inputs + ([("beam_width", INT32, [1]), ("cache_indirection", INT32, ["entries", "beams", "most"])] if sizes.beamed else [])


def gpt(sizes, generator, weights=None, first=False):
    """Inputs input_ids, position_ids, attention_mask, past_0, …; outputs logits, present_0, … `first`: for several tokens at once, which decoders
    of several beams cannot read."""
    b, s = Body(sizes, generator, {} if weights is None else weights), sizes
    x = b.op("Add", b.embedding("input_ids"), b.op("Gather", b.weight("positions", s.longest, s.width, scale=3), "position_ids"))
    past = [2, "batch", s.heads, "past", s.size]
    inputs = [("input_ids", INT32, ["batch", "rows"]), ("position_ids", INT32, ["batch", "rows"]), ("attention_mask", INT32, ["batch", "all"])]
    outputs = [("logits", FLOAT, ["batch", "rows", s.vocabulary])]
    for i in range(s.layers):
        present = f"present_{i}"
        if s.fused:
            weight, bias = b.weight(f"qkv{i}", s.width, 3 * s.width), b.weight(f"bias{i}", 3 * s.width, scale=0.3)
            y = f"y{i}"
            b.nodes.append(helper.make_node("Attention", [x, weight, bias, "attention_mask", f"past_{i}"], [y, present],
                                            domain="com.microsoft", num_heads=s.heads, unidirectional=1))
        elif s.beamed and not first:
            past_of = [b.op("Gather", f"past_{i}", b.constant(at), axis=0) for at in (0, 1)]
            names = [f"present_{part}_{i}" for part in "kv"]
            y = b.attend_beams(*[b.linear(x, f"{n}{i}", s.width, s.width) for n in "qkv"], past_of, names, "attention_mask")
            b.op("Concat", *[b.op("Unsqueeze", n, b.constant([0])) for n in names], axis=0, name=present)
        else:
            q, k, v = [b.split_heads(b.linear(x, f"{n}{i}", s.width, s.width)) for n in "qkv"]
            kept = [b.kept(b.op("Gather", f"past_{i}", b.constant(at), axis=0), new) for at, new in enumerate((k, v))]
            b.op("Concat", *[b.op("Unsqueeze", whole, b.constant([0])) for whole, _ in kept], axis=0, name=present)
            y = b.attend(q, *[filled for _, filled in kept], b.hiding("attention_mask"))
        x = b.op("Add", x, b.linear(y, f"out{i}", s.width, s.width))
        inputs.append((f"past_{i}", FLOAT, past))
        outputs.append((present, FLOAT, [2, "batch", s.heads, "past" if s.shared or s.beamed else "all", s.size]))
    inputs += cache_inputs(s)
    b.logits(x)
    return b.graph("decoder", inputs, outputs)


def caches(kind, sizes, rows, batch="batch"):
    """(name, type, extents) of keys and values of all layers: past_key_self_0, past_value_self_0, …"""
    return [(f"{kind[0]}_{part}_{kind[1]}_{i}", FLOAT, [batch, sizes.heads, rows, sizes.size]) for i in range(sizes.layers) for part in ("key", "value")]


def decoder_layers(b, x, crossed, past=None, hidden=""):
    """The layers of a decoder after an encoder; `crossed` are the names of keys and values of the encoder, `past` of those before."""
    for i in range(b.s.layers):
        q, *new = [b.linear(x, f"self_{n}{i}", b.s.width, b.s.width) for n in "qkv"]
        names = [f"present_{part}_self_{i}" for part in ("key", "value")]
        if b.s.beamed and past:
            y = b.attend_beams(q, *new, past[2 * i:2 * i + 2], names)
        else:
            q, *new = map(b.split_heads, (q, *new))
            kept = [b.kept(past[2 * i + at], row, name)[1] if past else b.op("Identity", row, name=name) for at, (name, row) in enumerate(zip(names, new))]
            y = b.attend(q, *kept)
        x = b.op("Add", x, b.linear(y, f"self_out{i}", b.s.width, b.s.width))
        q = b.split_heads(b.linear(x, f"cross_q{i}", b.s.width, b.s.width))
        products = f"output_cross_qk_{i}" if b.s.cross and past else ""
        x = b.op("Add", x, b.linear(b.attend(q, crossed[2 * i], crossed[2 * i + 1], hidden, products), f"cross_out{i}", b.s.width, b.s.width))
    return x


def encoder(sizes, generator, weights, sound=False):
    """With `sound` like Whisper's, else like T5's."""
    b, s = Body(sizes, generator, weights), sizes
    if sound:
        inputs = [("encoder_input_ids", FLOAT, ["batch", s.features, "frames"]), ("decoder_input_ids", INT32, ["batch", "rows"])]
        x = b.linear(b.op("Transpose", "encoder_input_ids", perm=[0, 2, 1]), "features", s.features, s.width)
    else:
        inputs = [(n, INT32, ["batch", "frames"]) for n in ("encoder_input_ids", "encoder_attention_mask")]
        inputs += [] if s.only_caches else [("decoder_input_ids", INT32, ["batch", 1])]
        x = b.embedding("encoder_input_ids")
    hidden = "" if sound else b.hiding("encoder_attention_mask")
    b.op("Tanh", b.linear(b.attend(*[b.split_heads(b.linear(x, f"encoder_{n}", s.width, s.width)) for n in "qkv"], hidden), "encoder_out", s.width, s.width),
         name="encoder_hidden_states")
    crossed = []
    for i in range(s.layers):
        for part in ("key", "value"):
            y = b.linear("encoder_hidden_states", f"cross_{part}{i}", s.width, s.width)
            y = b.op("Reshape", y, b.constant([0, 0, s.heads, s.size]))
            crossed.append(b.op("Transpose", y, perm=[0, 2, 1, 3], name=f"present_{part}_cross_{i}"))
    if s.only_caches:
        return b.graph("encoder", inputs, caches(("present", "cross"), s, "frames"))
    b.logits(decoder_layers(b, b.embedding("decoder_input_ids"), crossed, hidden=hidden))
    rows = "rows" if sound else 1
    outputs = [("logits", FLOAT, ["batch", rows, s.vocabulary]), ("encoder_hidden_states", FLOAT, ["batch", "frames", s.width]),
               *caches(("present", "self"), s, rows), *caches(("present", "cross"), s, "frames")]
    return b.graph("encoder", inputs, outputs)


def decoder(sizes, generator, weights, sound=False):
    b, s = Body(sizes, generator, weights), sizes
    rows = "rows" if s.whole else 1
    inputs = [("input_ids", INT32, ["batch", rows])]
    inputs += [] if sound else [("encoder_attention_mask", INT32, ["batch", "frames"])]
    if s.hidden_states or sound and not s.whole:  # official ONNX Runtime passes a decoder of sound only their shape
        inputs += [("encoder_hidden_states", FLOAT, ["batch", "frames", s.width])]
    past, crossed = caches(("past", "self"), s, "past"), caches(("past", "cross"), s, "frames")
    inputs += past + crossed + cache_inputs(s)
    x = b.embedding("input_ids")
    if s.whole:  # only the last token is new, but the number of all of them counts
        count = b.op("Cast", b.op("Gather", b.op("Shape", "input_ids"), b.constant([1])), to=FLOAT)
        first, last = [b.op("Slice", x, b.constant([begin]), b.constant([end]), b.constant([1])) for begin, end in ((0, 1), (-1, np.iinfo(np.int64).max))]
        x = b.op("Add", last, b.op("Mul", first, b.op("Div", count, b.constant(20, np.float32))))
    if s.hidden_states and not sound:
        x = b.op("Add", x, b.op("ReduceSum", "encoder_hidden_states", b.constant([1])))
    x = decoder_layers(b, x, [n for n, *_ in crossed], [n for n, *_ in past], "" if sound else b.hiding("encoder_attention_mask"))
    b.logits(x)
    outputs = [("logits", FLOAT, ["batch", 1, s.vocabulary]), *caches(("present", "self"), s, "past" if s.shared or s.beamed else "all")]
    outputs += [(f"output_cross_qk_{i}", FLOAT, ["batch", s.heads, 1, "frames"]) for i in range(s.layers) if s.cross]
    return b.graph("decoder", inputs, outputs)


def pair(sizes, generator, sound=False):
    """{attribute: graph} of an encoder and a decoder with common weights; and those weights."""
    weights = {}
    return {"encoder": encoder(sizes, generator, weights, sound), "decoder": decoder(sizes, generator, weights, sound)}, weights
