"""The command-line tool: where it is, and how functions of this package start it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import _native as C

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

_NAME = "retort.exe" if os.name == "nt" else "retort"
# Exit code of the tool.
_WRONG_USAGE = 2


def candidates() -> Iterator[str]:
    """Where the tool may be, in the order in which the places are searched."""
    named = os.environ.get("RETORT_TOOL")
    if named:
        yield named
        return
    yield os.path.join(os.path.dirname(os.path.abspath(__file__)), _NAME)
    library = os.path.dirname(C.library_path())
    yield os.path.join(os.path.dirname(library), "bin", _NAME)


def path() -> str:
    """The tool's file.

    Raises:
        FileNotFoundError: it is in none of the places; the message lists them.
    """
    tried = []
    for candidate in candidates():
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
        tried.append(candidate)
    raise FileNotFoundError(
        f"no command-line tool: {' and '.join(tried)} cannot be executed; install the package again, or set "
        "RETORT_TOOL to the program 'retort' of a build"
    )


def environment() -> dict[str, str]:
    """The environment for the tool: it uses the library of this process."""
    return {**os.environ, "RETORT_LIBRARY": C.library_path()}


def run(arguments: Sequence[str], accepted: Sequence[int] = (0,)) -> Any:
    """Starts the tool and gives what it prints as JSON.

    Args:
        arguments: command and options.
        accepted: exit codes that are no errors.

    Raises:
        ValueError: the tool does not accept the arguments.
        Fail: the engine or a file reported an error.
    """
    # The tool's messages are UTF-8, whatever the locale is.
    done = subprocess.run([path(), *arguments, "--json"], capture_output=True, env=environment(), check=False)
    if done.returncode in accepted:
        return json.loads(done.stdout)
    message = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
    if done.returncode == _WRONG_USAGE:
        raise ValueError(message)
    raise C.Fail(message)


@contextmanager
def model_file(model: Any, folder: str) -> Generator[str, None, None]:
    """A file with the model: the given path, or a file in `folder` with bytes or with a model of the package onnx."""
    if isinstance(model, (str, os.PathLike)):
        if not os.path.isfile(model):
            raise C.NoSuchFile(f"model: {os.fspath(model)} does not exist; give the path of a model, or its bytes")
        yield os.fspath(model)
        return
    data = model.SerializeToString() if hasattr(model, "SerializeToString") else model
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"model: got {type(model).__name__}, expected a path, bytes or onnx.ModelProto")
    name = os.path.join(folder, f"model{len(os.listdir(folder))}.onnx")
    with open(name, "wb") as file:
        file.write(data)
    yield name


def scratch() -> TemporaryDirectory[str]:
    """A folder for files of one call, which is removed at the end of the `with` statement."""
    import tempfile

    return tempfile.TemporaryDirectory(prefix="retort-")


def input_options(inputs: Mapping[str, Any] | None, folder: str) -> list[str]:
    """Options that hand inputs to the tool, as files in `folder`; names of files are handed on."""
    import numpy as np

    options = []
    for index, (name, value) in enumerate((inputs or {}).items()):
        if isinstance(value, (str, os.PathLike)):
            file = os.fspath(value)
        else:
            file = os.path.join(folder, f"input_{index}.npy")
            np.save(file, np.asarray(value))
        options.append(f"--input={name}={file}")
    return options
