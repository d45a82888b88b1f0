"""The backend interface of the package onnx: `prepare(model).run(inputs)`."""

from .backend import is_compatible, prepare, run, supports_device

__all__ = ["is_compatible", "prepare", "run", "supports_device"]
