"""The native classes and functions, under the name that programs import."""

from .onnxruntime_pybind11_state import *  # noqa: F403
