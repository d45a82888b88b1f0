"""Places that tests of the Python part need."""

from __future__ import annotations

import importlib.util
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(FOLDER)
ROOT = os.path.dirname(os.path.dirname(SOURCE))
TOOLS = os.path.join(SOURCE, "tools")
# The folder of the package that is tested, if Python does not find it by itself in other processes.
PACKAGES = [] if os.environ.get("RETORT_INSTALLED") else [SOURCE]
sys.path[:0] = [TOOLS]


def official_folder() -> str | None:
    """The folder that has the official package onnxruntime: RETORT_OFFICIAL, or where it is installed; None: nowhere."""
    named = os.environ.get("RETORT_OFFICIAL")
    if named:
        return named
    spec = importlib.util.find_spec("onnxruntime")
    if spec is None or spec.origin is None:
        return None
    capi = os.path.join(os.path.dirname(spec.origin), "capi")
    official = any(name.startswith("onnxruntime_pybind11_state.") and name.endswith(".so") for name in os.listdir(capi))
    return os.path.dirname(os.path.dirname(spec.origin)) if official else None
