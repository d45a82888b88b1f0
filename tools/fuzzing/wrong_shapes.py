"""The program fuzz_shapes."""
import argparse
import collections
import copy
import os

import numpy as np

import judge
import program
import record
import recipes
import schemas
from engines import Worker

DRAWN, BATCH = 200, 400
DIFFERENCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shape_differences.tsv")
FIELDS = ("operator", "models", "agree", "known", "open", "seed", *record.RUN)
PATH = os.path.join(record.ROOT, "tests", "fuzzed_shapes.tsv")


def stage(outcome):
    """ok, load, run, crash or hang."""
    return outcome[1] if outcome[0] == "error" else outcome[0]


def is_beyond(outcome):
    """Whether the oracle has no kernel for the model."""
    return outcome[0] == "error" and (outcome[2] == judge.NOT_IMPLEMENTED or bool(judge.NO_KERNEL.search(outcome[3])))


def bases(fuzzer, operator, seed, count):
    """For each version `count` cases that both engines run; if the oracle has no kernel, that Retort runs."""
    found = collections.defaultdict(list)
    for first in range(0, DRAWN, 20):
        made = [m for m in (program.make_case(operator, seed, n, fuzzer.table) for n in range(first, first + 20)) if m[1]]
        theirs, ours = fuzzer.outcomes(made)
        for case, _ in made:
            runs = ours[case.number][0][0] == "ok" and (theirs[case.number][0][0] == "ok" or is_beyond(theirs[case.number][0]))
            if runs and len(found[case.version.since]) < count:
                found[case.version.since].append(case)
        if len(found) == len(operator.versions) and min(map(len, found.values())) == count:
            break
    return [case for since in sorted(found) for case in found[since]]


def changes(x):
    """(name, array) of each change of an array's shape."""
    yield "lead", x[None]
    yield "tail", x[..., None]
    if x.ndim and x.shape[0]:
        yield "less", np.take(x, [0], 0).reshape(x.shape[1:])
    for axis in range(x.ndim):
        if x.shape[axis]:
            yield f"long{axis}", np.concatenate([x, np.take(x, [0], axis)], axis)
            yield f"empty{axis}", np.take(x, [], axis)
        if x.shape[axis] > 1:
            yield f"one{axis}", np.take(x, [0], axis)


class Changed:
    """A case with another shape of input `index`."""

    def __init__(self, base, index, change, value, form):
        self.case = case = copy.copy(base)
        case.shared, case.inputs, case.form = {}, list(base.inputs), form
        given = case.inputs[index] = copy.copy(base.inputs[index])
        given.value = np.ascontiguousarray(value).reshape(value.shape)
        if form == "none":
            case.inputs = [g and copy.copy(g) for g in case.inputs]
            for g in case.inputs:
                if g and isinstance(g.value, np.ndarray):
                    g.constant = False
        formal = base.version.inputs[min(index, len(base.version.inputs) - 1)].name
        self.index, self.change, self.form, self.formal = index, change, form, formal
        old, new = base.inputs[index].value.shape, value.shape
        case.number = f"{base.id} version {base.version.since} {form}, {index} {formal}, {change}: {list(old)} -> {list(new)}"


def changed(base):
    """All Changed of a case."""
    for index, given in enumerate(base.inputs):
        if not given or not isinstance(given.value, np.ndarray):
            continue
        for change, value in changes(given.value):
            for form in ("fixed", "none"):
                yield Changed(base, index, change, value, form)


def kind(theirs, ours):
    """The kind of a finding, or ""."""
    a, b = stage(theirs), stage(ours)
    if b in ("crash", "hang"):
        return b
    if a in ("crash", "hang") or is_beyond(theirs):
        return ""
    if a == "ok" and b == "ok":
        return "shape" if [v[:-1] for v in theirs[1]] != [v[:-1] for v in ours[1]] else ""
    if b == "ok":
        return "accepted"
    return "refused" if a == "ok" else "late" if (a, b) == ("load", "run") else ""


