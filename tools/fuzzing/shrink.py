"""Searches for a smaller case with the same finding: fewer attributes and inputs, smaller extents, simpler values."""
import copy

import numpy as np

import model

ROUNDS = 4  # repetitions of all steps, since one step may make another possible


def without_attributes(case):
    for name in list(case.attributes):
        smaller = copy.copy(case)
        smaller.attributes = {k: v for k, v in case.attributes.items() if k != name}
        yield smaller


def with_inputs(case, inputs):
    smaller = copy.copy(case)
    smaller.inputs = inputs
    while smaller.inputs and smaller.inputs[-1] is None:
        smaller.inputs.pop()
    return smaller


def without_inputs(case):
    for i, given in enumerate(case.inputs):
        if given is not None and i >= case.version.min_inputs:
            yield with_inputs(case, [None if k == i else g for k, g in enumerate(case.inputs)])


def changed(case, change):
    """The case with each array changed by a function."""
    inputs = [copy.copy(g) for g in case.inputs]
    for given in inputs:
        if given is not None and isinstance(given.value, np.ndarray):
            given.value = change(given.value)
    return with_inputs(case, inputs)


def with_smaller_extents(case):
    """Cuts all axes that have the same extent to a smaller one, in all inputs at once, because extents depend on each
    other."""
    extents = {d for g in case.inputs if g is not None and isinstance(g.value, np.ndarray) for d in g.value.shape if d > 1}
    for extent in sorted(extents, reverse=True):
        for to in sorted({1, extent // 2, extent - 1} - {0, extent}):
            yield changed(case, lambda a, d=extent, to=to: a[tuple(slice(0, to) if n == d else slice(None) for n in a.shape)])


def with_simpler_values(case):
    for i, given in enumerate(case.inputs):
        if given is None or not isinstance(given.value, np.ndarray) or given.value.dtype.kind not in "f":
            continue
        for simple in (np.ones_like(given.value), np.round(given.value)):
            if not np.array_equal(simple, given.value, equal_nan=True):
                inputs = [copy.copy(g) for g in case.inputs]
                inputs[i].value = simple
                yield with_inputs(case, inputs)


def plainer(case):
    """Declares fixed shapes, and makes initializers inputs of the graph, one at a time."""
    if case.form != "fixed":
        smaller = copy.copy(case)
        smaller.form = "fixed"
        yield smaller
    for i, given in enumerate(case.inputs):
        if given is not None and given.constant:
            inputs = [copy.copy(g) for g in case.inputs]
            inputs[i].constant = False
            yield with_inputs(case, inputs)


STEPS = (without_attributes, without_inputs, with_smaller_extents, with_simpler_values, plainer)


def shrink(case, judge):
    """The smallest case that was found with the same finding. `judge` returns the Verdict on a pair (case, result of
    model.build())."""
    wanted = judge((case, model.build(case)))
    for _ in range(ROUNDS):
        before = case
        for step in STEPS:
            again = True
            while again:
                again = False
                for smaller in step(case):
                    found = judge((smaller, model.build(smaller)))
                    if (found.kind, found.group) == (wanted.kind, wanted.group):
                        case, again = smaller, True
                        break
        if case is before:
            break
    return case
