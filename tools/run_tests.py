#!/usr/bin/env python3
"""Run the test stages and print what each took and counted; the last line is "N passed, N failed", the sum.

    run_tests.py [--build DIR] [--out DIR] [--work DIR] [--library LIB] [--threads N] [--sanitizer NAME] [--emulator COMMAND]
                 [--together N] [STAGE ...]

Without a STAGE all of them run, N of them at once. A stage whose tool, toolchain or data is absent says so in one line
and counts as skipped. Full output lies in WORK/<stage>*.log; failures are repeated on the terminal.

  layers       which room includes what, sizes of files and functions, and the tests of the tools
  unit         every ctest program of the build: unit tests of the rooms, C ABI against the official library
  neon         unit tests of the kernels, cross-compiled for AArch64, on its emulator (make test-neon tests more)
  conformance  the official ONNX cases
  saved        the same cases, each model saved optimised and loaded again, here and in official ONNX Runtime
  ort_format   the same cases as this library and official ONNX Runtime save them in ORT format
  runs         whole models of bench/zoo: allocations and copies of a bound run, same bits for any number of threads
  robustness   mutated models: no crash, no hang, no blow-up
  errors       what mistakes are answered with, beside official ONNX Runtime: docs/errors.md
  models       real models of ../shared/models, where that folder lies beside the checkout
  providers    what tools/new_provider makes, and the plug-ins of providers/ whose libraries were found, here and in official ONNX Runtime
  plugins      plug-in providers of others, unmodified, here and in official ONNX Runtime (requirements-plugins.txt)
  digits       the example that make run starts, on its held-out digits
  package      what is installed: the other examples built from a copy of it alone (those of io_binding run on both libraries), its size,
               and the systems that it loads on
  dist         the release archive and the Debian packages: contents, licences, lintian, a fresh system; the library under a Python package
  cli          the command-line tool
  clients      official language bindings, unmodified, on the drop-in library: Go, Node, Java, Rust, C++
  bindings     the project's own bindings (bindings/*/test.sh)
"""
import argparse
import concurrent.futures
import contextlib
import dataclasses
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

