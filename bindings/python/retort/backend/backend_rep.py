"""A prepared model of the backend interface."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.backend.base import BackendRep

from .._native import RunOptions
from .._session import InferenceSession

# What a caller may set of a run: nothing that ends it.
_RUN_OPTIONS = ("log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches")


def apply_options(options: Any, allowed: tuple[str, ...], values: dict[str, Any]) -> None:
    """Sets attributes of options by name. Names that the options do not have are for others, and ignored.

    Raises:
        RuntimeError: the options have the attribute, but it is not allowed here.
    """
    kind = type(options).__name__
    for name, value in values.items():
        if name in allowed:
            setattr(options, name, value)
        elif hasattr(options, name):
            raise RuntimeError(f"{kind}.{name} cannot be set through the backend; allowed are {', '.join(allowed)}")


class OnnxRuntimeBackendRep(BackendRep):
    """A session as the backend interface of onnx has it."""

    def __init__(self, session: InferenceSession) -> None:
        """Wraps a session."""
        self._session = session

    def run(self, inputs: Any, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """Runs the model once.

        Args:
            inputs: a list with a value for each input, or the value of the only one.
            kwargs: attributes of `RunOptions`, see there.

        Returns:
            A list with all outputs.
        """
        options = RunOptions()
        apply_options(options, _RUN_OPTIONS, kwargs)
        arguments = self._session.get_inputs()
        values = inputs if isinstance(inputs, list) else [inputs]
        if not isinstance(inputs, list) and len(arguments) != 1:
            raise RuntimeError(f"the model has {len(arguments)} inputs; give a list with a value for each")
        if len(values) > len(arguments):
            raise RuntimeError(f"{len(values)} values for the {len(arguments)} inputs of the model")
        feed = {
            argument.name: np.asarray(value) if isinstance(value, np.generic) else value
            for argument, value in zip(arguments, values)
        }
        return self._session.run(None, feed, options)
