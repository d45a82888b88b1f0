#!/usr/bin/env python3
"""Lists the stages that run under each sanitizer, and records in tests/sanitizers.tsv when each last ran without a finding.

    sanitizers.py last    prints when the whole suite was clean: the oldest and the newest of its last clean runs, and what never was
    sanitizers.py tree    prints the fingerprint of the checkout; nothing if it has uncommitted changes, because such runs are not recorded

A run of the whole suite takes hours, so it may be done in parts, which may be of different commits: each row of the file is the last
clean run of one stage under one sanitizer at one instruction level. The whole suite is all stages of STAGES under each sanitizer, at
AVX2 and at the highest level of the machines that it ran on.
"""
import argparse
import csv
import dataclasses
import hashlib
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORD = "tests/sanitizers.tsv"
COMMON = ("unit", "conformance", "saved", "ort_format", "runs", "models", "errors", "robustness", "cli")
STAGES = {"asan": (*COMMON, "providers", "extensions"), "tsan": COMMON}
# The other stages, each with the reason why it does not run under sanitizers.
LEFT_OUT = {
    "sanitized": "the stage unit runs the same tests under asan",
    "previous": "the stage unit runs the same scenes",
    "layers": "it runs nothing that is compiled",
    "neon": "it is compiled for another processor",
    "digits": "its model is among those of the stages cli and unit",
    "package": "it tests the installed library of the release build",
    "dist": "as package",
    "plugins": "most of what runs is compiled by others, without sanitizers",
    "cuda": "the software CUDA switches the stacks of fibers, which sanitizers do not follow",
    "clients": "the host programs (JVM, Node, Go) take signals and memory for themselves as sanitizers do; C++ is in unit",
    "bindings": "as clients",
    "python": "as package, and the interpreter has an allocator of its own",
}
TSAN_ONLY_LEFT_OUT = {
    "providers": "oneDNN and XNNPACK have thread pools that are not compiled with it, so it reports all their synchronisation",
    "extensions": "the libraries of other projects are not compiled with it",
}
LEVELS = {"avx512": {"avx512f", "avx512bw", "avx512dq", "avx512cd", "avx512vl"}, "avx2": {"avx2", "fma", "f16c", "bmi2"}}
ORDER = ("v2", "avx2", "avx512")
LOWER = "avx2"  # the level at which the suite runs besides the highest


@dataclasses.dataclass
class Row:
    sanitizer: str
    level: str
    stage: str
    tree: str
    commit: str
    date: str
    highest: str  # level of that machine
    processor: str
    passed: int = 0
    skipped: int = 0

    def part(self):
        return self.sanitizer, self.level, self.stage


FIELDS = [f.name for f in dataclasses.fields(Row)]


def cpu_info(key):
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return next((line.partition(":")[2].strip() for line in f if line.startswith(key)), "")


def highest_level():
    flags = set(cpu_info("flags").split())
    return next((name for name, needed in LEVELS.items() if needed <= flags and LEVELS["avx2"] <= flags), "v2")


def level_of(wanted, highest):
    """The level at which the library runs if RETORT_ISA is `wanted`: src/base/cpu.cc."""
    if "-" in wanted:  # the record needs whole levels only
        return wanted
    return min(wanted, highest, key=ORDER.index) if wanted in ORDER else highest


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, encoding="utf-8")
    return done.stdout if done.returncode == 0 else None


def tree():
    """The fingerprint of all committed files except the record itself, which may change between two parts of a run."""
    changed, files = git("status", "--porcelain", "--untracked-files=all"), git("ls-tree", "-r", "HEAD")
    if changed is None or files is None or any(line[3:] != RECORD for line in changed.splitlines()):
        return ""
    lines = [line for line in files.splitlines() if line.partition("\t")[2] != RECORD]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as f:
        return [Row(**{**r, "passed": int(r["passed"]), "skipped": int(r["skipped"])}) for r in csv.DictReader(f, delimiter="\t")]