import io_binding_examples
import together

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COUNTS = re.compile(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?")
TAIL_LINES = 40
# Rule and tolerances of run_cases for real models. ONNX Runtime computes models of 16-bit floats in 32 bits throughout, as
# we do when optimising; without that we round between nodes, as the model says, and differ by a few units of 2^-11.
MODEL, HALF_MODEL, HALF_ROUNDED = ("scale", "1e-3", "0"), ("close", "2e-3", "2e-4"), ("close", "5e-3", "5e-4")
LIBRARY_BYTES = 8_000_000
FORKS = "*Fork*"
NEON_TOOLS = ("aarch64-linux-gnu-g++", "qemu-aarch64")
CLANG_FORMAT = 14  # the release whose form the sources have
PROVIDERS = {"onednn": "OneDnnExecutionProvider", "xnnpack": "XnnPackExecutionProvider"}
PLUGINS = ("nxrt-ep-cpu", "onnxruntime-ep-openvino", "onnxruntime-ep-webgpu")  # of tests/providers/foreign.py
CLIENTS = {"go": ["go"], "node": ["node", "npm"], "java": ["java", "javac", "mvn"], "rust": ["cargo"], "cpp": ["c++", "apt-get", "dpkg"]}


@dataclasses.dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


class Context:
    """What the stages need to know, and how they start programs."""

    def __init__(self, args):
        self.build, self.out, self.work = (os.path.abspath(p) for p in (args.build, args.out, args.work))
        self.library = os.path.abspath(args.library or os.path.join(self.out, "lib", "libretort.so.1"))
        self.drop_in = args.library and self.library or os.path.join(self.out, "lib", "libonnxruntime.so.1")
        self.loopback = os.path.join(self.build, "examples", "providers", "loopback", "libloopback.so")
        self.digits = os.path.abspath(args.digits)
        self.cases = ["--threads", str(args.threads), "--timeout", "600" if args.sanitizer or args.emulator else "120"]
        self.runs = ["--light"] if args.sanitizer else []
        self.sanitizer, self.emulator = args.sanitizer, args.emulator
        self.jobs = str(os.cpu_count() or 1)
        os.makedirs(self.work, exist_ok=True)

    def start(self, name, command, **env):
        """Runs a command into a log; answers (exit code, output). Output of a failure is repeated on the terminal."""
        log = os.path.join(self.work, name + ".log")
        with open(log, "wb") as f:
            code = subprocess.run(command, stdout=f, stderr=subprocess.STDOUT, cwd=ROOT, env={**os.environ, **env}).returncode
        with open(log, encoding="utf-8", errors="replace") as f:
            text = f.read()
        if code:
            print(f"    {' '.join(command[:2])} ended with {code}; log: {log}")
            show_failures(text)
        return code, text

    def counted(self, name, command, **env):
        """Runs a command whose last count line says how it went."""
        code, text = self.start(name, command, **env)
        found = COUNTS.findall(text)
        count = Count(*(int(n or 0) for n in found[-1])) if found else Count()
        if code == 0 and count.failed:
            show_failures(text)
        return count if count.failed or (code == 0 and found) else count + Count(failed=1)


def show_failures(text):
    """The lines of an output that begin with FAIL; the end of it where there are none."""
    lines = text.splitlines()
    bad = [line for line in lines if line.startswith("FAIL")]
    print("\n".join("    " + line for line in (bad or lines)[-TAIL_LINES:]), flush=True)


def skip(reason):
    print("    skipped:", reason)
    return Count(skipped=1)


def python_tests(c, name, path, **env):
    """The tests of a unittest program, one by one."""
    code, text = c.start(name, [sys.executable, path], **env)
    ran = re.search(r"^Ran (\d+) tests?", text, re.M)
    bad = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", text))
    skipped = sum(int(n) for n in re.findall(r"skipped=(\d+)", text))
    return Count(int(ran.group(1)) - bad - skipped, bad, skipped) if ran and (code == 0 or bad) else Count(0, 1)


def layers(c):
    tests = [os.path.join("tools", os.path.basename(p)) for p in glob.glob(os.path.join(ROOT, "tools", "*_test.py"))]
    tests += [os.path.join("tests", "conformance", "run_cases_test.py"), os.path.join("tests", "errors", "check_errors_test.py")]
    total = Count()
    for path in sorted(tests):
        total += python_tests(c, "layers." + os.path.basename(path)[:-3], path)
    return total + c.counted("layers", [sys.executable, "tools/check_layers.py"]) + formatted(c)


def formatted(c):
    """That clang-format would change nothing; another release than the one of .clang-format has other opinions."""
    program = shutil.which("clang-format")
    version = program and subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if not version or f"version {CLANG_FORMAT}." not in version:
        return skip(f"no clang-format {CLANG_FORMAT}")
    code, _ = c.start("layers.format", ["make", "format-check"])
    return Count(int(code == 0), int(code != 0))


def count_unit(statuses, reports):
    """Tests of googletest programs count one by one, from their reports; other programs as one test each."""
    total, broken = Count(), 0
    paths = glob.glob(os.path.join(reports, "*.json"))
    for path in paths:
        with open(path) as f:
            r = json.load(f)
        bad = r["failures"] + r.get("errors", 0)
        skipped = sum(t.get("result") == "SKIPPED" for s in r["testsuites"] for t in s["testsuite"])
        total += Count(r["tests"] - r["disabled"] - bad - skipped, bad, skipped)
        broken += bad > 0
    dead = max(0, statuses.count("fail") - broken)  # ended badly without saying which test
    return total + Count(max(0, len(statuses) - len(paths) - dead), dead)


def unit(c):
    if c.emulator:
        print(f"    without tests {FORKS}: the emulator ends the child of a process with threads")
        return ctest(c, "unit", c.build, GTEST_FILTER="-" + FORKS)
    return ctest(c, "unit", c.build)


def neon(c):
    missing = [tool for tool in NEON_TOOLS if not shutil.which(tool)]
    if missing:
        return skip(f"no {missing[0]}; tools/setup.sh neon installs it")
    builds = os.path.dirname(c.build)
    if c.start("neon.build", ["make", "--no-print-directory", "neon-kernels", "BUILD=" + builds])[0]:
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


def run_cases(c):
    """The program that runs cases; where that takes an emulator, a script that starts both."""
    program = os.path.join(c.build, "run_cases")
    if not c.emulator:
        return program
    script = os.path.join(c.work, "run_cases")
    with open(script, "w") as f:
        f.write(f'#!/bin/sh\nexec {c.emulator} {program} "$@"\n')
    os.chmod(script, 0o755)
    return script


ORT_LEVELS = ("0", "1")  # as the model says, and with what every engine understands
LEVELS = ("99", "0")  # optimised, and as the model says


def conformance(c):
    total = Count()
    for level in LEVELS:
        name = f"conformance.{level}"
        total += c.counted(name, [sys.executable, "tests/conformance/run_cases.py", "--library", c.library, "--tool", run_cases(c),
                                  "--cases", os.path.join(c.work, "cases"), "--tsv", os.path.join(c.work, name + ".tsv"),
                                  *c.cases, "--level", level])
    return total


def saved(c):
    total = Count()
    for name, library in ("saved.here", c.library), ("saved.official", os.environ["RETORT_ORACLE"]):
        if not library:
            total += skip("no official ONNX Runtime")
            continue
        if name == "saved.official" and c.sanitizer == "tsan":
            total += skip("official ONNX Runtime is not compiled for ThreadSanitizer")
            continue
        total += c.counted(name, [sys.executable, "tests/conformance/run_cases.py", "--library", library, "--tool", run_cases(c),
                                  "--cases", os.path.join(c.work, "cases"), "--tsv", os.path.join(c.work, name + ".tsv"),
                                  *c.cases, "--saved-by", c.library])
    return total


def ort_format(c):
    """Models as this library and official ONNX Runtime save them in ORT format."""
    total = Count()
    for saver, level in [(c.library, "99")] + [(os.environ["RETORT_ORACLE"], level) for level in ORT_LEVELS]:
        if not saver:
            return total + skip("no official ONNX Runtime")
        name = f"ort_format.{'own' if saver == c.library else level}"
        total += c.counted(name, [sys.executable, "tests/conformance/run_cases.py", "--library", c.library, "--tool", run_cases(c),
                                  "--cases", os.path.join(c.work, "cases"), "--tsv", os.path.join(c.work, name + ".tsv"), *c.cases,
                                  "--level", level, "--saved-by", saver, "--saved-as", "ORT"])
    return total


def runs(c):
    return c.counted("runs", [sys.executable, "tests/runs/check_runs.py", c.library, "--tool", os.path.join(c.build, "steady_runs"),
                              "--work", os.path.join(c.work, "runs"), *c.runs])


def in_python(c):
    """Environment in which Python can load the library: AddressSanitizer wants its run-time first, and behind it the C++
    library, without which exceptions end the process. Python itself leaks."""
    if c.sanitizer != "asan":
        return {}
    names = [subprocess.run(["g++", f"-print-file-name={n}"], capture_output=True, text=True, check=True).stdout.strip()
             for n in ("libasan.so", "libstdc++.so.6")]
    return {"LD_PRELOAD": ":".join(names), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def robustness(c):
    limits = ["--count", "400", "--mem-mib", "0", "--time-s", "60"] if c.sanitizer else ["--count", "2000"]
    return c.counted("robustness", [sys.executable, "tests/robustness/mutate_models.py", "--library", c.library, "--cases", os.path.join(c.work, "cases"),
                                    "--keep", os.path.join(c.work, "mutants"), *limits], **in_python(c))


def errors(c):
    oracle_library = "" if c.sanitizer else os.environ["RETORT_ORACLE"]
    if not oracle_library:
        print("    no official ONNX Runtime: what it says is taken from docs/errors.md")
    return c.counted("errors", [sys.executable, "tests/errors/check_errors.py", "--library", c.library, "--oracle", oracle_library], **in_python(c))


def models(c):
    folder = os.path.join(os.path.dirname(ROOT), "shared", "models")
    names = sorted(os.path.basename(os.path.dirname(p)) for p in glob.glob(os.path.join(folder, "*", "model.onnx")))
    if not names:
        return skip("no ../shared/models beside the checkout")
    with open(os.path.join(ROOT, "tests", "models_expected_failures.tsv"), encoding="utf-8") as f:
        known = {line.split("\t")[0] for line in f.read().splitlines()[1:]} & set(names)
    total = Count()
    for level in LEVELS:
        total += models_at(c, level, folder, names, known)
    return total


def models_at(c, level, folder, names, known):
    manifest, results = (os.path.join(c.work, f"models.{level}.{end}") for end in ("manifest", "tsv"))
    with open(manifest, "w") as f:
        for name in names:
            at = os.path.join(folder, name)
            half = HALF_ROUNDED if level == "0" else HALF_MODEL
            rule = half if name.endswith("fp16") else MODEL
            f.write("\t".join([name, *rule, os.path.join(at, "model.onnx"), at]) + "\n")
    if c.start(f"models.{level}", [run_cases(c), c.library, manifest, results, *c.cases, "--level", level])[0]:
        return Count(failed=len(names))
    with open(results, encoding="utf-8", errors="replace") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    failing = {r[0]: r for r in rows if r[1] != "pass"}
    wrong = [f"FAIL {r[0]} at level {level}: {r[2]}: {r[6]}" for n, r in failing.items() if n not in known]
    wrong += [f"FAIL {n} passes: take it off tests/models_expected_failures.tsv" for n in sorted(known - set(failing))]
    for line in wrong:
        print("    " + line)
    return Count(len(rows) - len(failing), len(wrong), len(known & set(failing)))


def providers(c):
    total = python_tests(c, "providers.new_provider", os.path.join("tests", "providers", "new_provider_test.py"), RETORT_OUT=c.out)
    for name, offered in PROVIDERS.items():
        plugin = os.path.join(c.build, f"libretort_{name}.so")
        if not os.path.exists(plugin):
            total += skip(f"{name}: its library was not found when this was built")
            continue
        total += c.counted("providers." + name, [sys.executable, "tests/providers/check_provider.py", c.library, "--oracle", os.environ["RETORT_ORACLE"],
                                                 "--tool", run_cases(c), "--provider", f"{offered}={plugin}", "--cases", os.path.join(c.work, "cases"),
                                                 "--work", os.path.join(c.work, "providers", name)])
    return total


def plugins(c):
    total = Count()
    for name in PLUGINS:
        started = time.time()
        at = os.path.join(c.work, "plugins")
        count = c.counted("plugins." + name, [sys.executable, "tests/providers/check_plugins.py", name, c.library, "--oracle", os.environ["RETORT_ORACLE"],
                                              "--programs", c.build, "--cases", os.path.join(c.work, "cases"), "--zoo", os.path.join(at, "zoo"),
                                              "--work", os.path.join(at, name)])
        with open(os.path.join(c.work, f"plugins.{name}.log"), encoding="utf-8") as f:
            print("".join(f"    {line[5:]}" for line in f if line.startswith("note ")), end="")
        print(f"    {name}: {count} ({time.time() - started:.1f} s)", flush=True)
        total += count
    return total


def digits(c):
    return c.counted("digits", [c.digits, "--check", os.path.join("examples", "digits")], RETORT_LIBRARY=c.library)


def build_example(c, name, source, prefix):
    """Builds one of the examples against an installed Retort; the program, or None."""
    build = os.path.join(source, "build")
    steps = [["cmake", "-S", source, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix, "-DCMAKE_BUILD_TYPE=Release"], ["cmake", "--build", build]]
    if os.path.exists(os.path.join(source, "Makefile")):
        build, steps = source, [["make", "-C", source, "PKG_CONFIG_PATH=" + os.path.join(prefix, "lib", "pkgconfig")]]
    done = all(c.start(f"package.{name}.{step[0]}{i}", step)[0] == 0 for i, step in enumerate(steps))
    return os.path.join(build, name) if done else None


def run_example(c, name, program, model):
    """Runs it with the library that it was linked with, and compares what it prints."""
    code, printed = c.start(f"package.{name}", ["env", "-u", "RETORT_LIBRARY", program, *([] if name == "embedded" else [model])])
    with open(os.path.join(ROOT, "examples", name, "expected.txt"), encoding="utf-8") as f:
        expected = f.read()
    if code == 0 and printed != expected:
        print(f"    FAIL {name} printed\n{printed}    in place of\n{expected}", end="")
    return code == 0 and printed == expected


def package(c):
    """A user's view: the installed files, moved elsewhere, and copies of the examples; nothing else of the checkout."""
    area = os.path.join(c.work, "package")
    prefix, examples = os.path.join(area, "prefix"), os.path.join(area, "examples")
    shutil.rmtree(area, ignore_errors=True)
    shutil.copytree(c.out, prefix, symlinks=True)
    shutil.copytree(os.path.join(ROOT, "examples"), examples)
    results, programs = [], {}
    for name in ("first", "any_model", "embedded"):
        programs[name] = build_example(c, name, os.path.join(examples, name), prefix)
        results.append(programs[name] and run_example(c, name, programs[name], os.path.join(examples, "digits", "digits.onnx")))
    loopback = build_example(c, "loopback", os.path.join(examples, "providers", "loopback"), prefix)  # a module: nothing to run
    results.append(loopback and os.path.exists(os.path.join(os.path.dirname(loopback), "libloopback.so")))
    results += io_binding_examples.run(c.start, examples, prefix, "" if c.sanitizer else os.environ["RETORT_ORACLE"])
    needed = programs["embedded"] and c.start("package.needed", ["readelf", "-d", programs["embedded"]])
    results.append(needed and needed[0] == 0 and "libretort" not in needed[1])
    results.append(small_enough(c, os.path.join(prefix, "lib", "libretort.so.1")))
    return Count(sum(map(bool, results)), len(results) - sum(map(bool, results))) + loads_on_old_systems(c, prefix)


def loads_on_old_systems(c, prefix):
    """One test per file that is installed."""
    with open(os.path.join(c.build, "CMakeCache.txt"), encoding="utf-8") as f:
        oldest = re.search(r"^RETORT_GLIBC:\w+=(.*)$", f.read(), re.M)
    if not oldest or not oldest.group(1):
        return skip("configured for no older glibc than that of this machine (RETORT_GLIBC)")
    works = python_tests(c, "package.here", os.path.join("tests", "old_systems", "old_systems_test.py"), RETORT_OUT=prefix)
    return works + c.counted("package.symbols", [sys.executable, "tools/check_symbols.py", "--glibc", oldest.group(1), prefix])


def small_enough(c, library):
    stripped = os.path.join(c.work, "stripped.so")
    if c.start("package.strip", ["strip", "-o", stripped, library])[0]:
        return False
    size = os.path.getsize(stripped)
    print(f"    {'' if size <= LIBRARY_BYTES else 'FAIL '}{os.path.basename(library)} has {size:,} bytes, stripped; allowed: {LIBRARY_BYTES:,}")
    return size <= LIBRARY_BYTES


def cli(c):
    total = Count()
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "cli", "*_test.py"))):
        total += python_tests(c, "cli." + os.path.basename(path)[:-3], path, RETORT_CLI=os.path.join(c.out, "bin", "retort"),
                              RETORT_DIGITS=c.digits, RETORT_LIBRARY=c.library,
                              RETORT_LOOPBACK=c.loopback)
    return total


