"""Quantisation and elementwise operators on quantised values."""
import numpy as np

import numbers_of

from . import recipe


def granularity(case, shape):
    """(shape of scales, block size): for a tensor, an axis or blocks of it. Sets axis and block_size."""
    kind = case.pick("tensor", "tensor", "axis", "block")
    if not shape or kind == "tensor" or case.version.since < 13 and case.operator.domain == "":
        return (), 0
    axis = case.attr("axis", case.r.randrange(-len(shape), len(shape)))
    if kind == "axis" or not case.has_attr("block_size") or not shape[axis]:
        return (shape[axis],), 0
    block = case.attr("block_size", case.dim(1, shape[axis]))
    each = list(shape)
    each[axis] = -(-shape[axis] // block)
    return tuple(each), block


def scales(case, of, shape):
    value = case.numbers.generator.uniform(0.01, 0.5, shape)
    if case.maybe(0.3):
        value = np.exp2(np.round(np.log2(value)))  # products are exact, so that ties occur
    return case.give(np.asarray(value).astype(numbers_of.dtype(of)), case.maybe(0.6))


@recipe("QuantizeLinear")
def quantize(case):
    ms = bool(case.operator.domain)
    shape = case.extents(0, 4)
    each, _ = granularity(case, shape)
    source = "T1" if "T1" in case.version.types else "float"
    target = "T2" if "T2" in case.version.types and not (case.version.since >= 23 and not ms) else "T3" if "T3" in case.version.types else "T2"
    if case.version.since < 13 and not ms:
        source = case.version.inputs[0].type
    of = case.elem(source)
    x = case.numbers.array(of, shape, case.pick("normal", "any"))
    if of == 6:
        x = case.numbers.array(of, shape, "normal")
    if case.maybe(0.3) and x.dtype.kind == "f":
        x = (np.round(x.astype(np.float64) * 4) / 4).astype(x.dtype)
    case.give(np.nan_to_num(x) if x.dtype.kind == "f" else x)  # the result for NaN is undefined
    scale_type = case.version.inputs[1].type
    scales(case, case.elem(scale_type) if scale_type in case.version.types and scale_type != source else (1 if of == 6 or not "T1" in case.chosen else of), each)
    to = case.elem(target)
    if case.maybe(0.8) or to != 2:
        case.give(case.numbers.array(to, each, "small") if to not in range(17, 21) and to != 23 else np.zeros(each, numbers_of.dtype(to)))
    case.attr("saturate", case.dim(0, 1), 0.2)
    case.chosen[case.version.outputs[0].type] = to


@recipe("DequantizeLinear")
def dequantize(case):
    shape = case.extents(0, 4)
    each, _ = granularity(case, shape)
    source = case.version.inputs[0].type
    of = case.elem(source)
    case.input(source, shape)
    scale_type = case.version.inputs[1].type
    scales(case, case.elem(scale_type) if scale_type in case.version.types else 1, each)
    if case.maybe() and of != 6:
        case.give(case.numbers.array(of, each, "small") if of not in range(17, 21) and of != 23 else np.zeros(each, numbers_of.dtype(of)))


@recipe("DynamicQuantizeLinear")
def dynamic_quantize(case):
    case.input("float", case.shape(0, 4), case.pick("normal", "small", "positive"))
