"""Classifies the outcomes of a case on both engines."""
import csv
import dataclasses
import os
import re

import numpy as np

import compare
import numbers_of
import proofs
import schemas
import tolerances

FAULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle_faults.tsv")
NOT_IMPLEMENTED = 9
NUMPY_NEEDS = {"__import__": __import__}  # it imports parts of itself when they are used
FLOATS = numbers_of.FLOATS | numbers_of.SMALL_FLOATS
NO_KERNEL = re.compile(r"Could not find an implementation|NOT_IMPLEMENTED|not implemented|is not a registered function/op|No Op registered|"
                       r"[Uu]nsupported|not supported|does not support \w+ yet|MLDataType for|must be a multiple of 8|is till opset|is under development|Type Error: Type .* in node \(\) is invalid")  # the last: of a node in the body of a function


@dataclasses.dataclass
class Verdict:
    """`state`: valid (an engine ran the case), beyond (the oracle has no kernel for it), invalid (both returned errors), oracle (the
    oracle crashed or hung). `kind`: the kind of the finding; empty if there is none. Similar findings have the same `group`."""
    state: str
    kind: str = ""
    group: str = ""
    detail: str = ""
    fault: str = ""  # the reason in oracle_faults.tsv, if a row explains the finding


def plain(message):
    """A message without names, shapes and numbers, so that similar messages become equal."""
    message = re.sub(r"'[^']*'|\"[^\"]*\"|/\S+", "_", message)
    message = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "[]", message)
    return re.sub(r"-?\d[\d.e+x]*", "N", message)[:160]


def broken(outcome):
    return outcome[0] in ("crash", "hang")


def told(outcome):
    """One line about an outcome."""
    if outcome[0] == "ok":
        return "ok: " + ", ".join(compare.describe(v) for v in outcome[1])
    if outcome[0] == "error":
        return f"{outcome[1]} error {outcome[2]}: {outcome[3]}"
    return " ".join(map(str, outcome))


def among(case, configurations, ours):
    """(kind, group, detail) of a difference between configurations of Retort, or None. Results must have the same bits on any number of threads."""
    first = ours[0]
    for configuration, other in zip(configurations[1:], ours[1:]):
        name = f"level {configuration[0]}, {configuration[1]} threads"
        if first[0] != other[0]:
            return "configurations", f"{first[0]} and {other[0]}", f"{name}: {told(other)}, first: {told(first)}"
        if first[0] == "ok" and first != other:
            same_level = [o for c, o in zip(configurations, ours) if c[0] == configuration[0]]
            if any(o != same_level[0] for o in same_level) and not tolerances.is_random(case.operator.label):
                return "threads", "bits", f"{name} has other bits than one thread"
            if found := compare.outputs(case.operator.label, first[1], other[1], case.scale, numbers_of_outputs(case)):
                return "optimised", found[0], f"{name}: {found[1]}"
    return None


def numbers_of_outputs(case):
    return [i for i, wanted in enumerate(case.outputs) if wanted]


def defined(case, values):
    """The values of a run with zeros for the elements that the operator's definition leaves open."""
    found = list(values)
    for place, (number, value) in enumerate(zip(numbers_of_outputs(case), values)):
        where = case.undefined.get(number)
        if where is None or value[0] != "tensor" or value[2] != where.shape or not where.size:
            continue
        raw = np.frombuffer(value[3], np.uint8).reshape(*where.shape, -1).copy()
        raw[where] = 0
        found[place] = (*value[:3], raw.tobytes())
    return found


def verdict(case, theirs, ours, configurations):
    """The Verdict on a case, from the oracle's outcome and the outcomes of Retort's configurations."""
    label = case.operator.label
    for outcome in ours:
        if broken(outcome):
            return Verdict("valid", outcome[0], plain(str(outcome[1])), told(outcome))
    if broken(theirs):
        return Verdict("oracle", "oracle " + theirs[0], theirs[1] if theirs[0] == "crash" else "", told(theirs))
    found = among(case, configurations, ours)
    if theirs[0] == "error" and (theirs[2] == NOT_IMPLEMENTED or NO_KERNEL.search(theirs[3])):
        return Verdict("beyond", *(found or ()))
    first = ours[0]
    if theirs[0] == "error":
        if first[0] == "ok":
            return Verdict("valid", "accepted", plain(theirs[3]), f"{told(first)}; the oracle: {told(theirs)}")
        return Verdict("invalid", "code" if theirs[2] != first[2] else "", f"{theirs[2]} beside {first[2]}", f"{told(theirs)}; here: {told(first)}")
    if first[0] == "error":
        kind = "missing" if first[2] == NOT_IMPLEMENTED else "refused"
        return Verdict("valid", kind, plain(first[3]), told(first))
    if different := compare.outputs(label, defined(case, theirs[1]), defined(case, first[1]), case.scale, numbers_of_outputs(case)):
        return Verdict("valid", "value", different[0], different[1])
    return Verdict("valid", *(found or ()))


def read_faults(path=FAULTS):
    """Known faults of the oracle: rows of operator, kind, condition, reason."""
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader((line for line in f if not line.startswith("#")), delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(row["operator"], row["kind"], compile(row["condition"] or "True", path, "eval"), row["reason"]) for row in rows]


def names_of(case, found, theirs):
    """The variables of the conditions in oracle_faults.tsv."""
    arrays = [g.value for g in case.inputs if g is not None and isinstance(g.value, np.ndarray)]
    floats = [a.astype(np.float64) for a in arrays if numbers_of.element(a) in FLOATS]
    return {"case": case.id, "opset": case.opset, "version": case.version.since, "attr": case.attributes, "inputs": [g and g.value for g in case.inputs],
            "types": [schemas.NAMES[numbers_of.element(a)] for a in arrays], "shapes": [a.shape for a in arrays],
            "constant": [bool(g and g.constant) for g in case.inputs], "message": theirs[3] if theirs[0] == "error" else "",
            "group": found.group, "detail": found.detail, "nan": any(np.isnan(a).any() for a in floats), "empty": any(a.size == 0 for a in arrays),
            "np": np, "any": any, "all": all, "set": set, "len": len, "list": list, "max": max, "min": min, "sum": sum, "zip": zip, "enumerate": enumerate}


def explained(case, found, theirs, faults, proof=None):
    """The reason of a row that explains a finding; empty if none does. Without `proof`, the Proofs of the case, no row does that needs one."""
    names = {**names_of(case, found, theirs), **(proof.names() if proof else proofs.NONE)}
    for operator, kind, condition, reason in faults:
        named = operator == "*" or case.operator.label in operator.split()
        if named and found.kind in kind.split("|"):
            with np.errstate(all="ignore"):
                if eval(condition, {"__builtins__": NUMPY_NEEDS, **names}):
                    return reason
    return ""