def dist(c):
    """Release archive and Debian packages of what is installed; the two are made and checked at the same time."""
    paths = sorted(glob.glob(os.path.join(ROOT, "tests", "dist", "*_test.py")))
    names = ["dist." + os.path.basename(p)[:-3] for p in paths]
    work = os.path.join(c.work, "dist")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        counts = pool.map(lambda name, path: python_tests(c, name, path, RETORT_BUILD=c.build, RETORT_OUT=c.out,
                                                          RETORT_WORK=os.path.join(work, name[5:])), names, paths)
    for name in names:
        with open(os.path.join(c.work, name + ".log"), encoding="utf-8") as f:
            print("".join(f"    {line}\n" for line in re.findall(r"^.* \.\.\. (skipped .*)$", f.read(), re.M)), end="")
    return sum(counts, Count())


def extensions(c):
    """Custom operators of the package onnxruntime-extensions."""
    return python_tests(c, "extensions", os.path.join(ROOT, "tests", "extensions", "extensions_test.py"), RETORT_LIBRARY=c.library, RETORT_ORACLE=oracle())


def expect(client, count, c):
    """Failures that tests/clients/expected_failures.tsv lists count as skipped; a listed test that passes is a failure."""
    with open(os.path.join(ROOT, "tests", "clients", "expected_failures.tsv"), encoding="utf-8") as f:
        listed = {row.split("\t")[1] for row in f.read().splitlines()[1:] if row.split("\t")[0] == client}
    with open(os.path.join(c.work, f"clients.{client}.log"), encoding="utf-8", errors="replace") as f:
        failed = set(re.findall(r"^FAIL ([^:\s]+)", f.read(), re.M))
    surprises = listed - failed
    for test in sorted(surprises):
        print(f"    {client}: {test} passes: take it off tests/clients/expected_failures.tsv", flush=True)
    known = len(listed & failed)
    return Count(count.passed, count.failed - known + len(surprises), count.skipped + known)


