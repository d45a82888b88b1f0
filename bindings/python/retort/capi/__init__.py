"""Modules from which programs take names as they do from onnxruntime.capi."""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = (
    "_pybind_state",
    "build_and_package_info",
    "onnxruntime_collect_build_info",
    "onnxruntime_inference_collection",
    "onnxruntime_pybind11_state",
    "onnxruntime_validation",
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
