"""Linear attention, and the causal convolutions that precede it."""
import numpy as np

import numbers_of

from . import recipe
from .attention import Heads, int32


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
    case.scale = magnitude([g and g.value.astype(np.float64) for g in case.inputs], h, case.attributes.get("scale") or h.size ** -0.5)


def magnitude(inputs, h, scale):
    """The greatest sum of absolute values of the terms that are added for an element of an output. A term is a product with the state, or with
    what is subtracted from it: the state is multiplied by the key, and the result by the key again."""
    q, k, v, state, decay, beta = (*inputs, None, None, None)[:6]
    state, most = np.zeros((h.kv, h.size, h.value_size)) if state is None else state, 1.0
    state = np.broadcast_to(state, (h.batch, h.kv, h.size, h.value_size))
    with np.errstate(all="ignore"):
        for t in range(h.queries):
            keys, values = k[:, t].reshape(h.batch, h.kv, h.size, 1), v[:, t].reshape(h.batch, h.kv, 1, h.value_size)
            if decay is not None:
                state = state * np.exp(decay[:, t].reshape(h.batch, h.kv, -1, 1))
            learnt = values if beta is None else beta[:, t].reshape(h.batch, -1, 1, 1) * (values - np.sum(keys * state, 2, keepdims=True))
            terms = np.abs(state) + np.abs(keys) * np.maximum(np.abs(values), np.sum(np.abs(keys * state), 2, keepdims=True))
            state = state + keys * learnt
            queries = np.abs(q[:, t]).reshape(h.batch, h.kv, -1, h.size)
            most = max(most, float(np.max(terms, initial=0)), scale * float(np.max(queries @ terms, initial=0)))
    return most if np.isfinite(most) else 1.0


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
