#!/usr/bin/env python3
"""Measures the values of session.preset side by side, and the type of work Efficient: one table for each model, each
row from a fresh process; the median of several processes.

    presets.py LIBRARY --programs DIR --models DIR [--threads N] [--rounds N] [--update PAGE] [NAME ...]

NAME: models of the zoo (make zoo) with float inputs. --update writes the tables into the page's chapter Figures.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import processor  # noqa: E402

CASES = [("none", None), ("high_performance", None), ("minimal_size", None), ("low_power", None), ("low_latency", None), ("none", "Efficient")]
COLUMNS = [("make_ms", "session, ms"), ("first_ms", "first run, ms"), ("run_ms", "run, ms"), ("after_pause_ms", "run after a pause, ms"),
           ("after_pause_p95_ms", "its 95th percentile"), ("processor_ms", "processor time, ms"), ("mib", "memory, MiB")]
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def measure(a, model):
    """The medians of each case; the cases alternate, so that a slow minute of the machine touches all of them."""
    found = {case: [] for case in CASES}
    for _ in range(a.rounds):
        for preset, workload in CASES:
            command = [os.path.join(a.programs, "presets"), a.library, os.path.join(a.models, model + ".onnx"), preset, str(a.threads), *([workload] if workload else [])]
            done = subprocess.run(command, capture_output=True, encoding="utf-8")
            if done.returncode:
                raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
            found[preset, workload].append(json.loads(done.stdout))
    return {case: {key: statistics.median(r[key] for r in rows) for key, _ in COLUMNS} for case, rows in found.items()}


def table(model, rows):
    lines = [f"| {model} | {' | '.join(title for _, title in COLUMNS)} |", "|---|" + "---:|" * len(COLUMNS)]
    for (preset, workload), row in rows.items():
        name = f"`ep.dynamic.workload_type` = {workload}" if workload else "no preset" if preset == "none" else f"`{preset}`"
        lines.append(f"| {name} | " + " | ".join(f"{row[key]:.{1 if row[key] >= 10 else 2}f}" for key, _ in COLUMNS) + " |")
    return "\n".join(lines)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("library")
    ap.add_argument("names", nargs="*", default=["mobilenet_v2"])
    ap.add_argument("--programs", default="build/release")
    ap.add_argument("--models", default="build/zoo/models")
    ap.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--update", default="")
    a = ap.parse_intermixed_args()
    tables = [table(name, measure(a, name)) for name in a.names]
    print("\n\n".join(tables))
    if a.update:
        with open(a.update, encoding="utf-8") as f:
            head, _, rest = f.read().partition(BEGIN)
        tail = rest.partition(END)[2]
        text = f"{processor.describe()}. {a.threads} threads;\nmedians of {a.rounds} processes.\n\n" + "\n\n".join(tables)
        with open(a.update, "w", encoding="utf-8") as f:
            f.write(f"{head}{BEGIN}\n{text}\n{END}{tail}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
