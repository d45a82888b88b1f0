#!/usr/bin/env python3
"""Makes the Python wheels of a build: for each interpreter, the package retort, and the same as a package named onnxruntime.

    wheel.py --build DIR --prefix DIR --to DIR [--work DIR] [--pythons DIR] [--interpreter PYTHON] [TAG...]

TAG: cp310, cp311, cp312, cp313t: some of the interpreters that wheel_pythons.py finds in --pythons and on PATH. One of 3.12
or newer makes a wheel for the stable interface, which newer ones use as well. Each interpreter gets a virtual environment
with requirements-wheel.txt, in the folder --work.

Each wheel is checked: one engine inside, loads on manylinux_2_28 (auditwheel), uses the stable interface only (abi3audit),
size. The last line is "N passed, N failed".
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys

import dist
import licences
import linked
import wheel_check
import wheel_file
import wheel_pythons

SOURCE = os.path.join(linked.ROOT, "bindings", "python")
REQUIREMENTS = os.path.join(linked.ROOT, "requirements-wheel.txt")
# The version of the interface whose Python package the wheel named onnxruntime stands for.
INTERFACE = "1.32.0"


def environment(python, folder):
    """A virtual environment of the interpreter with what builds wheels; returns its interpreter."""
    ready, inside = os.path.join(folder, ".requirements"), os.path.join(folder, "bin", "python")
    with open(REQUIREMENTS, encoding="utf-8") as f:
        wanted = f.read()
    if os.path.exists(ready):
        with open(ready, encoding="utf-8") as f:
            if f.read() == wanted:
                return inside
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", folder], check=True)
    # The newest NumPy may have no wheel for this interpreter, and would be compiled for minutes.
    subprocess.run([inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", "numpy", "-r", REQUIREMENTS], check=True)
    with open(ready, "w", encoding="utf-8") as f:
        f.write(wanted)
    return inside


def build(python, a, folder):
    """Builds the wheel of retort as pip does; returns its path, and the folder of the files that only the package `onnxruntime` has."""
    shutil.rmtree(os.path.join(folder, "raw"), ignore_errors=True)
    stubs = os.path.join(os.path.abspath(a.build), "compat", "stubs")
    options = {"cmake.define.RETORT_PREFIX": os.path.abspath(a.prefix), "cmake.define.RETORT_PYTHON_BOTH": "ON",
               "cmake.define.RETORT_STUBS": stubs if os.path.isdir(stubs) else "", "build-dir": os.path.join(folder, "build")}
    command = [python, "-m", "pip", "wheel", SOURCE, "--no-deps", "--no-build-isolation", "--disable-pip-version-check",
               "--wheel-dir", os.path.join(folder, "raw"), *(f"--config-settings={name}={value}" for name, value in options.items())]
    log = os.path.join(folder, "wheel.log")
    # The tools of the environment come first: its CMake knows the stable interface.
    paths = os.path.dirname(python) + os.pathsep + os.environ["PATH"]
    with open(log, "wb") as f:
        done = subprocess.run([*command, "-v"], stdout=f, stderr=subprocess.STDOUT, check=False, env={**os.environ, "PATH": paths})
    if done.returncode:
        with open(log, encoding="utf-8", errors="replace") as f:
            print("".join(f.readlines()[-60:]))
        raise SystemExit(f"pip wheel ended with {done.returncode}; {log} has all that it printed")
    wheel, = glob.glob(os.path.join(folder, "raw", "*.whl"))
    return wheel, os.path.join(folder, "build", "onnxruntime")


def texts(a, folder):
    """The licence texts of code of others in the engine and in the extension."""
    at = os.path.join(folder, "licences")
    if not os.path.isdir(at):
        licences.collect(a.build, at)
    return at


def make(tag, interpreter, a):
    """Both wheels of an interpreter; returns the one of its environment, and their paths."""
    folder = os.path.join(os.path.abspath(a.work), tag)
    os.makedirs(folder, exist_ok=True)
    python = environment(interpreter, os.path.join(folder, "venv"))
    raw, others = build(python, a, folder)
    made = []
    for change in (wheel_file.Same(), wheel_file.Renamed("onnxruntime", f"{INTERFACE}+retort", others)):
        made.append(wheel_file.write(raw, a.to, change, texts(a, a.work), dist.epoch()))
        print(f"{os.path.basename(made[-1])} {os.path.getsize(made[-1]):,} bytes", flush=True)
    return python, made


def options():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", required=True)
    ap.add_argument("--prefix", required=True)
    ap.add_argument("--to", required=True)
    ap.add_argument("--work", default="build/python")
    ap.add_argument("--pythons", default="build/pythons")
    ap.add_argument("--interpreter", default="", help="only this one, by path")
    ap.add_argument("tags", nargs="*", metavar="TAG")
    return ap.parse_args()


def chosen(a):
    """The interpreters {tag: path} that were asked for; all that were found if none was."""
    if a.interpreter:
        return {wheel_pythons.tag_of(a.interpreter): a.interpreter}
    found, missing = wheel_pythons.find(a.pythons)
    if unknown := set(a.tags) - set(found):
        raise SystemExit(f"no interpreter for {', '.join(sorted(unknown))}; there are {', '.join(found) or 'none'}")
    if not a.tags and missing:
        print(f"no wheel for {', '.join(missing)}: the interpreter was not found (tools/pythons.sh fetches some)")
    return {tag: found[tag] for tag in a.tags or found}


def main():
    a = options()
    os.makedirs(a.to, exist_ok=True)
    shutil.rmtree(os.path.join(a.work, "licences"), ignore_errors=True)
    passed = failed = 0
    tools = ""
    for tag, interpreter in chosen(a).items():
        python, wheels = make(tag, interpreter, a)
        tools = tools or os.path.dirname(python)  # of the first environment, whatever the others could install
        for wheel in wheels:
            complaints = wheel_check.complaints(wheel, tools, os.path.join(a.prefix, "lib", "libretort.so.1"))
            print("".join(f"FAIL {os.path.basename(wheel)}: {text}\n" for text in complaints), end="")
            passed, failed = passed + (not complaints), failed + bool(complaints)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
