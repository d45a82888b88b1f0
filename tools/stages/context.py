"""The counts of stages, and functions that start programs."""
import dataclasses
import glob
import os
import re
import subprocess
import sys

import surroundings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COUNTS = re.compile(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?")
TAIL_LINES = 40


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
        self.given_library = bool(args.library)
        self.drop_in = args.library and self.library or os.path.join(self.out, "lib", "libonnxruntime.so.1")
        self.loopback = os.path.join(self.build, "examples", "providers", "loopback", "libloopback.so")
        self.digits = os.path.abspath(args.digits)
        self.cases = ["--threads", str(args.threads), "--timeout", "600" if args.sanitizer or args.emulator else "120"]
        self.runs = ["--light"] if args.sanitizer else []
        self.sanitizer, self.emulator = args.sanitizer, args.emulator
        self.jobs = str(surroundings.processors())
        os.makedirs(self.work, exist_ok=True)

    def cuda(self):
        """The variables of tests with the CUDA provider: on a GPU if RETORT_CUDA_LIBRARIES names NVIDIA's libraries, otherwise on stand-ins;
        {} if this build has neither."""
        plugin, software = (os.path.join(self.build, name) for name in ("libretort_cuda.so", "software_cuda"))
        if self.sanitizer or self.emulator or not os.path.exists(plugin) or not os.path.exists(os.path.join(software, "libcuda.so.1")):
            return {}
        return {"RETORT_CUDA": plugin, "RETORT_CUDA_LIBRARIES": os.environ.get("RETORT_CUDA_LIBRARIES") or software}

    def start(self, name, command, **env):
        """Runs a command, writes its output to a log, and returns (exit code, output). The output of a failure is repeated on the terminal."""
        log = os.path.join(self.work, name + ".log")
        with open(log, "wb") as f:
            code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT, cwd=ROOT, env={**os.environ, **env}).returncode
        with open(log, encoding="utf-8", errors="replace") as f:
            text = f.read()
        if code:
            print(f"    {' '.join(command[:2])} ended with {code}; log: {log}")
            show_failures(text)
        return code, text

    def counted(self, name, command, **env):
        """Runs a command. Returns the count in its last line with a count."""
        code, text = self.start(name, command, **env)
        found = COUNTS.findall(text)
        count = Count(*(int(n or 0) for n in found[-1])) if found else Count()
        if code == 0 and count.failed:
            show_failures(text)
        return count if count.failed or (code == 0 and found) else count + Count(failed=1)


def show_failures(text):
    """The lines of an output that begin with FAIL; the end of the output if there are none."""
    lines = text.splitlines()
    bad = [line for line in lines if line.startswith("FAIL")]
    print("\n".join("    " + line for line in (bad or lines)[-TAIL_LINES:]), flush=True)


def skip(reason):
    print("    skipped:", reason)
    return Count(skipped=1)


def python_tests(c, name, path, interpreter=sys.executable, **env):
    """The tests of a unittest program, one by one."""
    code, text = c.start(name, [interpreter, path], **env)
    ran = re.search(r"^Ran (\d+) tests?", text, re.M)
    bad = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", text))
    skipped = sum(int(n) for n in re.findall(r"skipped=(\d+)", text))
    return Count(int(ran.group(1)) - bad - skipped, bad, skipped) if ran and (code == 0 or bad) else Count(0, 1)


def in_python(c):
    """Environment in which Python can load the library: a sanitizer needs its run-time first, followed by the C++ library,
    without which exceptions end the process. Python itself leaks."""
    if not c.sanitizer:
        return {}
    names = [subprocess.run(["g++", f"-print-file-name={n}"], capture_output=True, encoding="utf-8", check=True).stdout.strip()
             for n in (f"lib{c.sanitizer}.so", "libstdc++.so.6")]
    return {"LD_PRELOAD": ":".join(names), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def run_cases(c):
    """The program run_cases; if it needs an emulator, a script that starts both."""
    program = os.path.join(c.build, "run_cases")
    if not c.emulator:
        return program
    script = os.path.join(c.work, "run_cases")
    with open(script, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nexec {c.emulator} {program} "$@"\n')
    os.chmod(script, 0o755)
    return script


def oracle():
    """The official library inside the Python package, for tests that compare with it."""
    import onnxruntime
    found = glob.glob(os.path.join(os.path.dirname(onnxruntime.__file__), "capi", "libonnxruntime.so*"))
    return found[0] if found else ""
