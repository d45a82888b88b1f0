"""Tells whether a difference is no larger than what the last places of the inputs cause.

Some results amplify roundings, and then two engines that round in different orders differ by more than any tolerance of the operator: the inverse
of a nearly singular matrix, a softmax of scores in the hundreds, a sum that cancels, a code next to the middle between two integers. The oracle runs
such a case again with inputs of which each element moves by at most one unit in its last place. A difference is explained if it is at most FACTOR
times as large as the greatest of these movements, element by element; a difference of integers only if a movement is as large. A difference of
finite to infinite or NaN, of types or of shapes is never explained, and none of an oracle whose result differs from run to run.
"""
import copy
import dataclasses

import numpy as np

import compare
import judge
import model
import numbers_of
import tolerances

RUNS = 12
FACTOR = 8  # a result has more roundings than inputs


def moved(array, generator, in_float=False):
    """The array with each float one unit in the last place up or down, or as it is. `in_float`: a double by one of float."""
    of = numbers_of.element(array)
    if of not in numbers_of.FLOATS or not array.size:
        return array
    epsilon = tolerances.EPSILON[1 if of == 11 and in_float else of]
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64)
        return (wide * (1 + epsilon * generator.integers(-1, 2, array.shape))).astype(array.dtype)


def variants(case):
    """[(case, result of model.build())] with moved inputs, numbered from 0, and as the last the case itself."""
    generator, found = np.random.Generator(np.random.PCG64(RUNS)), []
    in_float = case.operator.label in tolerances.IN_FLOAT
    for number in range(RUNS + 1):
        other = copy.copy(case)
        other.number = number
        if number < RUNS:
            other.inputs = [dataclasses.replace(g, value=moved(g.value, generator, in_float)) if g and isinstance(g.value, np.ndarray) else g
                            for g in case.inputs]
        found.append((other, model.build(other)))
    return found


def arrays(values):
    """The arrays of a run's outputs, or None if one is not a tensor of numbers."""
    return [numbers_of.from_wire(v) for v in values] if all(v[0] == "tensor" for v in values) else None


def within(label, wires, expected, actual, others, scale):
    """Whether the differences of one output are explained."""
    if compare.kind_of(wires[0]) != compare.kind_of(wires[1]) or expected.shape != actual.shape or any(o.shape != expected.shape for o in others):
        return False
    of = wires[0][1]
    relative, absolute = tolerances.of(label, of)
    wrong = compare.apart(expected, actual, relative, absolute * (scale or 1) if of in tolerances.EPSILON else absolute)
    e, a, *moving = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)[wrong] for x in (expected, actual, *others))
    with np.errstate(all="ignore"):
        apart = np.abs(e - a)
        most = np.nanmax([np.zeros(e.shape), *(np.abs(m - e) for m in moving)], axis=0)
    return bool(np.all(np.isfinite(apart)) and np.all(apart <= most * (FACTOR if of in tolerances.EPSILON else 1)))


def explains(case, theirs, ours, rerun):
    """Whether the differences of two runs' outputs are explained. `rerun`: cases to the oracle's outcomes, by number."""
    answers = {number: outcomes[0] for number, outcomes in rerun(variants(case)).items()}
    if any(outcome[0] != "ok" for outcome in answers.values()) or judge.defined(case, answers[RUNS][1]) != theirs:
        return False
    others = [arrays(answers[n][1]) for n in range(RUNS)]
    expected, actual = arrays(theirs), arrays(ours)
    if any(x is None for x in (expected, actual, *others)):
        return False
    return all(within(case.operator.label, pair, e, a, [o[i] for o in others], case.scale)
               for i, (pair, e, a) in enumerate(zip(zip(theirs, ours), expected, actual)))
