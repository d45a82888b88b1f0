#!/usr/bin/env python3
"""Runs programs of others on official ONNX Runtime and on the wheel `onnxruntime` of this project, and compares.

    check.py --wheels DIR --work DIR [--requirements FILE] [--only NAME] [NAME...]

WORK/venv gets the wheel of --wheels that fits this interpreter, then the packages of --requirements, whose demands on
onnxruntime it satisfies; WORK/official gets the official wheel. NAME: programs of programs/; all if none is named.
The last line is "N passed, N failed, N skipped".
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import time

import results
import run_program

HERE = os.path.dirname(os.path.abspath(__file__))
OFFICIAL = "onnxruntime==1.32.0"
# Installed without what they ask for: torch, which only one program needs, is large.
ALONE = ("silero-vad",)


def pip(python, *arguments):
    """Runs pip of an interpreter; its output is shown if it fails."""
    done = subprocess.run([python, "-m", "pip", "--disable-pip-version-check", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        print(done.stdout[-4000:])
        raise SystemExit(f"pip {' '.join(arguments[:4])} ended with {done.returncode}")
    return done.stdout


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return [line.split("#")[0].strip() for line in f if line.split("#")[0].strip()]


def our_wheel(folder):
    """The wheel of this interpreter: its own, else that for the stable interface."""
    version = f"cp3{sys.version_info.minor}"
    for tag in (f"{version}-{version}", "cp312-abi3"):
        found = glob.glob(os.path.join(folder, f"onnxruntime-*+retort-{tag}-*.whl"))
        if found and (tag != "cp312-abi3" or sys.version_info >= (3, 12)):
            return found[0]
    raise SystemExit(f"{folder} has no wheel of onnxruntime for Python 3.{sys.version_info.minor}; make wheel makes it")


def holds(path, text):
    if not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as f:
        return f.read() == text


def install(a):
    """Both environments; packages that are there already stay. Returns (interpreter, folder of the official package)."""
    venv, official = os.path.join(a.work, "venv"), os.path.join(a.work, "official")
    python = os.path.join(venv, "bin", "python")
    wanted = lines_of(a.requirements)
    state = json.dumps([wanted, OFFICIAL])
    stamp = os.path.join(a.work, "installed.json")
    if not holds(stamp, state):
        shutil.rmtree(a.work, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    pip(python, "install", "--quiet", "--force-reinstall", "--no-deps", our_wheel(a.wheels))
    if not os.path.exists(stamp):
        alone = [line for line in wanted if line.split("==")[0] in ALONE]
        pip(python, "install", "--quiet", *(line for line in wanted if line not in alone))
        if alone:
            pip(python, "install", "--quiet", "--no-deps", *alone)
        pip(python, "install", "--quiet", "--no-deps", "--target", official, OFFICIAL)
        with open(stamp, "w", encoding="utf-8") as f:
            f.write(state)
    return python, official


def check_requirements(python):
    """Whether pip finds that our wheel is the one that all packages want, and no other was installed."""
    shown = pip(python, "show", "onnxruntime")
    if "+retort" not in shown:
        return f"pip replaced the wheel: {shown.splitlines()[1]}"
    done = subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "check"], capture_output=True, encoding="utf-8", check=False)
    wrong = [line for line in done.stdout.splitlines() if "onnxruntime" in line]
    return "; ".join(wrong)


def run(python, name, path, official):
    """Runs a program; returns (exit code, output)."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "RETORT_LIBRARY")}
    if official:
        env["PYTHONPATH"] = official
    done = subprocess.run([python, os.path.join(HERE, "run_program.py"), name, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                          errors="replace", env={**env, "PYTHONDONTWRITEBYTECODE": "1"}, check=False)
    return done.returncode, done.stdout


def check(python, official, name, work):
    """(passed, what to print) of a program; passed is None if it was skipped."""
    found = []
    for engine, folder in (("official", official), ("ours", "")):
        path = os.path.join(work, f"{name}.{engine}.npz")
        code, text = run(python, name, path, folder)
        if code == run_program.MISSING:
            return None, text.strip()
        if code:
            return False, f"{engine} ended with {code}:\n{text[-3000:]}"
        said = json.loads(text.splitlines()[-1])
        if ("+retort" in said["engine"]) != (engine == "ours"):
            return False, f"the package of {engine} is {said['engine']} in {said['from']}"
        found.append(results.load(path))
    lines = results.compare(*found)
    return not lines, f"{len(found[0])} results" if not lines else "\n  ".join(["", *lines])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--wheels", default="out/wheels")
    ap.add_argument("--work", default="build/python/programs")
    ap.add_argument("--requirements", default=os.path.join(HERE, "requirements.txt"))
    ap.add_argument("names", nargs="*", metavar="NAME")
    a = ap.parse_args()
    a.work = os.path.abspath(a.work)
    python, official = install(a)
    passed = failed = skipped = 0
    wrong = check_requirements(python)
    print(f"FAIL requirements: {wrong}" if wrong else "requirements on onnxruntime: satisfied", flush=True)
    passed, failed = passed + (not wrong), failed + bool(wrong)
    for name in a.names or sorted(os.path.basename(p)[:-3] for p in glob.glob(os.path.join(HERE, "programs", "*.py"))):
        started = time.time()
        good, text = check(python, official, name, a.work)
        print(f"{'skip' if good is None else 'ok  ' if good else 'FAIL'} {name}: {text} ({time.time() - started:.1f} s)", flush=True)
        passed, failed, skipped = passed + (good is True), failed + (good is False), skipped + (good is None)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
