#!/usr/bin/env python3
"""Run the test stages once for each instruction level of this processor, lowest first.

    levels.py --tool RETORT [--level NAME ...] -- RUN_TESTS_OPTION... [STAGE ...]

A level LEVEL-FEATURE is LEVEL without that feature, such as avx512-vnni. RETORT_ISA limits the engine and
ONEDNN_MAX_CPU_ISA limits oneDNN. A level that the processor does not have is reported and skipped. XNNPACK has no such
limit: it always uses all instructions of the processor. Arguments after "--" go to run_tests.py, whose logs are those
of the last level. The last line is "N passed, N failed", the sum over all levels.
"""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEVELS = {"neon": {}, "v2": {"ONEDNN_MAX_CPU_ISA": "SSE41"}, "avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2"}, "avx512": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}}
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)


def level_name(text):
    if text.partition("-")[0] not in LEVELS:
        raise argparse.ArgumentTypeError(f"'{text}' does not begin with one of {', '.join(LEVELS)}")
    return text


def environment(level):
    return {**os.environ, "RETORT_ISA": level, **LEVELS[level.partition("-")[0]]}


def problem_of(tool, level):
    """The message of the engine if it cannot compute at a level; "" if it can."""
    done = subprocess.run([tool, "devices"], capture_output=True, encoding="utf-8", env=environment(level))
    return done.stderr.strip() if done.returncode else ""


def run(level, words):
    """(passed, failed) of the stages at a level. A run that fails without printing a count counts as one failure."""
    print(f"=== {level}", flush=True)
    with subprocess.Popen([sys.executable, os.path.join(ROOT, "tools", "run_tests.py"), *words], stdout=subprocess.PIPE, encoding="utf-8", errors="replace",
                          env=environment(level)) as p:
        text = ""
        for line in p.stdout:
            text += line
            print(line, end="", flush=True)
    found = COUNTS.findall(text)
    passed, failed = map(int, found[-1]) if found else (0, 1)
    return passed, max(failed, int(p.returncode != 0))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tool", default=os.path.join("out", "bin", "retort"))
    ap.add_argument("--level", action="append", type=level_name)
    ap.add_argument("words", nargs="*")
    a = ap.parse_args()
    rows = []
    for level in a.level or LEVELS:
        problem = problem_of(a.tool, level)
        if problem:
            rows.append((level, f"left out: {problem}"))
            print(f"=== {level} {rows[-1][1]}", flush=True)
            continue
        rows.append((level, run(level, a.words)))
    counts = [count for _, count in rows if isinstance(count, tuple)]
    print()
    for level, count in rows:
        print(f"{level:8}" + (f"{count[0]} passed, {count[1]} failed" if isinstance(count, tuple) else count))
    passed, failed = (sum(column) for column in zip(*counts)) if counts else (0, 0)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