def reason(one, found, theirs, ours, rows):
    """The reason of the row that explains a finding; empty if none does."""
    names = judge.names_of(one.case, judge.Verdict("", found), theirs)
    names.update(shapes=[g.value.shape if g and isinstance(g.value, np.ndarray) else None for g in one.case.inputs], index=one.index, change=one.change, form=one.form, input=one.formal, stage=stage(theirs), ours=ours[3] if ours[0] == "error" else "")
    for operator, kinds, condition, text in rows:
        if (operator == "*" or one.case.operator.label in operator.split()) and found in kinds.split("|"):
            if eval(condition, {"__builtins__": judge.NUMPY_NEEDS, **names}):
                return text
    return ""


def sweep(fuzzer, operator, args):
    """Prints the findings of an operator, those alike once, and returns the counts."""
    cases = [one for base in bases(fuzzer, operator, args.seed, args.bases) for one in changed(base)][::args.every]
    counts, groups = collections.Counter(), {}
    for at in range(0, len(cases), BATCH):
        batch = [(one.case, program.model.build(one.case)) for one in cases[at:at + BATCH]]
        theirs, ours = fuzzer.outcomes(batch)
        for one in cases[at:at + BATCH]:
            number = one.case.number
            outcomes = theirs[number][0], ours[number][0]
            found = kind(*outcomes)
            known = found and reason(one, found, *outcomes, fuzzer.faults)
            counts["known" if known else found or "agree"] += 1
            if found and not known:
                group = groups.setdefault((found, one.formal, one.change.rstrip("0123456789")), [0, number, outcomes])
                group[0] += 1
    for (found, _, _), (count, number, outcomes) in sorted(groups.items()):
        print(f"  FIND {found} ({count}) {number}\n    " + "\n    ".join(judge.told(o)[:300] for o in outcomes))
    print(f"{operator.label:44} {dict(counts)}", flush=True)
    return counts


def row_of(label, counts, args):
    total = sum(counts.values())
    return {"operator": label, "models": total, "agree": counts["agree"], "known": counts["known"],
            "open": total - counts["agree"] - counts["known"], "seed": args.seed, **args.run}


def arguments(doc):
    ap = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--library", default=os.environ.get("RETORT_LIBRARY") or os.path.join(program.ROOT, "out", "lib", "libretort.so.1"))
    ap.add_argument("--oracle", default="", help="library of official ONNX Runtime; by default that of the installed package")
    ap.add_argument("--seed", type=int, default=7)
    ap.add_argument("--bases", type=int, default=1)
    ap.add_argument("--every", type=int, default=1)
    ap.add_argument("--record", action="store_true")
    ap.add_argument("operators", nargs="*", metavar="OP")
    return ap.parse_args()


def main(doc):
    args = arguments(doc)
    args.run = record.of_run("")
    state, library = program.official()
    operators = schemas.load(state)
    engines = Worker(args.oracle or library, ((0, 1),), 10), Worker(args.library, ((99, 1),), 10)
    fuzzer, rows = program.Fuzzer(recipes.load(), engines, judge.read_faults(DIFFERENCES)), {}
    try:
        for operator in program.chosen(operators, args.operators, program.operators_of_retort(args.library)):
            counts = sweep(fuzzer, operator, args)
            if counts:
                rows[operator.label] = row_of(operator.label, counts, args)
    finally:
        fuzzer.close()
    if args.record:
        kept = [r for r in record.read(PATH) if r["operator"] not in rows] + list(rows.values())
        record.write(PATH, FIELDS, sorted(kept, key=lambda r: (":" in r["operator"], r["operator"])))
    opened = sum(r["open"] for r in rows.values())
    print(f"{sum(r['models'] for r in rows.values())} models of {len(rows)} operators, {opened} findings")
    return 1 if opened else 0
