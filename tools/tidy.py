#!/usr/bin/env python3
"""Run clang-tidy on the sources of a build and on the headers that they include; the checks are in .clang-tidy.

    tidy.py BUILD [--jobs N] [FILE ...]

Sources that are compiled together are checked together. A source that was clean is not checked again until it, a header
that it includes or the checks change. A FILE may be a folder. The last line is "N passed, N failed", in units of
compilation.
"""
import argparse
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GCC_ONLY = {"-fno-gnu-unique", "--param=ggc-min-heapsize=500000", "-fvect-cost-model=dynamic"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


class Unit:
    """One compilation: `command` is its entry for clang-tidy; `files` are its sources and the project's headers."""

    def __init__(self, command):
        self.command = command
        folders = [w[2:] for w in command["arguments"] if w.startswith("-I") and w[2:].startswith(ROOT)]
        self.files, left = {}, [command["file"]]
        while left:
            path = left.pop()
            if path in self.files:
                continue
            with open(path, encoding="utf-8") as f:
                self.files[path] = f.read()
            for name in INCLUDE.findall(self.files[path]):
                found = (os.path.normpath(os.path.join(d, name)) for d in [os.path.dirname(path), *folders])
                left += [p for p in found if p.startswith(ROOT) and os.path.exists(p)][:1]

    def sources(self):
        return [os.path.relpath(p, ROOT) for p in self.files if p.endswith(".cc")]

    def fingerprint(self, checks):
        content = json.dumps([checks, self.command["arguments"], sorted(self.files.items())])
        return hashlib.sha256(content.encode()).hexdigest()


def units(build):
    """The compilations of the project's own sources, without options that clang does not know; examples have builds of
    their own."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        entries = json.load(f)
    mine = {}
    for e in entries:
        generated = os.path.abspath(e["file"]).startswith(os.path.abspath(build) + os.sep)
        if e["file"].startswith(ROOT) and (not generated or "/Unity/" in e["file"]):
            words = [w for w in shlex.split(e["command"]) if w not in GCC_ONLY]
            mine.setdefault(e["file"], {"directory": e["directory"], "file": e["file"], "arguments": words})
    for file in glob.glob(os.path.join(ROOT, "examples", "*", "*.cc")):
        words = ["c++", "-std=c++20", "-I" + os.path.join(ROOT, "include"), "-c", file]
        mine[file] = {"directory": ROOT, "file": file, "arguments": words}
    return [Unit(mine[file]) for file in sorted(mine)]


def findings(unit, work):
    """The output of clang-tidy for a unit; empty if it is clean."""
    options = ["--quiet", "--extra-arg=-Wno-unknown-warning-option", "-p", work,
               f"--header-filter=^{re.escape(ROOT)}/(src|apps|bench|examples)/"]
    if "/Unity/" in unit.command["file"]:
        options.append("--checks=-bugprone-suspicious-include,-readability-redundant-declaration")  # it is made of these
    run = subprocess.run(["clang-tidy", *options, unit.command["file"]], capture_output=True, encoding="utf-8")
    text = run.stdout.strip()
    return text if text or run.returncode == 0 else run.stderr.strip()


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("build")
    ap.add_argument("files", nargs="*")
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    a = ap.parse_intermixed_args()
    work = os.path.join(os.path.abspath(a.build), "tidy")
    os.makedirs(work, exist_ok=True)
    every = units(a.build)
    with open(os.path.join(work, "compile_commands.json"), "w", encoding="utf-8") as f:
        json.dump([u.command for u in every], f)
    wanted = [os.path.relpath(f, ROOT) for f in a.files]
    every = [u for u in every if not wanted or any((s + os.sep).startswith(w + os.sep) for s in u.sources() for w in wanted)]
    with open(os.path.join(ROOT, ".clang-tidy"), encoding="utf-8") as f:
        checks = f.read()

    def check(unit):
        stamp = os.path.join(work, unit.fingerprint(checks) + ".clean")
        text = "" if os.path.exists(stamp) else findings(unit, work)
        if not text:
            open(stamp, "w", encoding="utf-8").close()
        return text

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for n, (unit, text) in enumerate(zip(every, pool.map(check, every)), 1):
            if sys.stderr.isatty():
                print(f"\r\033[K[{n}/{len(every)}] {os.path.basename(unit.command['file'])}", end="", file=sys.stderr)
            if text:
                failed += 1
                print(f"\n{text}", flush=True)
    print(f"\n{len(every) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
