"""What the tests share: models, the library under test, and the folder of the package."""

from __future__ import annotations

import os
import sys

import pytest

FOLDER = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.dirname(FOLDER)
ROOT = os.path.dirname(os.path.dirname(PYTHON))
sys.path[:0] = [os.path.join(PYTHON, "tools")]

import retort  # noqa: E402

IS_RETORT = retort._native.is_retort()

only_retort = pytest.mark.skipif(not IS_RETORT, reason="only Retort's library has this")


def official_package() -> str | None:
    """Where the official package onnxruntime is installed, if it is."""
    import importlib.util

    spec = importlib.util.find_spec("onnxruntime")
    if spec is None or spec.origin is None:
        return None
    folder = os.path.dirname(spec.origin)
    has_libraries = any(name.startswith("libonnxruntime.so.") for name in os.listdir(os.path.join(folder, "capi")))
    return folder if has_libraries else None


@pytest.fixture(scope="session")
def digits() -> str:
    """A classifier of images [N, 1, 8, 8]: input "image", output "probabilities" [N, 10]."""
    return os.path.join(ROOT, "examples", "digits", "digits.onnx")


@pytest.fixture
def product() -> str:
    """Y = X * [[1, 2], [3, 4], [5, 6]]."""
    from retort.datasets import get_example

    return get_example("mul_1.onnx")
