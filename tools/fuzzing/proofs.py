"""Proofs that a finding is a fault of the oracle. A condition in oracle_faults.tsv may call functions of Proofs, which run other cases: if
the operator's definition gives them the results of this one, the oracle must agree there with Retort; if the fault does, Retort must agree with it."""
import copy
import fractions
import math

import numpy as np

import compare
import model
import numbers_of
import schemas
import shrink


def no_proof(*_):
    """Stands for a proof where no engines run."""
    return False


NONE = dict.fromkeys(("alone", "here", "wide", "tied", "exact", "nearest_pixels", "precise"), no_proof)


class Proofs:
    """Of one case; `theirs` and `ours` are its outcomes, `engines` (oracle, Retort) as Workers."""

    def __init__(self, case, theirs, ours, engines):
        self.case, self.theirs, self.ours, self.engines = case, theirs, ours, engines

    def changed(self, values):
        """The case with other values of some inputs, {index: array}."""
        inputs = [copy.copy(g) for g in self.case.inputs]
        for i, value in values.items():
            if i < len(inputs) and inputs[i] is not None:
                inputs[i].value = np.asarray(value, inputs[i].value.dtype)
        return shrink.with_inputs(self.case, inputs)

    def run(self, engine, cases):
        """The first outcome of each case."""
        found = engine.run([(i, *model.build(c)) for i, c in enumerate(cases)])
        return [found[i][0] for i in range(len(cases))]

    def equal(self, expected, actual):
        if expected[0] != "ok" or actual[0] != "ok" or len(expected[1]) != len(actual[1]):
            return False
        import judge
        e, a = (judge.defined(self.case, values) for values in (expected[1], actual[1]))
        return not compare.outputs(self.case.operator.label, e, a, self.case.scale)

    def alone(self, batched, greatest=None):
        """Whether Retort's results are those of the oracle if it gets each entry of the batch alone. `batched`: the inputs whose axis 0 is the
        batch, as is that of all outputs; `greatest`: {an input: the input whose greatest element it has}."""
        inputs = [g and g.value for g in self.case.inputs]
        cases = []
        for i in range(len(inputs[0])):
            values = {k: inputs[k][i:i + 1] for k in batched if k < len(inputs) and inputs[k] is not None}
            values.update({k: np.full(inputs[k].shape, values[of].max()) for k, of in (greatest or {}).items()})
            cases.append(self.changed(values))
        outcomes = self.run(self.engines[0], cases)
        if any(o[0] != "ok" for o in outcomes):
            return False
        parts = [[numbers_of.from_wire(v) for v in o[1]] for o in outcomes]
        if any(p[1:] != q[1:] for p, q in zip(*[[v.shape for v in one] for one in (parts[0], parts[-1])])):
            return False
        joined = [numbers_of.to_wire(np.concatenate(all_parts)) for all_parts in zip(*parts)]
        return self.equal(("ok", joined), self.ours)

    def here(self, values):
        """Whether Retort has the oracle's results if it gets other values of some inputs."""
        return self.equal(self.theirs, self.run(self.engines[1], [self.changed(values)])[0])

    def wide(self):
        """Whether Retort's results in float16 are those of the oracle in float32, for the same numbers."""
        case = self.changed({})
        for given in case.inputs:
            if given is not None and given.value.dtype == np.float16:
                given.value = given.value.astype(np.float32)
        case.chosen = {k: schemas.ELEMENTS["float"] if v == schemas.ELEMENTS["float16"] else v for k, v in self.case.chosen.items()}
        outcome = self.run(self.engines[0], [case])[0]
        if outcome[0] != "ok":
            return False
        arrays = [numbers_of.from_wire(v) for v in outcome[1]]
        with np.errstate(over="ignore"):
            narrow = [numbers_of.to_wire(a.astype(np.float16) if a.dtype == np.float32 else a) for a in arrays]
        return self.equal(("ok", narrow), self.ours)

    def precise(self, most=1e-3):
        """Whether Retort's results in float32 are, within the tolerance, those of its plain loop in float64, for the same numbers, and the
        oracle's are near these, so that both compute the same: within `most` of the greatest element of the output."""
        case = self.changed({})
        if any(case.chosen.get(v) == numbers_of.FLOAT64 for v in case.chosen) or self.ours[0] != "ok" or self.theirs[0] != "ok":
            return False
        for given in case.inputs:
            if given and isinstance(given.value, np.ndarray) and given.value.dtype == np.float32:
                given.value = given.value.astype(np.float64)
        case.chosen = {v: numbers_of.FLOAT64 if of == numbers_of.FLOAT32 else of for v, of in case.chosen.items()}
        case.output_types = {i: t.replace("(float)", "(double)") for i, t in case.output_types.items()}
        outcome = self.run(self.engines[1], [case])[0]
        if outcome[0] != "ok":
            return False
        with np.errstate(over="ignore"):
            exact = [numbers_of.from_wire(v) for v in outcome[1]]
            narrow = [numbers_of.to_wire(a.astype(np.float32) if a.dtype == np.float64 else a) for a in exact]
        near = all(np.all(np.abs(e - numbers_of.from_wire(t)) <= most * np.max(np.abs(e), initial=0)) for e, t in zip(exact, self.theirs[1]))
        return near and self.equal(("ok", narrow), self.ours)

    def tied(self, apart=2e-6):
        """Whether the sequences that both engines found in a search differ only where their scores do not: a sum of float32 does not tell them apart."""
        case = self.changed({})
        case.outputs = [True, True]
        found = [self.run(engine, [case])[0] for engine in self.engines]
        if any(o[0] != "ok" for o in found):
            return False
        (sequences, scores), (here, scores_here) = [[numbers_of.from_wire(v) for v in o[1]] for o in found]
        if sequences.shape != here.shape:
            return False
        different = np.any(sequences != here, axis=-1)
        return bool(np.all(np.abs(scores - scores_here)[different] <= apart * np.abs(scores)[different]))

    def exact(self, values):
        """Whether Retort's output 0 has these values, computed with more digits than its type has."""
        if self.ours[0] != "ok":
            return False
        was = numbers_of.from_wire(self.ours[1][0])
        with np.errstate(all="ignore"):
            return self.equal(("ok", [numbers_of.to_wire(np.asarray(values).astype(was.dtype)), *self.ours[1][1:]]), self.ours)

    def nearest_pixels(self):
        """exact() of a Resize with nearest neighbours, half_pixel_symmetric and scales or sizes, whose positions are computed in whole fractions."""
        inputs, attributes, half = [g and g.value for g in self.case.inputs], self.case.attributes, fractions.Fraction(1, 2)
        round_to = {"floor": math.floor, "ceil": math.ceil, "round_prefer_ceil": lambda p: math.floor(p + half),
                    "round_prefer_floor": lambda p: math.ceil(p - half)}[attributes.get("nearest_mode", "round_prefer_floor")]
        pixels = inputs[0]
        by_scale = inputs[2] is not None and inputs[2].size
        for axis, given in zip(attributes.get("axes") or range(pixels.ndim), inputs[2 if by_scale else 3]):
            size = pixels.shape[axis]
            count = math.floor(np.float32(size) * given) if by_scale else int(given)
            exact = fractions.Fraction(float(given)) if by_scale else fractions.Fraction(count, size)
            offset = size * half * (1 - count / (exact * size))
            places = [round_to(offset + (i + half) / exact - half) for i in range(count)]
            pixels = np.take(pixels, np.clip(places, 0, size - 1).astype(int), axis)
        return self.exact(pixels)

    def names(self):
        return {"alone": self.alone, "here": self.here, "wide": self.wide, "tied": self.tied, "exact": self.exact, "nearest_pixels": self.nearest_pixels,
                "precise": self.precise}
