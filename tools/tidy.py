#!/usr/bin/env python3
"""Run clang-tidy on the sources of a build; the checks are in .clang-tidy.

    tidy.py BUILD [--jobs N] [FILE ...]

Files that were clean are not looked at again until they, a header or the checks change. A FILE may be a folder.
The last line is "N passed, N failed".
"""
import argparse
import concurrent.futures
import glob
import json
import os
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GCC_ONLY = {"-fno-gnu-unique", "-fvect-cost-model=dynamic"}
QUIET = ["--quiet", "--extra-arg=-Wno-unknown-warning-option"]


def commands(build):
    """Compile commands of the project's own sources, one per file, without what clang does not know; examples have builds
    of their own."""
    with open(os.path.join(build, "compile_commands.json")) as f:
        entries = json.load(f)
    mine = {}
    for e in entries:
        path = os.path.relpath(e["file"], ROOT)
        if not path.startswith("..") and not os.path.abspath(e["file"]).startswith(os.path.abspath(build) + os.sep):
            words = [w for w in shlex.split(e["command"]) if w not in GCC_ONLY]
            mine.setdefault(path, {"directory": e["directory"], "file": e["file"], "arguments": words})
    for file in glob.glob(os.path.join(ROOT, "examples", "*", "*.cc")):
        words = ["c++", "-std=c++20", "-I" + os.path.join(ROOT, "include"), "-c", file]
        mine[os.path.relpath(file, ROOT)] = {"directory": ROOT, "file": file, "arguments": words}
    return mine


def newest_header():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "*.h", "*.hpp", ".clang-tidy"],
                            capture_output=True, text=True, check=True).stdout.split()
    return max(os.path.getmtime(os.path.join(ROOT, p)) for p in listed if os.path.exists(os.path.join(ROOT, p)))


def check(path, work, since):
    """The findings in one file as text; empty when it is clean."""
    stamp = os.path.join(work, path + ".clean")
    source = os.path.join(ROOT, path)
    if os.path.exists(stamp) and os.path.getmtime(stamp) > max(since, os.path.getmtime(source)):
        return ""
    run = subprocess.run(["clang-tidy", *QUIET, "-p", work, source], capture_output=True, text=True)
    if run.returncode == 0 and not run.stdout.strip():
        os.makedirs(os.path.dirname(stamp), exist_ok=True)
        with open(stamp, "w"):
            pass
        return ""
    return run.stdout.strip() or run.stderr.strip()


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("build")
    ap.add_argument("files", nargs="*")
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    a = ap.parse_intermixed_args()
    work = os.path.join(os.path.abspath(a.build), "tidy")
    os.makedirs(work, exist_ok=True)
    mine = commands(a.build)
    with open(os.path.join(work, "compile_commands.json"), "w") as f:
        json.dump(list(mine.values()), f)
    wanted = [os.path.relpath(f, ROOT) for f in a.files]
    paths = [p for p in sorted(mine) if not wanted or any(p == w or p.startswith(w + os.sep) for w in wanted)]
    since, failed = newest_header(), 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for n, (path, text) in enumerate(zip(paths, pool.map(lambda p: check(p, work, since), paths)), 1):
            if sys.stderr.isatty():
                print(f"\r\033[K[{n}/{len(paths)}] {path}", end="", file=sys.stderr)
            if text:
                failed += 1
                print(f"\n{text}", flush=True)
    print(f"\n{len(paths) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
