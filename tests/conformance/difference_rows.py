#!/usr/bin/env python3
"""Runs the rows of operator_differences.tsv on both engines: each row of difference_rows_*.py has models
of one operator, and says what Retort and official ONNX Runtime do with them. A row that does not exist is named in
NOT_RUN with a reason.

    difference_rows.py LIBRARY OFFICIAL [WORD ...]     only the rows whose operators or condition contain a WORD
"""
import csv
import os
import sys

import difference_rows_more  # noqa: F401: fills ROWS and NOT_RUN
import difference_rows_onnx  # noqa: F401: the same
from difference_words import HERE, NOT_RUN, ROWS, from_wire
from engines import Worker


def told(outcome):
    return str([from_wire(v) for v in outcome[1]] if outcome[0] == "ok" else outcome)[:300].replace("\n", " ")


def main():
    library, official, *words = sys.argv[1:]
    with open(os.path.join(HERE, "operator_differences.tsv"), encoding="utf-8") as f:
        listed = {(r["operators"], r["condition"]) for r in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)}
    failed = 0
    here = {r[:2] for r in ROWS} | set(NOT_RUN)
    for difference, what in ((listed - here, "is neither run here nor in NOT_RUN"), (here - listed, "is not in operator_differences.tsv")):
        for key in sorted(difference):
            failed += 1
            print(f"FAIL {key}: {what}")
    chosen = [(r, i, c) for r in ROWS for i, c in enumerate(r[2]) if not words or any(w in r[0] + r[1] for w in words)]
    batch = [(k, *c[2]) for k, (_, _, c) in enumerate(chosen)]
    found = [Worker(engine, [(99, 1)], 20).run([(*case, []) for case in batch]) for engine in (library, official)]
    for k, (r, i, case) in enumerate(chosen):
        for name, outcomes, wanted in (("Retort", found[0], case[0]), ("ONNX Runtime", found[1], case[1])):
            outcome = outcomes[k][0]
            wanted.ours = found[0][k][0]
            wrong = wanted.check(outcome)
            if wrong:
                failed += 1
                print(f"FAIL {r[0]}, {r[1]}: case {i} of {name}: {wrong}: {told(outcome)}")
    print(f"{len(set(id(r) for r, _, _ in chosen))} of {len(listed)} rows are run: {max(0, len(chosen) - failed)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