def clients(c):
    total = Count()
    for name, tools in CLIENTS.items():
        missing = [t for t in tools if not shutil.which(t)]
        if missing:
            total += skip(f"{name}: no {missing[0]}")
            continue
        started = time.time()
        count = expect(name, c.counted("clients." + name, [f"tests/clients/{name}/run.sh", c.drop_in, os.path.join(c.work, "clients", name)]), c)
        print(f"    {name}: {count} ({time.time() - started:.1f} s)", flush=True)
        total += count
    return total


def bindings(c):
    scripts = sorted(glob.glob(os.path.join(ROOT, "bindings", "*", "test.sh")))
    total = Count()
    for path in scripts:
        name = os.path.basename(os.path.dirname(path))
        count = c.counted("bindings." + name, [path], RETORT_LIBRARY=c.library, RETORT_OUT=c.out, PYTHON=sys.executable, RETORT_LOOPBACK=c.loopback)
        with open(os.path.join(c.work, f"bindings.{name}.log"), encoding="utf-8", errors="replace") as f:
            print("".join(f"    {line}" for line in f if line.startswith("skipped:")), end="")
        print(f"    {name}: {count}", flush=True)
        total += count
    return total


STAGES = {f.__name__: f for f in (layers, unit, neon, conformance, saved, ort_format, runs, robustness, errors, models, providers, plugins, digits, package, dist, cli, extensions, clients, bindings)}


