"""Models of one attention each, with inputs: odd lengths, masks, windows, caches, and what exporters write.

cases() yields Case(name, model, inputs, rule): `rule` is the largest difference allowed, relative to the largest value.
"""
import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
RULES = {"f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}


@dataclasses.dataclass
class Case:
    name: str
    model: onnx.ModelProto
    inputs: dict
    rule: float


class Maker:
    """Builds the model of a case around one node or several. Floats enter as float32 and are cast to the type, so that
    all types have the same inputs."""

    def __init__(self, name, kind, seed=0):
        self.name, self.kind = name, kind
        self.rng = np.random.default_rng(seed or sum(map(ord, name)))
        self.nodes, self.feeds, self.fixed, self.results = [], {}, [], []

    def floats(self, name, *shape, scale=1.0, values=None):
        x = (self.rng.standard_normal(shape) * scale).astype(np.float32) if values is None else values.astype(np.float32)
        if self.kind == "f32":
            self.feeds[name] = x
        else:
            self.feeds[name + "_f32"] = x
            self.nodes.append(helper.make_node("Cast", [name + "_f32"], [name], to=TYPES[self.kind]))
        return name

    def given(self, name, values):
        self.feeds[name] = values
        return name

    def constant(self, name, values):
        self.fixed.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def number(self, name, value):
        """A scalar constant of the type."""
        self.fixed.append(helper.make_tensor(name, TYPES[self.kind], [], [value]))
        return name

    def node(self, op, inputs, outputs, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def result(self, *names):
        for name in names:
            if not name:
                continue
            self.results.append(name if self.kind == "f32" else name + "_f32")
            if self.kind != "f32":
                self.nodes.append(helper.make_node("Cast", [name], [name + "_f32"], to=TensorProto.FLOAT))

    def case(self, opset=23, rule=None):
        types = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int32): TensorProto.INT32,
                 np.dtype(np.int64): TensorProto.INT64, np.dtype(bool): TensorProto.BOOL}
        graph = helper.make_graph(
            self.nodes, "g",
            [helper.make_tensor_value_info(n, types[x.dtype], x.shape) for n, x in self.feeds.items()],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in self.results], self.fixed)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
        return Case(f"{self.name}_{self.kind}", model, self.feeds, rule or RULES[self.kind])


def onnx_attention(name, kind, *, b=2, h=3, hk=None, s=5, t=7, d=16, dv=None, past=0, mask=None, packed=False, valid=None,
                   presents=False, opset=23, **attributes):
    m = Maker(name, kind)
    hk, dv = hk or h, dv or d
    shape = (lambda n, rows, size: (b, rows, n * size)) if packed else (lambda n, rows, size: (b, n, rows, size))
    inputs = [m.floats("q", *shape(h, s, d)), m.floats("k", *shape(hk, t, d)), m.floats("v", *shape(hk, t, dv)), "", "", "", ""]
    if mask == "bool":
        values = m.rng.random((s, past + t)) < 0.7
        values[0] = False
        inputs[3] = m.given("mask", values)
    elif mask:
        inputs[3] = m.floats("mask", *mask)
    if past:
        inputs[4], inputs[5] = m.floats("pk", b, hk, past, d), m.floats("pv", b, hk, past, dv)
    if valid is not None:
        inputs[6] = m.given("valid", np.array(valid, np.int64))
    while not inputs[-1]:
        inputs.pop()
    if packed:
        attributes.update(q_num_heads=h, kv_num_heads=hk)
    outputs = ["y", "present_k", "present_v"] if presents else ["y"]
    m.node("Attention", inputs, outputs, **attributes)
    m.result(*outputs)
    return m.case(opset)