def whole(rows):
    """The parts of the whole suite. Its highest level is that of the best machine among the rows."""
    levels = dict.fromkeys((LOWER, max((LOWER, *(r.highest for r in rows)), key=ORDER.index)))
    return [(sanitizer, level, stage) for sanitizer, stages in STAGES.items() for level in levels for stage in stages]


class Recorder:
    """Records the clean stages of one run. `tree`: the sources that were built."""

    def __init__(self, built, sanitizer, path=None):
        self.tree, self.sanitizer, self.path = built, sanitizer, path or os.path.join(ROOT, RECORD)
        self.highest = highest_level()
        self.level = level_of(os.environ.get("RETORT_ISA", ""), self.highest)

    def missing(self):
        """The stages that have no clean run of these files."""
        done = {r.stage for r in read(self.path) if (r.sanitizer, r.level, r.tree) == (self.sanitizer, self.level, self.tree)}
        return [s for s in STAGES[self.sanitizer] if s not in done]

    def add(self, stage, count):
        """Returns whether the stage was recorded: all of it passed, and the files have not changed since the build. After a finding, its
        row goes until it is clean again."""
        if not self.tree or stage not in STAGES[self.sanitizer] or tree() != self.tree:
            return False
        row = Row(self.sanitizer, self.level, stage, self.tree, (git("rev-parse", "--short=12", "HEAD") or "").strip(),
                  time.strftime("%Y-%m-%d", time.gmtime()), self.highest, cpu_info("model name"), count.passed, count.skipped)
        clean = count.passed > 0 and not count.failed
        if clean or count.failed:
            self.write([r for r in read(self.path) if r.part() != row.part()] + [row] * clean)
        return clean

    def write(self, rows):
        with open(self.path, "w", encoding="utf-8", newline="") as f:
            writer = csv.DictWriter(f, FIELDS, delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(dataclasses.asdict(r) for r in sorted(rows, key=Row.part) if r.stage in STAGES.get(r.sanitizer, ()))


def recorder(sanitizer, built):
    """A Recorder; None if the suite does not use this sanitizer, or if the built sources had uncommitted changes."""
    if sanitizer not in STAGES or not built:
        print(f"this run is not recorded in {RECORD}: " + ("no tree of committed files was named (--tree)" if sanitizer in STAGES else f"the whole suite does not use {sanitizer}"))
        return None
    return Recorder(built, sanitizer)


def environment():
    """The variables that tools/sanitizers.sh exports."""
    with open(os.path.join(ROOT, "tools", "sanitizers.sh"), encoding="utf-8") as f:
        return dict(re.findall(r'^export (\w+)="([^"]*)"$', f.read(), re.M))


def age(commit):
    """The number of commits since this one; infinite if it is not in this history."""
    count = git("rev-list", "--count", f"{commit}..HEAD")
    return float("inf") if count is None or git("merge-base", "--is-ancestor", commit, "HEAD") is None else int(count)


def told(row):
    since = age(row.commit)
    return f"{row.date} at {row.commit} ({'not in this history' if since == float('inf') else f'{since} commits ago'})"


def last(path=None):
    """Lines about the last clean runs of the whole suite."""
    rows = {r.part(): r for r in read(path or os.path.join(ROOT, RECORD))}
    parts = whole(rows.values())
    clean = sorted((rows[p] for p in parts if p in rows), key=lambda r: (-age(r.commit), r.date))
    if clean:
        yield (f"under sanitizers, {len(clean)} of {len(parts)} parts of the suite were clean when they last ran: the oldest on {told(clean[0])}, "
               f"the newest on {told(clean[-1])}; {sum(r.passed for r in clean)} tests")
    never = {}
    for sanitizer, level, stage in (p for p in parts if p not in rows):
        never.setdefault((sanitizer, level), []).append(stage)
    for (sanitizer, level), stages in never.items():
        yield f"no clean run is recorded of {sanitizer} at {level}: {' '.join(stages)} (make test-san runs them)"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("what", choices=("last", "tree"))
    what = ap.parse_args().what
    print("\n".join(last()) if what == "last" else tree())


if __name__ == "__main__":
    sys.exit(main())