def oracle():
    """The official library inside the Python package, for tests that compare with it."""
    import onnxruntime
    found = glob.glob(os.path.join(os.path.dirname(onnxruntime.__file__), "capi", "libonnxruntime.so*"))
    return found[0] if found else ""


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
                    help="of the build, which is slow: longer limits, no heavy models in the stage runs, fewer mutants")
    ap.add_argument("--emulator", default="", help="the build is for another processor: what runs its programs, with arguments")
    ap.add_argument("--together", type=int, default=1, help="stages at once; with more than one, each stage is told when it has ended")
    ap.add_argument("stages", nargs="*", metavar="STAGE")
    a = ap.parse_args()
    unknown = set(a.stages) - set(STAGES)
    if unknown:
        ap.error(f"no stage {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
    if a.together < 1:
        ap.error(f"--together {a.together}: at least one stage runs at a time")
    return a


def one_by_one(a, stages, report):
    c = Context(a)
    for name in stages:
        print(f"== {name}", flush=True)
        watch = together.Stopwatch()
        count = STAGES[name](c)
        print(f"   {report.add(name, count, watch.cost())}", flush=True)


def at_once(a, stages, report):
    """Each stage is a process that runs this program with one stage; its last line says how it went."""
    def command(stage):
        return [sys.executable, os.path.abspath(__file__), *together.options_of(a, OPTIONS), stage]

    def ended(stage, status, text, cost):
        count = stage_count(status, text)
        body = text.split("\n   " + stage, 1)[0]  # without the rows of that process
        print(f"{body}\n   {report.add(stage, count, cost)}", flush=True)

    os.makedirs(a.work, exist_ok=True)
    together.Together(stages, command, lambda stage: os.path.join(a.work, f"stage.{stage}.log"), ended).run(a.together)


def stage_count(status, text):
    """What the process of a stage counted. One that ended badly without a failed test counts as a failure."""
    found = re.fullmatch(r"(\d+) passed, (\d+) failed", (text.splitlines() or [""])[-1])
    skipped = re.findall(r"^(\d+) skipped$", text, re.M)
    if not found:
        return Count(failed=1)
    count = Count(*map(int, found.groups()), int(skipped[-1]) if skipped else 0)
    nothing = not count.passed and count.skipped
    return count if count.failed or status == 0 or nothing else count + Count(failed=1)


def main():
    a = options()
    os.environ.setdefault("RETORT_ORACLE", "" if a.emulator else oracle())  # it is of this machine's processor
    stages, watch = a.stages or list(STAGES), together.Stopwatch()
    report = together.Report(STAGES, Count())
    (at_once if a.together > 1 and len(stages) > 1 else one_by_one)(a, stages, report)
    total = report.total
    print("\n" + report.table(watch))
    if total.skipped:
        print(f"{total.skipped} skipped")
    print(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
