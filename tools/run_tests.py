#!/usr/bin/env python3
"""Run the test stages and print the time and the counts of each; the last line is "N passed, N failed", the sum.

    run_tests.py [--build DIR] [--out DIR] [--work DIR] [--library LIB] [--threads N] [--sanitizer NAME] [--emulator COMMAND]
                 [--together N] [STAGE ...]

Without a STAGE all of them run, or with --sanitizer those that tools/sanitizers.py lists; N of them at once. A stage whose tool, toolchain or data is missing prints one
line that says so, and counts as skipped. WORK/<stage>*.log has the full output; failures are repeated on the terminal.

  layers       checks of the sources (tools/check_layers.py, clang-format) and the tests of the tools
  unit         every ctest program of the build: unit tests of the rooms, C ABI against the official library
  sanitized    the rooms up to session under AddressSanitizer and UndefinedBehaviorSanitizer, with their unit tests (make test-san: the suite)
  neon         unit tests of the kernels, cross-compiled for AArch64, on its emulator (make test-neon tests more)
  conformance  the official ONNX cases
  saved        the same cases, each model saved optimised and loaded again, here and in official ONNX Runtime
  ort_format   the same cases as this library and official ONNX Runtime save them in ORT format
  runs         whole models of bench/zoo: allocations and copies of a bound run, same bits for any number of threads
  robustness   mutated models: no crash, no hang, no blow-up
  errors       the messages for mistakes, beside those of official ONNX Runtime: docs/errors.md
  models       small models of exporters (tests/exported), and real ones of ../shared/models if that folder is beside the checkout
  providers    a provider made by tools/new_provider, and the plug-ins of providers/ whose libraries were found, here and in official ONNX Runtime
  cuda         the CUDA provider on stand-ins for NVIDIA's libraries that run on the processor, here and in official ONNX Runtime
  plugins      plug-in providers of other vendors, unmodified, here and in official ONNX Runtime (requirements-plugins.txt)
  digits       the example that make run starts, on its held-out digits
  package      the installed files: the other examples, built from a copy of these files alone (those of io_binding run on both libraries);
               their size; and the systems that they load on
  dist         the release archive and the Debian packages: contents, licences, lintian, a fresh system; the library under a Python package
  cli          the command-line tool
  clients      official language bindings, unmodified, on the drop-in library: Go, Node, Java, Rust, C++
  bindings     the project's own bindings (bindings/*/test.sh)
  python       the Python package: wheels, tests in a clean environment on both libraries, examples, programs of others
"""
import argparse
import os
import re
import sys

import sanitizers
import surroundings
import together
from stages import STAGES
from stages.context import Context, Count, oracle

OPTIONS = ("build", "out", "digits", "work", "library", "threads", "sanitizer", "emulator")


def options():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default="build/release")
    ap.add_argument("--out", default="out")
    ap.add_argument("--digits", default="build/digits/digits", help="the program of examples/digits")
    ap.add_argument("--work", default="build/test", help="logs, exported cases, installed bindings")
    ap.add_argument("--library", default="", help="test this library in place of those in --out")
    ap.add_argument("--threads", type=int, default=1, help="intra-op threads of the conformance runs")
    ap.add_argument("--sanitizer", default="", choices=("", "asan", "tsan", "ubsan"),
                    help="the sanitizer of the build, which is slow: longer limits, no heavy models in the stage runs, fewer mutants")
    ap.add_argument("--tree", default="", help="the text that sanitizers.py tree printed before the build; clean stages are recorded in tests/sanitizers.tsv")
    ap.add_argument("--emulator", default="", help="the command, with arguments, that runs programs of a build for another processor")
    ap.add_argument("--together", type=int, default=1, help="number of stages at once; with more than one, a stage is reported when it has ended")
    ap.add_argument("stages", nargs="*", metavar="STAGE")
    a = ap.parse_args()
    unknown = set(a.stages) - set(STAGES)
    if unknown:
        ap.error(f"no stage {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
    if a.together < 1:
        ap.error(f"--together {a.together}: at least one stage runs at a time")
    return a


def one_by_one(a, stages, report, recorder=None):
    c = Context(a)
    for name in stages:
        print(f"== {name}", flush=True)
        watch = together.Stopwatch()
        count = STAGES[name](c)
        print(f"   {report.add(name, count, watch.cost())}", flush=True)
        if recorder and recorder.add(name, count):
            print(f"   {name} is recorded in {sanitizers.RECORD}", flush=True)


def at_once(a, stages, report):
    """Each stage is a process that runs this program with one stage; its last line has the result."""
    def command(stage):
        return [sys.executable, os.path.abspath(__file__), *together.options_of(a, OPTIONS), stage]

    def ended(stage, status, text, cost):
        count = stage_count(status, text)
        body = text.split("\n   " + stage, 1)[0]  # without the table of that process
        print(f"{body}\n   {report.add(stage, count, cost)}", flush=True)

    os.makedirs(a.work, exist_ok=True)
    together.Together(stages, command, lambda stage: os.path.join(a.work, f"stage.{stage}.log"), ended).run(a.together)


def stage_count(status, text):
    """The counts of a stage's process. A process that failed without a failed test counts as a failure."""
    found = re.fullmatch(r"(\d+) passed, (\d+) failed", (text.splitlines() or [""])[-1])
    skipped = re.findall(r"^(\d+) skipped$", text, re.M)
    if not found:
        return Count(failed=1)
    count = Count(*map(int, found.groups()), int(skipped[-1]) if skipped else 0)
    nothing = not count.passed and count.skipped
    return count if count.failed or status == 0 or nothing else count + Count(failed=1)


def main():
    a = options()
    for stream in sys.stdout, sys.stderr:
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # like the output of the stages
    with surroundings.settled(a.work):
        return run(a)


def run(a):
    os.environ.setdefault("RETORT_ORACLE", "" if a.emulator else oracle())  # it is for this machine's processor
    watch, report = together.Stopwatch(), together.Report(STAGES, Count())
    if a.sanitizer:
        recorder = sanitizers.recorder(a.sanitizer, a.tree)
        stages = a.stages or (recorder.missing() if recorder else list(sanitizers.STAGES["asan"]))
        if not stages:
            print(f"every stage has already been clean with these files: {sanitizers.RECORD}")
            return 0
        one_by_one(a, stages, report, recorder)
    else:
        stages = a.stages or list(STAGES)
        (at_once if a.together > 1 and len(stages) > 1 else one_by_one)(a, stages, report)
    total = report.total
    print("\n" + report.table(watch))
    if total.skipped:
        print(f"{total.skipped} skipped")
    print(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
