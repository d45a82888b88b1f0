"""Stages of the sources and of the test programs of a build."""
import contextlib
import glob
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import made_locale
import sanitizers
from stages.context import ROOT, Count, python_tests, skip

FORKS = "*Fork*"
NEON_TOOLS = ("aarch64-linux-gnu-g++", "qemu-aarch64")
CLANG_FORMAT = 14  # the release whose form the sources have


def layers(c):
    tests = [os.path.join("tools", os.path.basename(p)) for p in glob.glob(os.path.join(ROOT, "tools", "*_test.py"))]
    tests += [os.path.join("tests", "conformance", "run_cases_test.py"), os.path.join("tests", "errors", "check_errors_test.py")]
    total = Count()
    for path in sorted(tests):
        total += python_tests(c, "layers." + os.path.basename(path)[:-3], path)
    return total + c.counted("layers", [sys.executable, "tools/check_layers.py"]) + formatted(c)


def formatted(c):
    """Checks that clang-format would change nothing. Only the release of .clang-format is used: others format differently."""
    program = shutil.which("clang-format")
    version = program and subprocess.run([program, "--version"], capture_output=True, encoding="utf-8", check=True).stdout
    if not version or f"version {CLANG_FORMAT}." not in version:
        return skip(f"no clang-format {CLANG_FORMAT}")
    code, _ = c.start("layers.format", ["make", "format-check"])
    return Count(int(code == 0), int(code != 0))


def count_unit(statuses, reports):
    """Tests of googletest programs count one by one, from their reports; other programs as one test each."""
    total, broken = Count(), 0
    paths = glob.glob(os.path.join(reports, "*.json"))
    for path in paths:
        with open(path, encoding="utf-8") as f:
            r = json.load(f)
        bad = r["failures"] + r.get("errors", 0)
        skipped = sum(t.get("result") == "SKIPPED" for s in r["testsuites"] for t in s["testsuite"])
        total += Count(r["tests"] - r["disabled"] - bad - skipped, bad, skipped)
        broken += bad > 0
    dead = max(0, statuses.count("fail") - broken)  # crashed without naming a test
    return total + Count(max(0, len(statuses) - len(paths) - dead), dead)


def unit(c):
    if c.emulator:
        print(f"    without tests {FORKS}: the emulator ends the child of a process with threads")
        return ctest(c, "unit", c.build, GTEST_FILTER="-" + FORKS)
    return ctest(c, "unit", c.build, RETORT_LOCALES=made_locale.made_locale(os.path.join(c.work, "locales")))


def previous(c):
    """The scenes of tests/abi beside official ONNX Runtime of the version before the one in requirements.txt."""
    found = glob.glob(os.path.join(sys.prefix, "previous", "onnxruntime", "capi", "libonnxruntime.so.*"))
    if not found or c.sanitizer or c.emulator:
        return skip("no ONNX Runtime of the version before; tools/setup.sh previous installs it")
    return ctest(c, "previous", c.build, "-R", "^abi_differential$", RETORT_ORACLE=found[0],
                 RETORT_MORE_DIFFERENCES=os.path.join(ROOT, "tests", "abi", "differences_previous.tsv"))


def sanitized(c):
    if c.sanitizer or c.emulator:
        return skip("it is a choice of what make test-asan runs")
    builds = os.path.dirname(c.build)
    if c.start("sanitized.build", ["make", "--no-print-directory", "sanitized-rooms", "BUILD=" + builds])[0]:
        return Count(failed=1)
    count = ctest(c, "sanitized", os.path.join(builds, "sanitized"), **sanitizers.environment())
    print("".join(f"    {line}\n" for line in sanitizers.last()), end="")
    return count


def neon(c):
    missing = [tool for tool in NEON_TOOLS if not shutil.which(tool)]
    if missing:
        return skip(f"no {missing[0]}; tools/setup.sh neon installs it")
    builds = os.path.dirname(c.build)
    if c.start("neon.build", ["make", "--no-print-directory", "neon-kernels", "BUILD=" + os.path.relpath(builds, ROOT)])[0]:
        return Count(failed=1)
    return ctest(c, "neon", os.path.join(builds, "neon"), "-R", "^kernels$")


def ctest(c, name, build, *chosen, **env):
    """The tests of a build, or those that the options choose."""
    reports, junit = (os.path.join(c.work, name + end) for end in (".gtest", ".ctest.xml"))
    shutil.rmtree(reports, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        os.remove(junit)
    c.start(name, ["ctest", "--test-dir", build, "-j", c.jobs, "--output-on-failure", "--output-junit", junit, *chosen],
            GTEST_OUTPUT="json:" + reports + os.sep, RETORT_LIBRARY=c.drop_in, **env)
    if not os.path.exists(junit):
        return Count(failed=1)
    return count_unit([t.get("status") for t in xml.etree.ElementTree.parse(junit).getroot().findall("testcase")], reports)
