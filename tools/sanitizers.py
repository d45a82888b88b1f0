#!/usr/bin/env python3
"""Lists the stages that run under each sanitizer, and records in tests/sanitizers.tsv when all of them last ran without a finding.

    sanitizers.py last    prints the last clean run of the whole suite
    sanitizers.py tree    prints the fingerprint of the checkout; nothing if it has uncommitted changes, because such runs are not recorded

A run of the whole suite takes hours, so it may be done in parts: a sanitizer, an instruction level and some stages at a time.
Each row of the file has a sanitizer, a level, a tree, and the stages that were clean there. The whole suite is all stages of
STAGES under each sanitizer, at AVX2 and at the highest level of the machine, on the same tree.
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
    "layers": "it runs nothing that is compiled",
    "neon": "it is compiled for another processor",
    "digits": "its model is among those of the stages cli and unit",
    "package": "it tests the installed library of the release build",
    "dist": "as package",
    "plugins": "most of what runs is compiled by others, without sanitizers",
    "clients": "the host programs (JVM, Node, Go) take signals and memory for themselves as sanitizers do; C++ is in unit",
    "bindings": "as clients",
}
TSAN_ONLY_LEFT_OUT = {
    "providers": "oneDNN and XNNPACK have thread pools that are not compiled with it, so it reports all their synchronisation",
    "extensions": "the libraries of other projects are not compiled with it",
}
LEVELS = {"avx512": {"avx512f", "avx512bw", "avx512dq", "avx512cd", "avx512vl"}, "avx2": {"avx2", "fma", "f16c", "bmi2"}}
LOWER = "avx2"  # the level at which the suite runs besides the highest


@dataclasses.dataclass
class Row:
    tree: str
    commit: str
    date: str
    sanitizer: str
    level: str
    highest: str  # level of that machine
    processor: str
    stages: str  # separated by commas
    passed: int = 0
    skipped: int = 0

    def done(self):
        return set(filter(None, self.stages.split(",")))


FIELDS = [f.name for f in dataclasses.fields(Row)]


def cpu_info(key):
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return next((line.partition(":")[2].strip() for line in f if line.startswith(key)), "")


def highest_level():
    flags = set(cpu_info("flags").split())
    return next((name for name, needed in LEVELS.items() if needed <= flags and LEVELS["avx2"] <= flags), "v2")


def level_of(wanted, highest):
    """The level at which the library runs if RETORT_ISA is `wanted`: src/base/cpu.cc."""
    order = ("v2", "avx2", "avx512")
    return min(wanted, highest, key=order.index) if wanted in order else highest


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


def is_whole(rows):
    """Whether these rows, which are of one tree, are a run of the whole suite."""
    def clean(sanitizer, level_fits):
        done = set().union(*(r.done() for r in rows if r.sanitizer == sanitizer and level_fits(r)))
        return done >= set(STAGES[sanitizer])
    return all(clean(s, lambda r: r.level == r.highest) and clean(s, lambda r: r.level == LOWER) for s in STAGES)


def by_tree(rows):
    groups = {}
    for row in rows:
        groups.setdefault(row.tree, []).append(row)
    return groups


def last_whole(rows):
    whole = [group for group in by_tree(rows).values() if is_whole(group)]
    return max(whole, key=lambda group: max(r.date for r in group), default=[])


class Recorder:
    """Records the clean stages of one run. `tree`: the sources that were built."""

    def __init__(self, built, sanitizer, path=None):
        self.tree, self.sanitizer, self.path = built, sanitizer, path or os.path.join(ROOT, RECORD)
        self.highest = highest_level()
        self.level = level_of(os.environ.get("RETORT_ISA", ""), self.highest)

    def is_mine(self, row):
        return (row.tree, row.sanitizer, row.level, row.highest) == (self.tree, self.sanitizer, self.level, self.highest)

    def missing(self):
        done = set().union(*(r.done() for r in read(self.path) if self.is_mine(r)))
        return [s for s in STAGES[self.sanitizer] if s not in done]

    def add(self, stage, count):
        """Returns whether the stage was recorded: all of it passed, and the files have not changed since the build."""
        if count.failed or not count.passed or not self.tree or stage not in self.missing() or tree() != self.tree:
            return False
        rows = read(self.path)
        mine = next((r for r in rows if self.is_mine(r)), None)
        if mine is None:
            mine = Row(self.tree, "", "", self.sanitizer, self.level, self.highest, cpu_info("model name"), "")
            rows.append(mine)
        done = mine.done() | {stage}
        mine.stages = ",".join(s for s in STAGES[self.sanitizer] if s in done)
        mine.commit, mine.date = (git("rev-parse", "--short=12", "HEAD") or "").strip(), time.strftime("%Y-%m-%d", time.gmtime())
        mine.passed, mine.skipped = mine.passed + count.passed, mine.skipped + count.skipped
        kept = {self.tree, *(r.tree for r in last_whole(rows))}
        with open(self.path, "w", encoding="utf-8", newline="") as f:
            writer = csv.DictWriter(f, FIELDS, delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(dataclasses.asdict(r) for r in rows if r.tree in kept)
        return True


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


def ago(commit):
    count = git("rev-list", "--count", f"{commit}..HEAD")
    if count is None or git("merge-base", "--is-ancestor", commit, "HEAD") is None:
        return "not in this history"
    return f"{count.strip()} commits ago"


def told(rows):
    """One line about the rows of a tree."""
    newest = max(rows, key=lambda r: r.date)
    parts = ", ".join(f"{r.sanitizer} at {r.level}" + ("" if r.done() >= set(STAGES[r.sanitizer]) else f" ({r.stages.replace(',', ' ')})") for r in rows)
    return f"on {newest.date} at {newest.commit} ({ago(newest.commit)}), {newest.processor}: {parts}; {sum(r.passed for r in rows)} tests"


def last(path=None):
    """Lines about the last clean run of the whole, and about parts of a later one."""
    rows = read(path or os.path.join(ROOT, RECORD))
    whole = last_whole(rows)
    yield "last clean run of the whole suite under sanitizers: " + (told(whole) if whole else "none is recorded; make test-san runs it")
    for group in by_tree(rows).values():
        if group and group[0].tree not in {r.tree for r in whole}:
            yield "clean parts of another, " + told(group)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("what", choices=("last", "tree"))
    what = ap.parse_args().what
    print("\n".join(last()) if what == "last" else tree())


if __name__ == "__main__":
    sys.exit(main())
