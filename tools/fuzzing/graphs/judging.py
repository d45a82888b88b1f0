"""Classifies the outcomes of the engines for a whole graph."""
import numbers_of
import tolerances
from judge import NOT_IMPLEMENTED, Verdict, broken, plain, told

from .graph import difference

ORACLE = ((0, 1, 0), (99, 1, 0))  # level, threads, whether by I/O binding
RETORT = ((0, 1, 0), (0, 3, 1), (99, 1, 0), (99, 3, 0), (99, 3, 1))


def failing(whole):
    """Feeds that must fail, with the requested outputs: an input with another name, type or rank, and an output that
    does not exist. (If an input is missing, the oracle runs until a kernel reads it.)"""
    names, feeds = [v.name for v in whole.outputs], whole.feeds()[0]
    cases = [(feeds, [*names[:-1], "no_such_output"])]
    if feeds:
        name, wire = feeds[0]
        cases.append(([(name + "_", wire), *feeds[1:]], names))
        if wire[0] == "tensor":
            other = 7 if wire[1] != 7 else 1
            array = numbers_of.from_wire(wire)
            cases.append(([(name, numbers_of.to_wire(array.astype(numbers_of.dtype(other)))), *feeds[1:]], names))
            if whole.form.inputs != "none":
                cases.append(([(name, numbers_of.to_wire(array.reshape((1, *array.shape)))), *feeds[1:]], names))
    return cases


def name_of(configuration):
    level, threads, bound = configuration
    return f"level {level}, {threads} threads{', bound' if bound else ''}"


def first_difference(whole, expected, actual):
    """(label of the operator whose value differs, description) of two engines' runs, or None."""
    for run, (theirs, ours) in enumerate(zip(expected, actual)):
        for value, one, other in zip(whole.outputs, theirs, ours):
            if text := difference(one, other, value.error):
                return value.label, f"run {run}, {value.name} of {value.label}: {text}"
    return None


def of_error(theirs, ours, name):
    """Verdict where one engine has an error."""
    if theirs[0] == "error":
        if ours[0] == "ok":  # each node ran alone on the oracle, too
            return Verdict("oracle", "oracle refuses", plain(theirs[3]), f"the oracle: {told(theirs)}")
        return Verdict("invalid", "code" if theirs[2] != ours[2] else "", f"{theirs[2]} beside {ours[2]}", f"{told(theirs)}; here: {told(ours)}")
    kind = "refused" if ours[2] != NOT_IMPLEMENTED else "unknown" if "must be known" in ours[3] else "missing"
    return Verdict("valid", kind, plain(ours[3]), f"{name}: {told(ours)}")


def among(whole, ours):
    """Verdict on whether configurations of Retort give the same bits: for any number of threads, with and without I/O
    binding, and in a repetition."""
    by_level = {}
    for configuration, outcome in zip(RETORT, ours):
        if not outcome[3]:
            return Verdict("valid", "repeated", name_of(configuration), f"{name_of(configuration)}: the first run again has other bits")
        first_configuration, first = by_level.setdefault(configuration[0], (configuration, outcome))
        if first[1] != outcome[1] and not any(tolerances.is_random(n.label) for n in whole.nodes):
            text = next(f"{v.name} of {v.label}" for a, b in zip(first[1], outcome[1]) for v, x, y in zip(whole.outputs, a, b) if x != y)
            return Verdict("valid", "bits", name_of(configuration), f"{name_of(configuration)} has other bits than {name_of(first_configuration)}: {text}")
    return None


def verdict(whole, theirs, ours):
    """Verdict on a graph by the outcomes of the configurations ORACLE and RETORT."""
    for configuration, outcome in zip(RETORT, ours):
        if broken(outcome):
            return Verdict("valid", outcome[0], plain(str(outcome[1])), f"{name_of(configuration)}: {told(outcome)}")
    if broken(theirs[0]):
        return Verdict("oracle", "oracle " + theirs[0][0], str(theirs[0][1]), told(theirs[0]))
    for configuration, outcome in zip(RETORT, ours):
        if "error" in (theirs[0][0], outcome[0]):
            if theirs[0][0] != outcome[0] or outcome[0] == "error":
                return of_error(theirs[0], outcome, name_of(configuration))
        elif not theirs[0][3]:
            return Verdict("oracle", "oracle repeated", "", "the first run again has other bits")
        elif found := first_difference(whole, theirs[0][1], outcome[1]):
            return Verdict("valid", "value" if configuration[0] == 0 else "optimised", found[0], f"{name_of(configuration)}: {found[1]}")
    if found := among(whole, ours):
        return found
    if theirs[0][2] != ours[0][2] or any(o[2] != ours[0][2] for o in ours):
        return Verdict("valid", "code", "of a run that is to fail", f"{theirs[0][2]} beside {[o[2] for o in ours]}")
    return Verdict("valid", *of_the_oracle(whole, theirs))


def of_the_oracle(whole, theirs):
    """A difference between the oracle's levels of optimisation: (kind, group, detail)."""
    plain_run, optimised = theirs
    if broken(optimised) or optimised[0] == "error":
        return "oracle optimised", optimised[0], told(optimised)
    if found := first_difference(whole, plain_run[1], optimised[1]):
        return "oracle optimised", *found
    return ()
