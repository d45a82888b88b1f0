"""The program fuzz_types."""
import argparse
import collections
import copy
import os
import re

import numpy as np

import model
import numbers_of
import program
import recipes
import schemas
from engines import Worker

SEED, CASES, BATCH = 7, 400, 400
TYPES = [f"tensor({name})" for name in schemas.ELEMENTS] + [
    "seq(tensor(float))", "seq(tensor(int64))", "seq(tensor(string))",
    "optional(tensor(float))", "optional(tensor(int64))", "optional(seq(tensor(float)))"]
# What the oracle says about the types of the node; about a node in the body of a function it says "node ()".
TYPE_ERROR = re.compile(r"Type Error: .*\bnode \(node\)|Node \(node\).*TypeInferenceError")
TELLS_TYPE = re.compile(r"is of type|is not a tensor|but the body takes|tensor is|is optional|must be (tensor|seq)")


def stage(outcome):
    """ok, load, run, crash or hang."""
    return outcome[1] if outcome[0] == "error" else outcome[0]


def bases(fuzzer, operator):
    """For each version a case that the oracle runs, else one that it loads, else any."""
    found, best = {}, {}
    for first in range(0, CASES, 40):
        made = [m for m in (program.make_case(operator, SEED, n, fuzzer.table) for n in range(first, first + 40)) if m[1]]
        answers = fuzzer.engines[0].run([(case.number, *message) for case, message in made])
        for case, _ in made:
            grade = {"ok": 0, "run": 1, "load": 2}.get(stage(answers[case.number][0]), 3)
            if grade < best.get(case.version.since, 3):
                found[case.version.since], best[case.version.since] = case, grade
        if len(found) == len(operator.versions) and not any(best.values()):
            break
    return [found[since] for since in sorted(found)]


def type_text(given):
    if given.type:
        return given.type
    first = given.value[0] if isinstance(given.value, list) else given.value
    text = f"tensor({schemas.NAMES[numbers_of.element(first)]})" if isinstance(first, np.ndarray) else ""
    return f"seq({text})" if isinstance(given.value, list) else text


def changed(case, index, text):
    """The case with an input of the graph of another type."""
    other, given = copy.copy(case), copy.copy(case.inputs[index])
    other.chosen, other.output_types, other.shared = {}, {}, {}
    other.inputs = list(case.inputs)
    shape = given.value.shape if isinstance(given.value, np.ndarray) else (2, 3)
    array = numbers_of.Numbers(1, False).array(schemas.element_of(text), shape, "positive")
    if schemas.element_of(text) in numbers_of.SMALL_FLOATS:
        array = np.zeros_like(array)  # Retort refuses another zero point of these types, whatever the model declares
    given.value = [array] if "seq" in text else array
    given.constant, given.type = False, "" if text.startswith("tensor(") else text
    other.inputs[index] = given
    other.number = f"{case.id} version {case.version.since}, input {index}: {type_text(case.inputs[index])} -> {text}"
    return other


def kind(theirs, ours):
    """The kind of a finding, or ""."""
    a, b = stage(theirs), stage(ours)
    if b in ("crash", "hang"):
        return b
    if a == "load" and TYPE_ERROR.search(theirs[3]):
        if b != "load":
            return "silent" if b == "ok" else "late"
        return "" if TELLS_TYPE.search(ours[3]) else "unnamed"
    return "refused" if a == "ok" and b != "ok" else ""


def sweep(fuzzer, operator):
    """Prints the findings of an operator and returns their counts."""
    cases = [changed(case, i, text) for case in bases(fuzzer, operator) for i, given in enumerate(case.inputs) if given
             for text in TYPES if text not in (type_text(given), "tensor(bfloat16)")]  # which Retort takes wherever float16 is
    counts = collections.Counter()
    for at in range(0, len(cases), BATCH):
        batch = [(case.number, *model.build(case)) for case in cases[at:at + BATCH]]
        theirs, ours = [future.result() for future in [fuzzer.pool.submit(e.run, batch) for e in fuzzer.engines]]
        for number, *_ in batch:
            outcomes = theirs[number][0], ours[number][0]
            found = kind(*outcomes)
            counts[found or "agree"] += 1
            if found:
                print(f"  FIND {found} {number}\n    " + "\n    ".join(str(o[1:])[:300] for o in outcomes))
    print(f"{operator.label:44} {dict(counts)}", flush=True)
    return counts


def main(doc):
    ap = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--library", default=os.path.join(program.ROOT, "out", "lib", "libretort.so.1"))
    ap.add_argument("--oracle", default="", help="library of official ONNX Runtime; by default that of the installed package")
    ap.add_argument("operators", nargs="*", metavar="OP")
    args = ap.parse_args()
    state, library = program.official()
    operators = schemas.load(state)
    engines = Worker(args.oracle or library, ((0, 1),), 10), Worker(args.library, ((99, 1),), 10)
    fuzzer, total = program.Fuzzer(recipes.load(), engines, []), collections.Counter()
    try:
        for operator in program.chosen(operators, args.operators, program.operators_of_retort(args.library)):
            total.update(sweep(fuzzer, operator))
    finally:
        fuzzer.close()
    print(f"{sum(total.values())} models, {sum(total.values()) - total['agree']} findings: {dict(total)}")
    return 1 if total["agree"] < sum(total.values()) else 0
