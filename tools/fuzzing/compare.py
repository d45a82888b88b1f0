"""Compares the outputs of two engines."""
import numpy as np

import numbers_of
import tolerances


def shape_of(value):
    return value[2] if value[0] == "tensor" else value[1] if value[0] == "strings" else ()


def kind_of(value):
    return (value[0], value[1]) if value[0] == "tensor" else (value[0],)


def wide(array):
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    with np.errstate(all="ignore"):
        return array.astype(np.float64) if array.dtype.kind not in "iub" else array


def apart(expected, actual, relative, absolute):
    """A boolean array: where two arrays of numbers differ by more than a tolerance."""
    if expected.dtype.kind in "iub":
        if not absolute:
            return expected != actual
        # Wrapping is right for uint64, whose steps are exact either way.
        low, high = np.minimum(expected, actual), np.maximum(expected, actual)
        return (high - low).astype(np.uint64) > absolute
    e, a = wide(expected), wide(actual)
    with np.errstate(all="ignore"):
        near = np.abs(e - a) <= absolute + relative * np.abs(e)
        return ~(near | (e == a) | (np.isnan(e) & np.isnan(a)))


def tensors(label, expected, actual, scale):
    """(class of the difference, description), or None."""
    if kind_of(expected) != kind_of(actual):
        return "type", f"{describe(expected)} beside {describe(actual)}"
    if shape_of(expected) != shape_of(actual):
        return "shape", f"{shape_of(expected)} beside {shape_of(actual)}"
    if expected == actual or tolerances.is_random(label):
        return None
    e, a = numbers_of.from_wire(expected), numbers_of.from_wire(actual)
    if expected[0] == "strings":
        wrong, of = e != a, numbers_of.STRING
    else:
        of = expected[1]
        relative, absolute = tolerances.of(label, of)
        wrong = apart(e, a, relative, absolute * (scale or 1) if of in tolerances.EPSILON else absolute)
    if not np.any(wrong):
        return None
    at = tuple(int(i) for i in np.argwhere(np.atleast_1d(wrong))[0])
    left, right = np.atleast_1d(e)[at], np.atleast_1d(a)[at]
    return "value " + sort_of(left, right, of), f"{int(np.sum(wrong))} of {e.size} differ, first at {at}: {left} beside {right}"


def sort_of(left, right, of):
    name = tolerances.name_of(of)
    if np.asarray(left).dtype.kind in "iubOS" or of == numbers_of.STRING:
        return name
    finite = [bool(np.isfinite(wide(np.asarray(x)))) for x in (left, right)]
    return name if all(finite) else f"{name} NaN or infinite"


def describe(value):
    if value[0] == "tensor":
        return f"{tolerances.name_of(value[1])}{list(value[2])}"
    return f"string{list(value[1])}" if value[0] == "strings" else value[0]


def values(label, expected, actual, scale=0.0):
    """(class of the difference, description) of two values in the form of wire.py, or None."""
    if expected[0] != actual[0]:
        return "type", f"{describe(expected)} beside {describe(actual)}"
    if expected[0] in ("tensor", "strings"):
        return tensors(label, expected, actual, scale)
    if expected[0] in ("sequence", "map"):
        left, right = (v[1] if v[0] == "sequence" else v[1:] for v in (expected, actual))
        if len(left) != len(right):
            return "length", f"{len(left)} beside {len(right)}"
        for i, (e, a) in enumerate(zip(left, right)):
            if found := values(label, e, a, scale):
                return found[0], f"element {i}: {found[1]}"
        return None
    return None if expected == actual else ("value", f"{expected} beside {actual}")


def outputs(label, expected, actual, scale=0.0, numbers=None):
    """The first difference of the outputs of a run, with the output's number (of the node, if `numbers` tells them)
    before it, or None."""
    for i, e, a in zip(numbers or range(len(expected)), expected, actual):
        if found := values(label, e, a, scale):
            return f"output {i}: {found[0]}", found[1]
    return None
