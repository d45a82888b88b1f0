"""Builds the extension with AddressSanitizer and UndefinedBehaviorSanitizer and runs the tests on it.

    sanitized.py --prefix DIR --work DIR [PYTEST-ARGUMENT...]

PREFIX: an installation of the engine, which is an ordinary one. WORK gets a virtual environment, the build, and the
package. The first error of a sanitizer ends the process, and so its test. Leaks are not looked for here: the
interpreter keeps much until it ends, and test_value_leaks.py counts on its own. Variables that conftest.py of the tests
lists are handed on.
"""

import argparse
import glob
import os
import shutil
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(SOURCE))
REQUIREMENTS = [os.path.join(ROOT, name) for name in ("requirements-wheel.txt", "requirements-python.txt")]
FLAGS = "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
# These start mypy and pyright, count memory, start the command-line tool, look into wheels: what tests the extension is
# elsewhere, and the tool cannot be started with the sanitizer preloaded.
LEFT_OUT = ("test_types.py", "test_value_leaks.py", "test_reports.py", "test_installed.py")
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:quarantine_size_mb=32",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}


def environment(work: str) -> str:
    """The interpreter of a virtual environment with what builds and tests the extension."""
    python = os.path.join(work, "venv", "bin", "python")
    stamp = os.path.join(work, "venv", ".requirements")
    if not os.path.exists(stamp):
        subprocess.run([sys.executable, "-m", "venv", "--clear", os.path.join(work, "venv")], check=True)
        files = [argument for name in REQUIREMENTS for argument in ("-r", name)]
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *files], check=True)
        with open(stamp, "w", encoding="utf-8"):
            pass
    return python


def build(python: str, prefix: str, work: str) -> None:
    """Builds the package into a folder of `work` where the interpreter finds it."""
    tools = os.path.dirname(python)
    made, packages = os.path.join(work, "build"), os.path.join(work, "packages")
    options = [f"-DPython_EXECUTABLE={python}", f"-DRETORT_PREFIX={os.path.abspath(prefix)}", f"-DCMAKE_CXX_FLAGS={FLAGS}"]
    options += ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_MAKE_PROGRAM=" + os.path.join(tools, "ninja")]
    cmake = os.path.join(tools, "cmake")
    subprocess.run([cmake, "-S", SOURCE, "-B", made, "-G", "Ninja", *options], check=True)
    subprocess.run([cmake, "--build", made], check=True)
    shutil.rmtree(packages, ignore_errors=True)
    shutil.copytree(os.path.join(SOURCE, "retort"), os.path.join(packages, "retort"), ignore=shutil.ignore_patterns("_native*.so", "__pycache__"))
    subprocess.run([cmake, "--install", made, "--prefix", packages], check=True, stdout=subprocess.DEVNULL)
    # Not through PYTHONPATH, which some tests set for the processes that they start.
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", where], capture_output=True, encoding="utf-8", check=True).stdout.strip()
    with open(os.path.join(site, "retort.pth"), "w", encoding="utf-8") as file:
        file.write(packages + "\n")


def runtime() -> str:
    """The sanitizers' library, and the C++ library, whose functions it must find."""
    names = ("libasan.so", "libstdc++.so")
    found = [subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, encoding="utf-8", check=True).stdout.strip() for name in names]
    return " ".join(os.path.realpath(path) for path in found)


def official() -> str:
    """The folder of the official package of the project's environment; empty if it is not installed."""
    found = glob.glob(os.path.join(ROOT, ".venv", "lib", "python3*", "site-packages", "onnxruntime"))
    return os.path.dirname(found[0]) if found else ""


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--prefix", required=True)
    ap.add_argument("--work", required=True)
    a, rest = ap.parse_known_args()
    work = os.path.abspath(a.work)
    os.makedirs(work, exist_ok=True)
    python = environment(work)
    build(python, a.prefix, work)
    tests = os.path.join(SOURCE, "tests")
    left_out = [f"--ignore={os.path.join(tests, name)}" for name in LEFT_OUT]
    named = [os.path.abspath(argument) for argument in rest if os.path.exists(argument)]
    chosen = [argument for argument in rest if not os.path.exists(argument)] + (named or [tests])
    variables = {
        **os.environ, **OPTIONS, "LD_PRELOAD": runtime(), "PYTHONMALLOC": "malloc", "RETORT_INSTALLED": "retort",
        "RETORT_OFFICIAL": official(), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not memory", *left_out, *chosen]
    return subprocess.run(command, env=variables, cwd=work, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
