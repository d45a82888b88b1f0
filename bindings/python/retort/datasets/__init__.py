"""Small models to try things with: mul_1.onnx, sigmoid.onnx and logreg_iris.onnx."""

from __future__ import annotations

import os


def get_example(name: str) -> str:
    """The path of one of the models.

    Args:
        name: the name of the file.

    Raises:
        FileNotFoundError: there is no such model; the message lists the existing ones.
    """
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        models = ", ".join(sorted(file for file in os.listdir(folder) if file.endswith(".onnx")))
        raise FileNotFoundError(f"Unable to find example '{name}'; there are {models}")
    return path
