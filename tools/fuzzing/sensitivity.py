"""Tells whether a difference is no larger than what the last places of the inputs cause.

Some results amplify roundings, and then two engines that round in different orders differ by more than any tolerance of the operator: the inverse
of a nearly singular matrix, a softmax of scores in the hundreds, a sum that cancels, a code next to the middle between two integers. The oracle runs
such a case again with inputs of which each element moves by at most one unit in its last place. A difference is explained if it is at most FACTOR
times as large as the greatest of these movements, element by element. A difference of finite to infinite or NaN, of integers, of types or of shapes
is never explained, and none of an oracle whose result differs from run to run.

An error of an engine might be as small. It stays when the inputs move, while roundings become others. So both engines run the moved inputs, and no
difference is explained whose mean over all these runs is more than BIAS times its standard deviation.
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
BIAS = 1.2  # roundings of mean 0 exceed it in one of 1,000 elements (Student's t of 13 runs: 4.3)


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


def within(label, wires, theirs, ours, scale):
    """Whether the differences of one output are explained. `theirs`, `ours`: the arrays of all runs, that of the case first."""
    if compare.kind_of(wires[0]) != compare.kind_of(wires[1]) or any(x.shape != theirs[0].shape for x in (*theirs, *ours)):
        return False
    of = wires[0][1]
    relative, absolute = tolerances.of(label, of)
    wrong = compare.apart(theirs[0], ours[0], relative, absolute * (scale or 1) if of in tolerances.EPSILON else absolute)
    if not wrong.any():
        return True
    if of not in tolerances.EPSILON:
        return False
    expected, actual = (np.array([x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)[wrong] for x in runs]) for runs in (theirs, ours))
    with np.errstate(all="ignore"):
        apart = actual - expected
        most = np.nanmax(np.abs(expected - expected[0]), axis=0)
        steady = np.abs(np.mean(apart, axis=0)) > BIAS * np.std(apart, axis=0, ddof=1)
    return bool(np.all(np.isfinite(apart)) and np.all(np.abs(apart[0]) <= most * FACTOR) and not np.any(steady))


def explains(case, theirs, ours, rerun):
    """Whether the differences of two runs' outputs are explained. `rerun`: cases to the outcomes of the oracle and of Retort, by number."""
    answers = [{number: outcomes[0] for number, outcomes in engine.items()} for engine in rerun(variants(case))]
    if any(outcome[0] != "ok" for engine in answers for outcome in engine.values()) or judge.defined(case, answers[0][RUNS][1]) != theirs:
        return False
    runs = [[arrays(first), *(arrays(judge.defined(case, engine[n][1])) for n in range(RUNS))] for first, engine in zip((theirs, ours), answers)]
    if any(x is None for engine in runs for x in engine):
        return False
    return all(within(case.operator.label, wires, *([run[i] for run in engine] for engine in runs), case.scale)
               for i, wires in enumerate(zip(theirs, ours)))
