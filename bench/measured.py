#!/usr/bin/env python3
"""Keeps what the pages show of reports of `retort bench --suite`: a file for each processor and instruction level.

    measured.py REPORT [REPORT ...] [--bf16 REPORT] [--called NAME] [--folder FOLDER] [--tool RETORT [--pages FOLDER]]

A report replaces the file of its processor and level in FOLDER (bench/measured). NAME is the processor's name as people
know it, such as "Zen 5": what the system tells is often only "AMD EPYC". A processor that has a file keeps its name.
--bf16 is a report of the same processor, measured with `--config session.precision=bf16`.
--tool also writes the report's page, docs/benchmarks/<name>-<level>.md, by `retort bench --markdown`.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys

from check import Wrong, level_of, load

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "measured")
PAGES = os.path.join(os.path.dirname(HERE), "docs", "benchmarks")
LEVELS = ("avx512", "avx2", "v2", "neon")  # in the order of columns


def is_of(kept, machine):
    """Whether a file is of this processor. Different ones may have the same name in virtual machines."""
    return (kept["machine"]["processor"], kept["machine"]["isa"]) == (machine["processor"], machine.get("isa", []))


def files(folder=FOLDER):
    """What is kept, in the order of columns."""
    kept = [load(path, "measured figures") for path in sorted(glob.glob(os.path.join(folder, "*.json")))]
    if not kept:
        raise Wrong(f"{folder} has no figures: measured.py writes them from a report")
    return sorted(kept, key=lambda r: (LEVELS.index(level_of(r["machine"])), r["called"]))


def ratios(report, rounds=False):
    """The ratios of the scenarios that ran and agreed. If Retort rounds to bfloat16, outputs differ."""
    return [{"name": s["name"], "precision": s.get("precision", ""), "report": [{"threads": r["threads"], "ratio": round(r["ratio"], 3)} for r in s["report"]]}
            for s in report["scenarios"] if "error" not in s and (rounds or not s.get("differs")) and all("ratio" in r for r in s["report"])]


def name_of(report, folder, called):
    """The processor's name: the one given, or that of a file of the same processor."""
    known = [kept["called"] for kept in files(folder) if is_of(kept, report["machine"])] if glob.glob(os.path.join(folder, "*.json")) else []
    if not called and not known:
        raise Wrong(f"{folder} has no figures of this processor, '{report['machine']['processor']}'; give its name as people know it, "
                    "such as --called 'Zen 5' (CALLED='Zen 5' for make)")
    return called or known[0]


def keep(report, bf16, called):
    machine = {key: report["machine"].get(key) for key in ("processor", "isa", "best_level")}
    return {"called": called, "date": report["date"], "engines": report["engines"], "machine": {**machine, "level": level_of(report["machine"])},
            "means": report["means"], "scenarios": ratios(report), "bf16": ratios(bf16, rounds=True) if bf16 else []}


def file_name(kept):
    return re.sub(r"\W+", "_", kept["called"].lower()) + "-" + kept["machine"]["level"]


def write(kept, folder):
    os.makedirs(folder, exist_ok=True)
    lines = [f"{json.dumps(key)}: " + ("[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]" if key in ("means", "scenarios", "bf16") and value else json.dumps(value))
             for key, value in kept.items()]
    with open(os.path.join(folder, file_name(kept) + ".json"), "w", encoding="utf-8") as f:
        f.write("{\n " + ",\n ".join(lines) + "\n}\n")


def add(a):
    bf16 = load(a.bf16, "report") if a.bf16 else None
    for path in a.reports:
        report = load(path, "report")
        try:
            own = bf16 if bf16 and is_of({"machine": bf16["machine"]}, report["machine"]) else None
            kept = keep(report, own, name_of(report, a.folder, a.called))
        except (KeyError, TypeError, AttributeError) as e:
            raise Wrong(f"{path} is not a report of retort bench --suite: {e!r} is missing") from e
        if not kept["scenarios"]:
            raise Wrong(f"{path} has no ratios: measure with --against")
        write(kept, a.folder)
        if a.tool:
            os.makedirs(a.pages, exist_ok=True)
            page = os.path.join(a.pages, file_name(kept) + ".md")
            done = subprocess.run([a.tool, "bench", "--from", path, "--markdown", page], stdout=subprocess.DEVNULL)
            if done.returncode not in (0, 1):
                raise Wrong(f"{a.tool} ended with {done.returncode} and wrote no {page}")
        print(f"{file_name(kept)}: {len(kept['scenarios'])} scenarios")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("reports", nargs="+", metavar="REPORT")
    ap.add_argument("--bf16", default="", metavar="REPORT")
    ap.add_argument("--called", default="", metavar="NAME")
    ap.add_argument("--folder", default=FOLDER)
    ap.add_argument("--tool", default="", metavar="RETORT")
    ap.add_argument("--pages", default=PAGES, metavar="FOLDER")
    try:
        add(ap.parse_args())
    except Wrong as e:
        print(f"measured.py: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