def standard_cases(kind):
    yield onnx_attention("few", kind, s=1, t=33)
    yield onnx_attention("few_grouped", kind, h=6, hk=2, s=2, t=129, d=64)
    yield onnx_attention("split_keys", kind, b=1, h=4, hk=1, s=1, t=1500, d=128)
    yield onnx_attention("split_many", kind, b=1, h=12, hk=1, s=1, t=900, d=64)
    yield onnx_attention("odd_size", kind, s=3, t=9, d=13, dv=11)
    yield onnx_attention("odd_tile", kind, b=1, s=77, t=91, d=40, dv=24)
    yield onnx_attention("causal", kind, b=1, h=2, s=130, t=130, d=64, is_causal=1)
    yield onnx_attention("many_rows", kind, b=2, h=4, hk=2, s=130, t=150, d=64, packed=True)
    yield onnx_attention("many_rows_split", kind, b=1, h=2, s=140, t=129, d=128, is_causal=1)
    yield onnx_attention("many_rows_past", kind, b=1, h=2, s=128, t=128, d=64, past=60, is_causal=1)
    yield onnx_attention("many_rows_valid", kind, b=2, h=2, s=130, t=150, d=64, valid=[150, 131], opset=24, is_causal=1)
    yield onnx_attention("many_rows_few_valid", kind, b=2, h=2, s=130, t=150, d=64, valid=[150, 31], opset=24)
    yield onnx_attention("causal_past", kind, b=2, h=2, s=20, t=20, d=32, past=37, is_causal=1, presents=True)
    yield onnx_attention("present_only", kind, s=9, t=9, packed=True, presents=True)
    yield onnx_attention("bool_mask", kind, b=2, h=2, s=21, t=35, d=32, mask="bool")
    yield onnx_attention("bool_mask_few", kind, b=2, h=2, s=2, t=35, d=32, mask="bool")
    yield onnx_attention("added_mask", kind, b=2, h=2, s=70, t=35, d=96, mask=(2, 1, 70, 35))
    yield onnx_attention("added_mask_heads", kind, b=2, h=3, s=4, t=35, d=32, mask=(3, 1, 35))
    yield onnx_attention("softcap", kind, s=40, t=70, d=32, softcap=2.0, scale=0.3)
    yield onnx_attention("grouped", kind, h=8, hk=2, s=33, t=65, d=80, packed=True)
    yield onnx_attention("wide_head", kind, b=1, h=2, s=70, t=40, d=256)
    yield onnx_attention("wide_head_few", kind, b=1, h=2, s=1, t=40, d=256)
    yield onnx_attention("two_tiles", kind, b=1, h=1, s=257, t=200, d=128)
    yield onnx_attention("valid", kind, b=3, h=2, s=4, t=30, d=32, valid=[30, 7, 4], opset=24, is_causal=1)
    yield onnx_attention("valid_many", kind, b=3, h=2, s=24, t=90, d=32, valid=[90, 31, 24], opset=24)
    yield onnx_attention("no_keys", kind, b=2, h=2, s=3, t=5, d=8, valid=[5, 0], opset=24)


