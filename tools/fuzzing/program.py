"""The program fuzz_ops."""
import argparse
import collections
import concurrent.futures
import fnmatch
import glob
import json
import os
import subprocess
import sys
import time

import onnx

import judge
import model
import proofs
import recipes
import record
import reproduction
import schemas
import sensitivity
import shrink
from case import Case, Refused
from engines import Worker
from recipes.plain import plain

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONFIGURATIONS = ((0, 1), (0, 3), (99, 1), (99, 3))
BATCH = 200
NOT_OURS = ("code", "sensitive", "fault of the oracle")
MOST = 8  # times the number of cases: where --agreed stops
ATTEMPTS = 20  # times that types and version are drawn again if a recipe raises Refused


def official():
    """(the module with schemas and kernels, path of the library) of the installed package onnxruntime."""
    import onnxruntime.capi.onnxruntime_pybind11_state as state
    found = glob.glob(os.path.join(os.path.dirname(state.__file__), "libonnxruntime.so*"))
    return state, found[0] if found else ""


def make_case(operator, seed, number, table):
    """(case, result of model.build()); (case, None) if the recipe refused all attempts."""
    function = table.get(operator.label, plain)
    for attempt in range(ATTEMPTS):
        case = Case(operator, seed, number if not attempt else f"{number}+{attempt}")
        case.number = number
        try:
            function(case)
            return case, model.build(case.finish())
        except Refused:
            continue
    return case, None


class Fuzzer:
    """`table`: recipes by label; `engines`: (oracle, Retort) as Workers."""

    def __init__(self, table, engines, faults):
        self.table, self.engines, self.faults = table, engines, faults
        self.pool = concurrent.futures.ThreadPoolExecutor(2)

    def outcomes(self, cases):
        """[the oracle's outcomes, Retort's outcomes], both by number of the case. `cases`: [(case, result of model.build())]."""
        batch = [(case.number, *made) for case, made in cases]
        return [future.result() for future in [self.pool.submit(engine.run, batch) for engine in self.engines]]

    def verdict(self, one):
        """The Verdict on one (case, result of model.build())."""
        theirs, ours = self.outcomes([one])
        number = one[0].number
        return judge.verdict(one[0], theirs[number][0], ours[number], self.engines[1].configurations)

    def fault(self, case, found, theirs, ours):
        """The reason of the row that explains a finding, or ""."""
        return judge.explained(case, found, theirs, self.faults, proofs.Proofs(case, theirs, ours, self.engines))

    def run(self, operator, seed, numbers):
        """Yields (case, Verdict) of the cases with these numbers."""
        numbers = list(numbers)
        for at in range(0, len(numbers), BATCH):
            cases = [make_case(operator, seed, n, self.table) for n in numbers[at:at + BATCH]]
            yield from ((case, judge.Verdict("invalid")) for case, made in cases if not made)
            cases = [(case, made) for case, made in cases if made]
            theirs, ours = self.outcomes(cases)
            for case, _ in cases:
                first = theirs[case.number][0]
                found = judge.verdict(case, first, ours[case.number], self.engines[1].configurations)
                if found.kind:
                    found.fault = self.fault(case, found, first, ours[case.number][0])
                if found.kind == "value" and not found.fault and self.sensitive(case, first, ours[case.number][0]):
                    found.kind = "sensitive"
                yield case, found

    def sensitive(self, case, theirs, ours):
        """Whether the last places of the inputs explain that these outcomes differ."""
        values = [judge.defined(case, outcome[1]) for outcome in (theirs, ours)]
        return sensitivity.explains(case, *values, self.outcomes)

    def close(self):
        for engine in self.engines:
            engine.stop()
        self.pool.shutdown()


