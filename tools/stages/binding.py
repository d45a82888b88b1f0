"""The stage python: wheels, a clean environment, tests on both libraries, examples, programs of others."""
import glob
import os
import re
import shutil
import sys
import tempfile

from stages.context import ROOT, Count, oracle, python_tests, skip

SOURCE = os.path.join(ROOT, "bindings", "python")
REQUIREMENTS = os.path.join(ROOT, "requirements-python.txt")
SUMMARY = re.compile(r"(\d+) (passed|failed|error|errors|skipped|xfailed|xpassed)\b")


def python(c):
    """The Python package, installed from wheels as its users install it."""
    if c.sanitizer or c.emulator:
        return skip("the wheels are made of a release build for this processor")
    tag = f"cp3{sys.version_info.minor}"
    if c.start("python.wheel", [sys.executable, "packaging/wheel.py", "--build", c.build, "--prefix", c.out, "--to", os.path.join(c.out, "wheels"),
                                "--work", folder(c), "--interpreter", sys.executable])[0]:
        return Count(failed=1)
    with open(os.path.join(c.work, "python.wheel.log"), encoding="utf-8") as f:
        print("".join("    " + line for line in f if line.startswith(("retort-", "onnxruntime-", "FAIL"))), end="", flush=True)
    wheels = [p for n in ("retort", "onnxruntime") for p in glob.glob(os.path.join(c.out, "wheels", f"{n}-*-{wheel_tags(tag)}-*.whl"))]
    with tempfile.TemporaryDirectory(prefix="retort-python-") as area:
        inside = environment(c, area, wheels)
        if not inside:
            return Count(failed=1)
        total = Count(passed=1)
        for name, library in (("retort", c.library if c.given_library else ""), ("official", os.environ["RETORT_ORACLE"])):
            total += tests(c, name, inside, area, library)
        return total + examples(c, inside) + chat(c, inside, area) + programs(c)


def folder(c):
    """Builds of the extension and environments; kept between runs."""
    return os.path.join(os.path.dirname(c.build), "python")


def wheel_tags(tag):
    return f"{tag}-{tag}" if sys.version_info < (3, 12) else "cp312-abi3"


def environment(c, area, wheels):
    """A virtual environment outside the checkout with both wheels and what the tests need; its interpreter, or None."""
    venv = os.path.join(area, "venv")
    inside = os.path.join(venv, "bin", "python")
    pip = [inside, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    steps = [[sys.executable, "-m", "venv", venv], [*pip, "-r", REQUIREMENTS], [*pip, *wheels]]
    return inside if all(c.start(f"python.venv{i}", step)[0] == 0 for i, step in enumerate(steps)) else None


def variables(c, library):
    """The environment of tests and examples; see bindings/python/tests/conftest.py."""
    official = oracle()
    found = {"RETORT_INSTALLED": "retort onnxruntime", "RETORT_ORACLE": official, "RETORT_OFFICIAL": os.path.dirname(os.path.dirname(os.path.dirname(official))),
             "RETORT_LOOPBACK": c.loopback, "RETORT_RUN_CASES": os.path.join(c.build, "run_cases"), "PYTHONDONTWRITEBYTECODE": "1",
             "RETORT_CUDA": os.path.join(c.build, "libretort_cuda.so"), "RETORT_SOFTWARE_CUDA": os.path.join(c.build, "software_cuda"), **c.cuda()}
    return found | ({"RETORT_LIBRARY": library} if library else {})


def tests(c, name, inside, area, library):
    """Runs pytest in the clean environment, in an empty folder."""
    log = f"python.{name}"
    code, text = c.start(log, ["env", "-C", area, inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfEX", os.path.join(SOURCE, "tests")],
                         **variables(c, library))
    count = pytest_count(text, code)
    print(f"    tests on {name}: {count}", flush=True)
    return count


def pytest_count(text, code):
    """The counts in the last line of pytest; an expected failure counts as skipped."""
    found = dict.fromkeys(("passed", "failed", "error", "skipped", "xfailed", "xpassed"), 0)
    for number, word in SUMMARY.findall((text.strip().splitlines() or [""])[-1]):
        found[word.removesuffix("s") if word == "errors" else word] += int(number)
    count = Count(found["passed"], found["failed"] + found["error"] + found["xpassed"], found["skipped"] + found["xfailed"])
    return count if count.failed or (code == 0 and count.passed) else count + Count(failed=1)


def examples(c, inside):
    """The programs of examples/python, on both libraries."""
    command = [inside, os.path.join("tools", "python_examples.py"), *(["--loopback", c.loopback] if os.path.exists(c.loopback) else [])]
    ours = c.counted("python.examples", [*command, *(["--library", c.library] if c.given_library else [])], **c.cuda())
    return ours + c.counted("python.examples.official", [*command, "--library", os.environ["RETORT_ORACLE"]], **c.cuda())


def chat(c, inside, area):
    """The conversation with a language model, beside the same program in C++."""
    build = os.path.join(area, "chat")
    steps = [["cmake", "-S", os.path.join(ROOT, "examples", "chat"), "-B", build, "-DCMAKE_PREFIX_PATH=" + c.out, "-DCMAKE_BUILD_TYPE=Release"],
             ["cmake", "--build", build]]
    if not all(c.start(f"python.chat.cmake{i}", step)[0] == 0 for i, step in enumerate(steps)):
        return Count(failed=1)
    return python_tests(c, "python.chat", os.path.join("bench", "llm", "chat_test.py"), inside, CHAT=os.path.join(build, "chat"),
                        RETORT_LIBRARY=os.path.join(c.out, "lib", "libretort.so.1"))


def programs(c):
    """A choice of the programs of others."""
    at = os.path.join(ROOT, "tests", "python_programs")
    return c.counted("python.programs", [sys.executable, os.path.join(at, "check.py"), "--wheels", os.path.join(c.out, "wheels"),
                                         "--work", os.path.join(folder(c), "programs-choice"), "--requirements", os.path.join(at, "requirements-choice.txt")])
