#!/usr/bin/env python3
"""Run the test cases that export_cases.py writes on an engine library and compare the result with a list.

    run_cases.py --library LIB --tool RUN_CASES [--cases DIR] [--only REGEX] [--tsv FILE]
                 [--expected FILE | --expected none] [--update [--allow-growth]] [--saved-by LIB [--saved-as ORT]]

LIB has ONNX Runtime's C ABI (default: $RETORT_LIBRARY). RUN_CASES is the program built from run_cases.cc. DIR is
filled by export_cases.py if it is missing or of another onnx release.

The list names the cases that may fail and why (the class that run_cases gives; value@0: at --level 0 only). It may only
shrink: a case that fails without being listed and a listed case that passes are both failures of this test; crashes and
hangs cannot be listed.
--update rewrites the list, and refuses to add to it without --allow-growth.

With --saved-by, each model is replaced by what that library saves, optimised; cases that LIB fails without this option
count as listed, and a listed case may pass. With --saved-as ORT, models are saved in ORT format; cases
that the library that saved them cannot run itself count as listed, too.

The last line is "N passed, N failed".
"""
import argparse
import collections
import fcntl
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FORMAT = 3  # of export_cases.py
NEVER_LISTED = ("crash", "timeout")
# The thousand columns of this model's last product are equal, and so are their sums near 1e10. Products in fewer multiplications
# round the columns differently (docs/adr/0022-strassen.md), and Softmax turns this into 0 and 1. Sessions with
# session.strict
# multiply plainly, so every value is compared there.
LAST_BITS = {"light/test_squeezenet"}
STRICT = ["--config", "session.strict=1"]
HEADER = "# Cases that fail, and the class of their failure. Made by run_cases.py --update; this list may only shrink.\n"


