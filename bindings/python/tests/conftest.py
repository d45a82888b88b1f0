"""What all tests share: which engine they run on, and the table of known differences.

Environment (tools/stages/binding.py sets it; each may be missing):
  RETORT_LIBRARY    the engine library; by default the one inside the package
  RETORT_OFFICIAL   the folder that contains the official package onnxruntime, for processes that import it
  RETORT_ORACLE     official ONNX Runtime's library
  RETORT_LOOPBACK   the plug-in of examples/providers/loopback
  RETORT_RUN_CASES  the C++ program run_cases
  RETORT_CUDA       the plug-in of the CUDA provider
  RETORT_SOFTWARE_CUDA  the folder of stand-ins for NVIDIA's libraries
  RETORT_INSTALLED  names of the installed packages, "retort onnxruntime" or "retort"; then the package must not be that
                    in the source tree
"""
import csv
import os
import pathlib

import pytest
import retort
from retort import _native

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
ON_RETORT = _native.is_retort()


def known_differences():
    """{test: what the official library does} of differences.tsv."""
    with open(HERE / "differences.tsv", encoding="utf-8", newline="") as file:
        return {row["test"]: row["official"] for row in csv.DictReader(file, delimiter="\t")}


def pytest_configure(config):
    config.addinivalue_line("markers", "retort_only(reason): uses what only Retort has")
    config.addinivalue_line("markers", "memory: counts memory of a process, which a sanitizer changes")
    config.addinivalue_line("markers", "slow: takes more than ten seconds")
    if os.environ.get("RETORT_INSTALLED") and HERE.parent in pathlib.Path(retort.__file__).resolve().parents:
        pytest.exit(f"the package is that of the checkout, {retort.__file__}, in place of the installed one", 3)


def pytest_report_header():
    return f"retort {retort.__version__} from {os.path.dirname(retort.__file__)}, engine {_native.library_path()}"


def pytest_collection_modifyitems(config, items):
    """On another library than Retort: leaves out tests of Retort's own functions, and expects the differences of the table."""
    if ON_RETORT:
        return
    differences, used = known_differences(), set()
    for item in items:
        only = item.get_closest_marker("retort_only")
        if only:
            item.add_marker(pytest.mark.skip(reason=only.args[0] if only.args else "only Retort has this"))
        name = item.nodeid.rsplit("/", 1)[-1]
        for known in (name, name.split("[")[0]):
            if known in differences:
                used.add(known)
                item.add_marker(pytest.mark.xfail(reason=differences[known], strict=True))
                break
    stale = set(differences) - used
    if stale and not config.option.keyword and len({item.path for item in items}) > 10:
        raise pytest.UsageError(f"differences.tsv names tests that do not exist: {', '.join(sorted(stale))}")


@pytest.fixture(scope="session")
def digits():
    """A small trained model: input `image` float[batch,1,8,8], output `probabilities` float[batch,10]."""
    return ROOT / "examples" / "digits" / "digits.onnx"


def from_environment(name, what):
    path = os.environ.get(name)
    if not path or not os.path.exists(path):
        pytest.skip(f"no {what}: {name} is not set to it")
    return path


@pytest.fixture(scope="session")
def loopback():
    """The plug-in library whose device has memory that the host cannot read."""
    return from_environment("RETORT_LOOPBACK", "plug-in loopback")


@pytest.fixture(scope="session")
def official():
    """The folder that contains the official package onnxruntime."""
    return from_environment("RETORT_OFFICIAL", "official package")


@pytest.fixture(scope="session")
def run_cases():
    """The C++ program that runs models."""
    return from_environment("RETORT_RUN_CASES", "program run_cases")


@pytest.fixture(scope="session")
def cuda_plugin():
    """The plug-in library of the CUDA provider."""
    return from_environment("RETORT_CUDA", "CUDA provider")


@pytest.fixture(scope="session")
def software_cuda():
    """The folder of stand-ins for NVIDIA's libraries."""
    return from_environment("RETORT_SOFTWARE_CUDA", "software CUDA")
