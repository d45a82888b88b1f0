"""Keeps what the fuzzers have run in tests/fuzzed_operators.tsv and tests/fuzzed_graphs.tsv.

A row of the first is the last run of one operator: cases `first` to `first` + `cases` - 1 of a seed. `agreed`: both engines ran the case and agree.
`both_refuse`: both return errors. `no_kernel`: the oracle has no kernel for the case. `known`: a row of oracle_faults.tsv explains the difference.
`sensitive`: the last places of the inputs do (sensitivity.py). `open`: what is left. `commit` is that of the library, with a + if files differed from it. A run may be made in parts (--more), each from where the
last ended; the counts are then sums, and the commit is that of the last part.

A row of the second is one run of graphs. `code`: both engines refuse a run that is to fail, with different codes. `unknown`: Retort needs a shape that
it does not know when it loads the graph. `oracle_differs`: the oracle refuses, breaks, or differs from itself. `open`: what is left. `single`: nodes
that alone differ on the two engines, and were left out of the graphs.
"""
import csv
import os
import subprocess
import time

import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OPERATORS, GRAPHS = (os.path.join(ROOT, "tests", f"fuzzed_{what}.tsv") for what in ("operators", "graphs"))
RUN = ("oracle", "commit", "date")
COUNTS = ("cases", "agreed", "both_refuse", "no_kernel", "known", "sensitive", "open")
OPERATOR_FIELDS = ("operator", "seed", "first", *COUNTS, *RUN)
GRAPH_FIELDS = ("seed", "first", "graphs", "nodes", "agreed", "code", "unknown", "oracle_differs", "open", "single", *RUN)


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, encoding="utf-8")
    return done.stdout.strip() if done.returncode == 0 else ""


def of_run(commit):
    """What every row of this run has in its last columns. `commit`: that of the library, if it is not built from this checkout."""
    changed = [line for line in git("status", "--porcelain", "--untracked-files=no").splitlines() if not line.startswith(" M tests/fuzzed_")]
    return {"oracle": onnxruntime.__version__, "commit": commit or git("rev-parse", "--short=12", "HEAD") + "+" * bool(changed),
            "date": time.strftime("%Y-%m-%d", time.gmtime())}


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t"))


def write(path, fields, rows):
    with open(path, "w", encoding="utf-8", newline="") as f:
        writer = csv.DictWriter(f, fields, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def counts_of(label, seed, path=OPERATORS):
    """The first case and the counts of an operator's run with a seed, numbers; nothing if there was none, or with another oracle."""
    row = next((r for r in read(path) if (r["operator"], r["seed"], r["oracle"]) == (label, str(seed), onnxruntime.__version__)), None)
    return {name: int(row[name]) for name in ("first", *COUNTS)} if row else {}


def keep_operator(row, path=OPERATORS):
    """Replaces the row of an operator."""
    rows = [r for r in read(path) if r["operator"] != row["operator"]] + [row]
    write(path, OPERATOR_FIELDS, sorted(rows, key=lambda r: (":" in r["operator"], r["operator"])))


def keep_graphs(row, path=GRAPHS):
    """Adds a run of graphs, in place of one that begins with the same graph."""
    rows = [r for r in read(path) if (int(r["seed"]), int(r["first"])) != (row["seed"], row["first"])] + [row]
    write(path, GRAPH_FIELDS, sorted(rows, key=lambda r: (int(r["seed"]), int(r["first"]))))
