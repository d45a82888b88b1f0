"""install_as_onnxruntime(): programs that import onnxruntime run on this package."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import retort
from common import PACKAGES, official_folder


def run(program: str, **environment: str) -> str:
    """What a program prints, in a process of its own."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([*PACKAGES, *filter(None, [official_folder()])]), **environment}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=variables, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


INSTALL = "import retort; retort.install_as_onnxruntime()\n"


def test_the_package_and_its_modules_are_ours() -> None:
    program = INSTALL + (
        "import onnxruntime, onnxruntime as ort\n"
        "from onnxruntime import InferenceSession, SessionOptions\n"
        "from onnxruntime.capi import _pybind_state as C\n"
        "from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument\n"
        "import onnxruntime.capi.onnxruntime_inference_collection as collection\n"
        "import onnxruntime.datasets\n"
        "assert InferenceSession is retort.InferenceSession is collection.InferenceSession\n"
        "assert C is retort.capi._pybind_state and Fail is retort.errors.Fail\n"
        "assert onnxruntime.capi._pybind_state.SessionOptions is SessionOptions\n"
        "session = ort.InferenceSession(onnxruntime.datasets.get_example('mul_1.onnx'))\n"
        "print(ort.__version__, ort.__name__, type(session).__module__.split('.')[0])\n"
    )
    assert run(program).split() == ["1.32.0", "onnxruntime", "retort"]


def test_the_installed_version_is_that_of_the_interface() -> None:
    program = INSTALL + (
        "import importlib.metadata, importlib.util\n"
        "print(importlib.metadata.version('onnxruntime'))\n"
        "print(importlib.util.find_spec('onnxruntime') is not None)\n"
    )
    assert run(program).split() == ["1.32.0+retort", "True"]


def test_it_may_be_called_again_and_changes_stay() -> None:
    program = INSTALL + (
        "import onnxruntime\n"
        "onnxruntime.mark = 1\n"
        "retort.install_as_onnxruntime()\n"
        "import onnxruntime as again\n"
        "print(again.mark, hasattr(again, 'no_such_name'))\n"
    )
    assert run(program).split() == ["1", "False"]


def test_it_is_an_error_after_another_onnxruntime_was_imported() -> None:
    program = (
        "import sys, types\n"
        "sys.modules['onnxruntime'] = types.ModuleType('onnxruntime')\n"
        "import retort\n"
        "try:\n    retort.install_as_onnxruntime()\nexcept RuntimeError as error:\n    print(error)\n"
    )
    assert "has been imported from elsewhere already" in run(program)


def test_the_official_package_runs_beside_this_one() -> None:
    if official_folder() is None:
        pytest.skip("the official package is not installed")
    program = (
        "import retort, onnxruntime, numpy\n"
        "from retort.datasets import get_example\n"
        "x = numpy.ones((3, 2), numpy.float32)\n"
        "results = [p.InferenceSession(get_example('mul_1.onnx'), providers=['CPUExecutionProvider'])"
        ".run(None, {'X': x})[0].tolist() for p in (retort, onnxruntime)]\n"
        "print(results[0] == results[1])\n"
    )
    assert run(program).strip() == "True"


@pytest.mark.parametrize("module", ["quantization", "transformers", "tools"])
def test_what_is_missing_is_said_in_one_sentence(module: str) -> None:
    program = INSTALL + f"try:\n    import onnxruntime.{module}\nexcept ImportError as error:\n    print(error)\n"
    text = run(program)
    assert f"retort.{module}: " in text
    assert "Retort" in text and text.count("\n") == 1


def test_importing_the_package_is_quick_and_opens_no_library() -> None:
    program = (
        "import numpy, sys\n"
        "before = set(sys.modules)\n"
        "import retort\n"
        "new = set(sys.modules) - before\n"
        "late = {'asyncio', 'onnx', 'json', 'subprocess', 'importlib.metadata'} & new\n"
        "print(sorted(late), 'libretort' in open('/proc/self/maps', encoding='utf-8').read())\n"
    )
    assert run(program, RETORT_LIBRARY=os.environ.get("RETORT_LIBRARY", "")).strip() == "[] False"
    assert retort.__name__ == "retort"