class Tally:
    """The counts of one operator, and its findings, similar ones in one group. `before`: the counts of an earlier part of the run (record.py)."""

    def __init__(self, label, before=None):
        self.before = before or {}
        self.label, self.states, self.groups, self.agreed = label, collections.Counter(), {}, 0

    @property
    def total(self):
        return sum(self.states.values())

    def add(self, case, found):
        self.agreed += found.state == "valid" and not found.kind
        self.states[found.state] += 1
        if found.kind:
            group = self.groups.setdefault((found.kind, found.group, found.fault), {"count": 0, "first": case.id, "detail": found.detail})
            group["count"] += 1

    def kinds(self):
        kinds = collections.Counter()
        for (kind, _, fault), group in self.groups.items():
            kinds[kind if not fault else "fault of the oracle"] += group["count"]
        return kinds

    def line(self):
        shares = " ".join(f"{state} {100 * self.states[state] / self.total:3.0f}%" for state in ("valid", "beyond", "invalid") if self.total)
        return f"{self.label:44} {shares}  {', '.join(f'{kind} {n}' for kind, n in sorted(self.kinds().items()))}"

    def open(self):
        """The number of findings that count against Retort."""
        return sum(n for kind, n in self.kinds().items() if kind not in NOT_OURS)

    def row(self, args):
        """The row of tests/fuzzed_operators.tsv."""
        counts = {"cases": self.total, "agreed": self.agreed, "both_refuse": self.states["invalid"], "no_kernel": self.states["beyond"],
                  "known": self.kinds()["fault of the oracle"], "sensitive": self.kinds()["sensitive"], "open": self.open()}
        counts = {name: count + self.before.get(name, 0) for name, count in counts.items()}
        return {"operator": self.label, "seed": args.seed, "first": self.before.get("first", args.first), **counts, **args.run}

    def findings(self):
        for (kind, name, fault), group in sorted(self.groups.items(), key=lambda g: -g[1]["count"]):
            yield {"operator": self.label, "kind": kind, "group": name, "fault": fault, **group}


def chosen(operators, wanted, known):
    """The operators that names and patterns select; without any, all whose label is in `known`."""
    if not wanted:
        return [o for o in operators.values() if o.label in known]
    found = []
    for pattern in wanted:
        fit = [o for o in operators.values() if fnmatch.fnmatchcase(o.label, pattern)]
        if not fit:
            raise SystemExit(f"fuzz_ops: no operator is named {pattern}")
        found += [o for o in fit if o not in found and (o.label == pattern or o.label in known or o.kernels)]
    return found


def operators_of_retort(library):
    """The labels of the operators that `retort ops` lists; empty if the tool does not lie in ../bin beside the library."""
    tool = os.path.join(os.path.dirname(os.path.dirname(library)), "bin", "retort")
    if not os.path.exists(tool):
        return set()
    rows = json.loads(subprocess.run([tool, "ops", "--json"], capture_output=True, check=True).stdout)
    rows = rows["operators"] if isinstance(rows, dict) else rows
    return {row["name"] if row["domain"] in ("", "ai.onnx") else f"{row['domain']}:{row['name']}" for row in rows}


def reproduce(fuzzer, operators, text, folder, small):
    """Writes a case into a folder and prints the results of both engines. With `small`, it is a smaller case with the same finding."""
    seed, label, number = text.split("/")
    operator = next((o for o in operators.values() if o.label == label), None)
    if not operator:
        raise SystemExit(f"fuzz_ops: no operator is named {label}")
    made = make_case(operator, int(seed), int(number), fuzzer.table)
    if small and made[1]:
        case = shrink.shrink(made[0], fuzzer.verdict)
        made = case, model.build(case)
    return reproduction.show(fuzzer, made, folder)