def grouped(name, kind, *, b=2, h=4, hk=2, s=1, d=16, past=0, shared=0, totals=None, packed=False, rotary=False, positions=False,
            bias=False, sinks=False, norm=False, **attributes):
    """Totals: keys of each entry of the batch after the run. shared: rows of the buffers of the past."""
    m = Maker(name, kind)
    totals = totals or [past + s] * b
    longest, room = max(totals), shared or past
    inputs = [""] * 16
    if packed:
        inputs[0] = m.floats("q", b, s, (h + 2 * hk) * d)
    else:
        inputs[0], inputs[1], inputs[2] = m.floats("q", b, s, h * d), m.floats("k", b, s, hk * d), m.floats("v", b, s, hk * d)
    if room:
        inputs[3], inputs[4] = m.floats("pk", b, hk, room, d), m.floats("pv", b, hk, room, d)
    inputs[5] = m.given("last", np.array(totals, np.int32) - 1)
    inputs[6] = m.constant("total", np.array([longest], np.int32))
    if rotary:
        angle = np.outer(np.arange(longest + 3), 1 / 100 ** (np.arange(d // 2) / (d // 2)))
        inputs[7], inputs[8] = m.floats("cos", values=np.cos(angle)), m.floats("sin", values=np.sin(angle))
        attributes.update(do_rotary=1)
    if positions:
        inputs[9] = m.given("positions", np.array([[(total - s + i) if total >= s else i for i in range(s)] for total in totals], np.int64))
    if bias:
        inputs[10] = m.floats("bias", 1, h, s, longest)
    if sinks:
        inputs[11] = m.floats("sinks", h)
    if norm:
        inputs[14], inputs[15] = m.floats("qn", d), m.floats("kn", d)
    while not inputs[-1]:
        inputs.pop()
    outputs = ["y", "present_k", "present_v"]
    m.node("GroupQueryAttention", inputs, outputs, "com.microsoft", num_heads=h, kv_num_heads=hk, **attributes)
    m.result(*outputs)
    return m.case(21)


def grouped_cases(kind):
    yield grouped("gqa_prompt", kind, s=9)
    yield grouped("gqa_prompt_padded", kind, s=9, totals=[9, 4])
    yield grouped("gqa_many_rows", kind, h=4, hk=2, s=140, d=64, totals=[140, 90], packed=True)
    yield grouped("gqa_many_rows_shared", kind, h=4, hk=2, s=130, d=128, past=30, shared=200, totals=[160, 150])
    yield grouped("gqa_token", kind, past=12)
    yield grouped("gqa_token_shared", kind, past=12, shared=40, totals=[13, 8])
    yield grouped("gqa_rotary", kind, s=6, rotary=True)
    yield grouped("gqa_rotary_interleaved", kind, past=5, rotary=True, rotary_interleaved=1)
    yield grouped("gqa_packed_rotary", kind, past=8, packed=True, rotary=True, d=64)
    yield grouped("gqa_positions", kind, past=8, rotary=True, positions=True)
    yield grouped("gqa_window", kind, s=40, local_window_size=7)
    yield grouped("gqa_window_token", kind, past=40, local_window_size=7)
    yield grouped("gqa_softcap_bias", kind, past=20, softcap=3.0, bias=True)
    yield grouped("gqa_smooth", kind, past=20, smooth_softmax=1)
    yield grouped("gqa_sinks", kind, s=20, sinks=True)
    yield grouped("gqa_norm", kind, past=4, norm=True, rotary=True)
    yield grouped("gqa_second_prompt", kind, b=1, s=18, past=25, h=8, hk=2, d=64, rotary=True)


def heads(name, kind, form="apart", *, b=2, h=3, s=5, t=None, d=16, dv=None, past=0, bias=False, mask=None, added=None, presents=False,
          filled=None, **attributes):
    m = Maker(name, kind)
    t, dv = t or s, dv or d
    inputs = [""] * 9
    if form == "triples":
        inputs[0] = m.floats("q", b, s, h, 3, d)
    else:
        inputs[0] = m.floats("q", b, s, h * d)
    if form == "apart":
        inputs[1], inputs[2] = m.floats("k", b, t, h * d), m.floats("v", b, t, h * dv)
    elif form == "pairs":
        inputs[1] = m.floats("k", b, t, h, 2, d)
    elif form == "split":
        inputs[1], inputs[2] = m.floats("k", b, h, t, d), m.floats("v", b, h, t, dv)
    if bias:
        inputs[3] = m.floats("bias", 2 * h * d + h * dv)
    total = t + (past if filled is None else filled)
    if mask == "keys":
        values = (m.rng.random((b, total)) < 0.7).astype(np.int32)
        inputs[4] = m.given("mask", values)
    elif mask == "rows":
        inputs[4] = m.given("mask", (m.rng.random((b, s, total)) < 0.7).astype(np.int32))
    elif mask == "ends":
        inputs[4] = m.given("mask", np.array([total, max(1, total - 3)][:b], np.int32))
    if added:
        inputs[5] = m.floats("added", *(added + (s, total)))
    if past:
        inputs[6], inputs[7] = m.floats("pk", b, h, past, d), m.floats("pv", b, h, past, dv)
    if filled is not None:
        inputs[8] = m.constant("filled", np.array([filled], np.int32))
    while not inputs[-1]:
        inputs.pop()
    outputs = ["y", "present_k", "present_v"] if presents else ["y"]
    m.node("MultiHeadAttention", inputs, outputs, "com.microsoft", num_heads=h, **attributes)
    m.result(*outputs)
    return m.case(21)


def heads_cases(kind):
    yield heads("mha", kind, s=20)
    yield heads("mha_cross", kind, s=3, t=21, dv=8)
    yield heads("mha_bias", kind, bias=True, s=7)
    yield heads("mha_triples", kind, "triples", s=19)
    yield heads("mha_pairs", kind, "pairs", s=4, t=18)
    yield heads("mha_split", kind, "split", s=4, t=18, bias=True)
    yield heads("mha_keys", kind, mask="keys", s=11)
    yield heads("mha_rows", kind, mask="rows", s=11)
    yield heads("mha_ends", kind, mask="ends", s=11)
    yield heads("mha_both", kind, mask="keys", added=(1, 3), s=11)
    yield heads("mha_added", kind, added=(2, 1), s=11)
    yield heads("mha_past", kind, past=9, s=3, bias=True, presents=True, unidirectional=1)
    yield heads("mha_buffer", kind, past=19, filled=6, s=1, presents=True)
    yield heads("mha_presents", kind, s=6, presents=True)


def packed(name, kind, *, b=2, s=5, h=3, d=16, past=0, mask=None, added=None, bias=True, presents=False, **attributes):
    m = Maker(name, kind)
    inputs = [m.floats("x", b, s, 24), m.floats("w", 24, 3 * h * d, scale=0.3), m.floats("wb", 3 * h * d) if bias else "", "", "", ""]
    if mask == "keys":
        inputs[3] = m.given("mask", (m.rng.random((b, past + s)) < 0.7).astype(np.int32))
    elif mask == "ends":
        inputs[3] = m.given("mask", np.array([past + s, 3][:b], np.int32))
    if past:
        inputs[4] = m.floats("past", 2, b, h, past, d)
    if added:
        inputs[5] = m.floats("added", *added, s, past + s)
    while not inputs[-1]:
        inputs.pop()
    outputs = ["y", "present"] if presents else ["y"]
    m.node("Attention", inputs, outputs, "com.microsoft", num_heads=h, **attributes)
    m.result(*outputs)
    return m.case(21)


def packed_cases(kind):
    """Only official ONNX Runtime has this operator on the CPU."""
    yield packed("packed", kind)
    yield packed("packed_past", kind, past=3, mask="keys", presents=True, unidirectional=1)
    yield packed("packed_ends", kind, mask="ends", bias=False, s=20)
    yield packed("packed_added", kind, added=(1, 3), mask="keys")


def decoder(name, kind, *, b=2, h=3, d=16, past=9, shared=0, mask=False, bias=False):
    m = Maker(name, kind)
    inputs = [m.floats("q", b, 1, h * d), m.floats("k", b, 1, h * d), m.floats("v", b, 1, h * d)] + [""] * 8
    if mask:
        inputs[3] = m.given("mask", (m.rng.random((b, past + 1)) < 0.7).astype(np.int32))
    inputs[5], inputs[6] = m.floats("pk", b, h, shared or past, d), m.floats("pv", b, h, shared or past, d)
    if shared:
        inputs[7] = m.constant("filled", np.array([past], np.int32))
    if bias:
        inputs[10] = m.floats("bias", 3 * h * d)
    while not inputs[-1]:
        inputs.pop()
    outputs = ["y", "present_k", "present_v"]
    m.node("DecoderMaskedMultiHeadAttention", inputs, outputs, "com.microsoft", num_heads=h, past_present_share_buffer=int(bool(shared)))
    m.result(*outputs)
    return m.case(21)


def decoder_cases(kind):
    yield decoder("decoder", kind)
    yield decoder("decoder_shared", kind, shared=20, bias=True)
    yield decoder("decoder_mask", kind, mask=True)


def rotary_cases(kind):
    for microsoft in (False, True):
        for interleaved in (0, 1):
            for packed in (False, True):
                m = Maker(f"rotary{int(microsoft)}{interleaved}{int(packed)}", kind)
                b, h, s, d, part = 2, 3, 5, 16, 8
                x = m.floats("x", *((b, s, h * d) if packed else (b, h, s, d)))
                angle = m.rng.random((9, part // 2))
                cos, sin = m.floats("cos", values=np.cos(angle)), m.floats("sin", values=np.sin(angle))
                at = m.given("at", m.rng.integers(0, 9, (b, s)))
                attributes = {"interleaved": interleaved, "rotary_embedding_dim": part, "num_heads": h}
                if microsoft:
                    m.node("RotaryEmbedding", [x, at, cos, sin], ["y"], "com.microsoft", **attributes)
                else:
                    m.node("RotaryEmbedding", [x, cos, sin, at], ["y"], **attributes)
                m.result("y")
                yield m.case(23)
    m = Maker("rotary_plain", kind)
    angle = m.rng.random((2, 5, 8))
    m.node("RotaryEmbedding", [m.floats("x", 2, 3, 5, 16), m.floats("cos", values=np.cos(angle)), m.floats("sin", values=np.sin(angle))], ["y"])
    m.result("y")
    yield m.case(23)


def exported(name, kind, *, b=2, h=3, s=12, t=None, d=16, mask=None, where=None, scales="after", past=0, split=False, repeat=1, merged=False):
    """What exporters write for an attention."""
    m = Maker(name, kind)
    t = t or s
    four = m.constant("four", np.array([0, 0, h, d], np.int64))
    four_kv = m.constant("four_kv", np.array([0, 0, h // repeat, d], np.int64))
    if split:
        m.node("Split", [m.floats("x", b, s, 3 * h * d)], ["q0", "k0", "v0"], axis=-1, num_outputs=3)
        q, k, v = "q0", "k0", "v0"
    else:
        q, k, v = m.floats("q", b, s, h * d), m.floats("k", b, t, h // repeat * d), m.floats("v", b, t, h // repeat * d)
    turned = {}
    for x in (q, k, v):
        reshaped = m.node("Reshape", [x, four if x == q else four_kv], [x + "_four"])
        perm = [0, 2, 3, 1] if x == k and not past and repeat == 1 and not merged else [0, 2, 1, 3]
        turned[x] = m.node("Transpose", [reshaped], [x + "_turned"], perm=perm)
    if past:
        for x in (k, v):
            turned[x] = m.node("Concat", [m.floats("past_" + x, b, h // repeat, past, d), turned[x]], ["present_" + x], axis=2)
        m.result("present_" + k, "present_" + v)
    if repeat > 1:
        five, again = m.constant("five", np.array([b, h // repeat, repeat, past + t, d], np.int64)), m.constant("again", np.array([b, h, past + t, d], np.int64))
        for x in (k, v):
            wide = m.node("Unsqueeze", [turned[x], m.constant(x + "_two", np.array([2], np.int64))], [x + "_five"])
            wide = m.node("Expand", [wide, five], [x + "_wide"])
            turned[x] = m.node("Reshape", [wide, again], [x + "_again"])
    if merged:
        for x, rows in ((q, s), (k, t), (v, t)):
            turned[x] = m.node("Reshape", [turned[x], m.constant(x + "_three", np.array([b * h, rows, d], np.int64))], [x + "_merged"])
    if past or repeat > 1 or merged:
        turned[k] = m.node("Transpose", [turned[k]], [k + "_last"], perm=[0, 2, 1] if merged else [0, 1, 3, 2])
    a, c = turned[q], turned[k]
    if scales == "both":
        root = m.number("root", d ** -0.25)
        a, c = m.node("Mul", [a, root], ["q_scaled"]), m.node("Mul", [c, root], ["k_scaled"])
    scores = m.node("MatMul", [a, c], ["scores"])
    if scales == "after":
        scores = m.node("Div", [scores, m.number("divisor", d ** 0.5)], ["scaled"])
    if where:
        flags = m.given("flags", m.rng.random((1, 1, s, past + t)) < 0.6)
        low = m.number("low", -10000.0)
        scores = m.node("Where", [flags, low, scores] if where == "hides" else [flags, scores, low], ["chosen"])
    if mask:
        values = np.where(m.rng.random(mask) < 0.6, 0.0, -60000.0 if kind == "f16" else -3.4028234663852886e38)
        values[..., 0, :] = values.min()  # a query that sees only such keys weighs them equally
        scores = m.node("Add", [scores, m.floats("mask", values=values)], ["masked"])
    weights = m.node("Softmax", [scores], ["weights"], axis=-1)
    y = m.node("MatMul", [weights, turned[v]], ["result"])
    if not merged:
        y = m.node("Transpose", [y], ["back"], perm=[0, 2, 1, 3])
    m.result(y)
    return m.case(18)


def exported_cases(kind):
    yield exported("export_plain", kind)
    yield exported("export_mask", kind, mask=(2, 1, 1, 12))
    yield exported("export_mask_rows", kind, mask=(2, 1, 12, 12))
    yield exported("export_where", kind, where="hides")
    yield exported("export_where_shows", kind, where="shows", mask=(2, 1, 1, 12))
    yield exported("export_scales", kind, scales="both", s=3, t=20)
    yield exported("export_past", kind, past=9, s=1)
    yield exported("export_split", kind, split=True, s=40)
    yield exported("export_repeat", kind, h=4, repeat=2, past=3, s=2)
    yield exported("export_merged", kind, merged=True, s=5)


def cases():
    for kind in TYPES:
        for make in (standard_cases, grouped_cases, heads_cases, packed_cases, decoder_cases, rotary_cases, exported_cases):
            yield from make(kind)