def load_cases(folder):
    """The case list of index.json; exports the cases first if they do not exist. Other processes wait meanwhile."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.normpath(folder) + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cases = exported(folder)
        if cases is None:
            subprocess.run([sys.executable, os.path.join(HERE, "export_cases.py"), "--out", folder], check=True)
            cases = exported(folder)
    return cases


def exported(folder):
    """The existing cases of this onnx release and format, or None."""
    import onnx
    try:
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as f:
            data = json.load(f)
    except FileNotFoundError:
        return None
    return data["cases"] if (data["onnx"], data["format"]) == (onnx.__version__, FORMAT) else None


def name_of(case):
    return f"{case['kind']}/{case['name']}"


def manifest_line(case, folder, strict=False):
    name = name_of(case)
    rule = "shape" if case["nondeterministic"] or (name in LAST_BITS and not strict) else "close"
    sets = [os.path.join(folder, s["dir"]) for s in case["data_sets"]]
    model = os.path.join(folder, case["dir"], "model.onnx")
    return "\t".join([name, rule, repr(case["rtol"]), repr(case["atol"]), model, *sets])


def run(tool, library, cases, folder, tsv, options):
    """{case name: (passed, class, message)}. Cases of LAST_BITS run under session.strict, too, where all their
    values count."""
    rows = run_once(tool, library, cases, folder, tsv, options)
    strict = [c for c in cases if name_of(c) in LAST_BITS]
    again = run_once(tool, library, strict, folder, tsv + ".strict", options + STRICT, True) if strict else {}
    return {**rows, **{name: row for name, row in again.items() if rows[name][0]}}


def run_once(tool, library, cases, folder, tsv, options, strict=False):
    manifest = tsv + ".manifest"
    with open(manifest, "w", encoding="utf-8") as f:
        f.writelines(manifest_line(c, folder, strict) + "\n" for c in cases)
    code = subprocess.run([tool, library, manifest, tsv, *options]).returncode
    if code:
        sys.exit(f"run_cases ended with {code}")
    rows = {}
    with open(tsv, encoding="utf-8", errors="replace") as f:
        for line in f:
            name, status, reason, _, _, _, message = line.rstrip("\n").split("\t")
            rows[name] = (status == "pass", reason, message)
    return rows


def read_expected(path):
    """{case name: class}"""
    if path == "none" or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        return dict(line.split() for line in f if line.strip() and not line.startswith("#"))


def at_level(listed, level):
    """The cases that may fail at this level: all except those of a class "CLASS@N" for another level N."""
    return {n: c for n, c in listed.items() if c.partition("@")[2] in ("", str(level))}


def write_expected(path, rows, old, allow_growth, level=99):
    """Rewrites the list from the results; returns the cases that prevent it from being written."""
    mine = at_level(old, level)
    known = {n: c for n, c in old.items() if n not in rows or n not in mine}  # not run this time (--only, --level)
    failing = {n: c for n, (ok, c, _) in rows.items() if not ok and c not in NEVER_LISTED}
    grown = sorted(n for n in failing if n not in mine)
    if grown and not allow_growth:
        return grown
    known.update({n: mine[n] if mine.get(n) == f"{c}@{level}" else c for n, c in failing.items()})
    with open(path, "w", encoding="utf-8") as f:
        f.write(HEADER)
        f.writelines(f"{n}\t{known[n]}\n" for n in sorted(known))
    return []


def complaints(rows, expected, saved=False):
    """One line for each case whose result is neither correct nor the one in the list."""
    for name, (ok, reason, message) in rows.items():
        if not ok and (name not in expected or reason in NEVER_LISTED):
            yield f"{name}: {reason}: {message}"
        elif ok and name in expected and not saved:
            yield f"{name}: is in the list of expected failures but passes; remove it"


def table(rows, expected):
    kinds = collections.defaultdict(collections.Counter)
    for name, (ok, _, _) in rows.items():
        for kind in (name.split("/")[0], "all"):
            kinds[kind]["total"] += 1
            kinds[kind]["pass" if ok else "known" if name in expected else "fail"] += 1
    print(f"{'kind':20}{'total':>7}{'passed':>8}{'known':>7}{'failed':>8}")
    for kind in sorted(kinds, key=lambda k: (k == "all", k)):
        c = kinds[kind]
        print(f"{kind:20}{c['total']:7}{c['pass']:8}{c['known']:7}{c['fail']:8}")


def arguments():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--library", default=os.environ.get("RETORT_LIBRARY"))
    ap.add_argument("--tool", required=True)
    ap.add_argument("--cases", default="build/cases")
    ap.add_argument("--only", default="", help="regular expression on kind/name")
    ap.add_argument("--tsv", default="")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--timeout", type=int, default=120, help="time limit of a case in seconds")
    ap.add_argument("--level", type=int, default=99, help="graph optimisation level, 0 for none")
    ap.add_argument("--expected", default=os.path.join(HERE, "expected_failures.tsv"))
    ap.add_argument("--saved-by", default="")
    ap.add_argument("--saved-as", default="", choices=["", "ORT"])
    ap.add_argument("--update", action="store_true")
    ap.add_argument("--allow-growth", action="store_true")
    a = ap.parse_args()
    if not a.library:
        ap.error("give --library or set RETORT_LIBRARY")
    return a


def main():
    a = arguments()
    folder = os.path.abspath(a.cases)
    cases = [c for c in load_cases(folder) if re.search(a.only, name_of(c))]
    tsv = a.tsv or os.path.join(folder, "results.tsv")
    options = ["--threads", str(a.threads), "--level", str(a.level), "--timeout", str(a.timeout)]
    listed = read_expected(a.expected)
    expected = at_level(listed, a.level)
    if a.saved_by:
        plain = run(a.tool, a.library, cases, folder, tsv, options)
        expected.update({n: c for n, (ok, c, _) in plain.items() if not ok})
        options += ["--saved-by", a.saved_by, *(["--saved-as", a.saved_as] if a.saved_as else [])]
    if a.saved_as:
        itself = run(a.tool, a.saved_by, cases, folder, tsv, options)
        expected.update({n: c for n, (ok, c, _) in itself.items() if not ok})
    rows = run(a.tool, a.library, cases, folder, tsv, options)
    if a.update:
        grown = write_expected(a.expected, rows, listed, a.allow_growth, a.level)
        if grown:
            print(f"the list would grow by {len(grown)} cases (--allow-growth permits it):", *grown[:20], sep="\n  ")
            return 1
        expected = at_level(read_expected(a.expected), a.level)
    wrong = list(complaints(rows, expected, a.saved_by))
    for line in wrong:
        print("FAIL", line)
    table(rows, expected)
    known = sum(not ok and n in expected for n, (ok, _, _) in rows.items())
    if known:
        print(f"{known} known failures are in {os.path.basename(a.expected)}")
    print(f"{sum(ok for ok, _, _ in rows.values())} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