def arguments(doc):
    ap = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--cases", type=int, default=200, help="number of cases of each operator (200)")
    ap.add_argument("--agreed", type=int, default=0, metavar="N",
                    help=f"go on, up to {MOST} times as many cases, until both engines have run N cases of an operator and agree")
    ap.add_argument("--more", action="store_true", help="begin where the recorded run with this seed ended")
    ap.add_argument("--commit", default="", help="with --record: the commit of the library, if it is not built from this checkout")
    ap.add_argument("--record", action="store_true", help="write the counts into tests/fuzzed_operators.tsv")
    ap.add_argument("--first", type=int, default=0, help="number of the first case")
    ap.add_argument("--library", default=os.environ.get("RETORT_LIBRARY") or os.path.join(ROOT, "out", "lib", "libretort.so.1"))
    ap.add_argument("--oracle", default="", help="library of official ONNX Runtime; by default that of the installed package")
    ap.add_argument("--seconds", type=float, default=10, help="limit of processor time of a case on one engine with one setting (10)")
    ap.add_argument("--json", default="", help="write findings and counts into this file")
    ap.add_argument("--details", type=int, default=8, help="groups of findings to print for an operator (8)")
    ap.add_argument("--reproduce", metavar="SEED/OP/CASE", default="")
    ap.add_argument("--shrink", action="store_true", help="with --reproduce: search for a smaller case with the same finding")
    ap.add_argument("--to", default="", help="folder for the model and the inputs of --reproduce (a new one)")
    ap.add_argument("operators", nargs="*", metavar="OP")
    return ap.parse_args()


def tally_of(fuzzer, operator, args):
    """The Tally of one operator: of as many cases as are asked for, and of more until enough of them agree."""
    tally = Tally(operator.label, record.counts_of(operator.label, args.seed) if args.more else None)
    first, agreed, ran = (tally.before.get(name, default) for name, default in (("first", args.first), ("agreed", 0), ("cases", 0)))
    count = args.cases - ran if args.cases > ran else missing(args, agreed, ran)
    while count > 0:
        at = first + ran + tally.total
        for case, found in fuzzer.run(operator, args.seed, range(at, at + count)):
            tally.add(case, found)
        count = missing(args, agreed + tally.agreed, ran + tally.total)
    return tally


def missing(args, agreed, ran):
    """How many cases an operator is to run next, if `ran` have run and `agreed` of them agree."""
    return min(args.agreed - agreed, BATCH, MOST * args.cases - ran) if agreed else 0


def fuzz(fuzzer, wanted, args):
    """Fuzzes the operators, prints their findings, and returns their tallies."""
    tallies = []
    for operator in wanted:
        tally = tally_of(fuzzer, operator, args)
        tallies.append(tally)
        if args.record and tally.total:
            record.keep_operator(tally.row(args))
        print(tally.line(), flush=True)
        for finding in list(tally.findings())[:args.details]:
            mark = "  known" if finding["fault"] else "  near" if finding["kind"] == "sensitive" else "  FIND"
            print(f"{mark} {finding['kind']} ({finding['count']}) {finding['first']} {finding['group']}\n        "
                  f"{finding['fault'] or finding['detail'][:300]}", flush=True)
    return tallies


def write_json(path, args, tallies, seconds):
    report = {"seed": args.seed, "cases": args.cases, "seconds": seconds, "onnx": onnx.__version__,
              "operators": [{"operator": t.label, **t.states} for t in tallies], "findings": [f for t in tallies for f in t.findings()]}
    with open(path, "w", encoding="utf-8") as f:
        json.dump(report, f, indent=1)


def main(doc):
    args = arguments(doc)
    args.run = record.of_run(args.commit)
    state, library = official()
    operators = schemas.load(state)
    engines = Worker(args.oracle or library, ((0, 1),), args.seconds), Worker(args.library, CONFIGURATIONS, args.seconds)
    fuzzer = Fuzzer(recipes.load(), engines, judge.read_faults())
    try:
        if args.reproduce:
            return reproduce(fuzzer, operators, args.reproduce, args.to, args.shrink)
        begin = time.monotonic()
        tallies = fuzz(fuzzer, chosen(operators, args.operators, operators_of_retort(args.library)), args)
    finally:
        fuzzer.close()
    seconds = time.monotonic() - begin
    if args.json:
        write_json(args.json, args, tallies, seconds)
    findings = sum(t.open() for t in tallies)
    low = [t.label for t in tallies if t.states["valid"] + t.states["beyond"] < t.states["invalid"]]
    print(f"{len(tallies)} operators, {args.cases} cases each in {seconds:.0f} s; less than half valid: {', '.join(low) or 'none'}")
    print(f"{findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(__doc__))
