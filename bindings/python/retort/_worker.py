"""What a worker process of Ray or Spark keeps: one session, and batches padded to a few numbers of rows."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from . import _native as C
from ._session import InferenceSession

_DTYPES = {
    "tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2", "tensor(bool)": "?", "tensor(string)": "O",
    "tensor(int8)": "i1", "tensor(int16)": "i2", "tensor(int32)": "i4", "tensor(int64)": "i8",
    "tensor(uint8)": "u1", "tensor(uint16)": "u2", "tensor(uint32)": "u4", "tensor(uint64)": "u8",
}  # fmt: skip
# Files that are younger are not put into the cache of packed weights: their time of change may stay when they change.
_SETTLED = 2.1


class Batches:
    """A model for columns of any number of rows, on one session with as many threads as the worker has cores.

    The engine's packed weights lie in a folder; all workers of a host that name the same one map the same memory.
    Batches are padded to the next number in `sizes`, because the engine plans each shape once.
    """

    def __init__(
        self, model: str | bytes, cores: int = 1, sizes: Sequence[int] = (1, 8, 64, 256), cache: str | None = None
    ) -> None:
        """Loads the model.

        Args:
            model: a path on this host, or the bytes of the file. The first axis of every input counts rows.
            cores: the number of threads of a run.
            sizes: numbers of rows that runs have; larger batches are split. Ignored if the model fixes the number.
            cache: the folder of packed weights; None: `retort/weights` in this user's folder for caches
                (`XDG_CACHE_HOME`, else `~/.cache`).
        """
        caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        folder = cache or os.path.join(caches, "retort", "weights")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.stat(folder).st_uid not in (os.getuid(), 0):
            raise PermissionError(f"{folder} belongs to another user, who could replace weights; name another cache")
        path = _stored(model, folder) if isinstance(model, bytes) else os.path.abspath(model)
        self.session: InferenceSession = _load(path, folder, cores)
        self._inputs = {i.name: (np.dtype(_DTYPES[i.type]), i.shape[1:]) for i in self.session.get_inputs()}
        self._outputs = [o.name for o in self.session.get_outputs()]
        fixed = {i.shape[0] for i in self.session.get_inputs() if i.shape and isinstance(i.shape[0], int)}
        self._sizes = sorted(fixed or sizes)

    def __call__(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Runs the model on columns with the names of its inputs, converted to their types; others are ignored.

        Raises:
            KeyError: an input has no column.
            ValueError: columns have different numbers of rows, or an output has not one row for each.
        """
        feed = {name: _array(columns[name], *form) for name, form in self._inputs.items()}
        counts = {len(array) for array in feed.values()}
        if len(counts) != 1:
            raise ValueError(f"columns have {sorted(counts)} rows; expected one number for all")
        parts = [self._run(chunk) for chunk in self._chunks(feed, counts.pop())]
        return {name: np.concatenate([part[name] for part in parts]) for name in self._outputs}

    def _chunks(self, feed: dict[str, Any], rows: int) -> Iterator[dict[str, Any]]:
        largest = self._sizes[-1]
        for start in range(0, max(rows, 1), largest):  # no rows: one run, whose results are cut to none
            yield {name: array[start : start + largest] for name, array in feed.items()}

    def _run(self, feed: dict[str, Any]) -> dict[str, Any]:
        rows = len(next(iter(feed.values())))
        size = next(size for size in self._sizes if size >= rows)
        results = self.session.run(None, {name: _padded(array, size) for name, array in feed.items()})
        for name, result in zip(self._outputs, results):
            if len(result) != size:
                raise ValueError(f"output '{name}' has {len(result)} rows for {size} of the inputs; expected as many")
        return {name: result[:rows] for name, result in zip(self._outputs, results)}


@lru_cache(maxsize=4)
def of_this_process(*arguments: Any) -> Batches:
    """The same object for the same arguments: a worker process keeps its session from task to task."""
    return Batches(*arguments)


def _array(column: Any, dtype: np.dtype[Any], extents: Sequence[Any]) -> Any:
    array = np.asarray(column)
    if not len(array):  # without a row, nothing says what shape a row has
        return np.empty((0, *(n if isinstance(n, int) else 1 for n in extents)), dtype)
    if array.dtype == object and dtype != object:  # a column of arrays
        array = np.stack([np.asarray(row) for row in array])
    return array.astype(dtype, copy=False)


def _padded(array: Any, size: int) -> Any:
    """The last row is repeated: every model accepts it, which is not true of zeros."""
    missing = size - len(array)
    if missing and not len(array):
        return np.zeros((size, *array.shape[1:]), array.dtype)
    return np.concatenate([array, np.repeat(array[-1:], missing, axis=0)]) if missing else array


def _stored(model: bytes, folder: str) -> str:
    """A file with the bytes, named by them: all workers of the host map one file."""
    path = os.path.join(folder, hashlib.sha256(model).hexdigest()[:32] + ".onnx")
    if not os.path.exists(path):
        handle, temporary = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(model)
        os.replace(temporary, path)
    return path


def _load(path: str, folder: str, cores: int) -> InferenceSession:
    """A session whose weights lie in memory that all workers of the host map.

    A session that packs weights writes them into the folder, but keeps its own copy. Therefore the worker that writes
    them, one at a time, ends that session and loads the model again.
    """
    options = C.SessionOptions()
    options.intra_op_num_threads = cores
    if not C.is_retort():
        return InferenceSession(path, options)
    options.add_session_config_entry("session.packed_weights_cache", folder)
    lock = hashlib.sha256(path.encode()).hexdigest()[:32] + ".lock"
    with open(os.path.join(folder, lock), "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        time.sleep(max(0.0, os.stat(path).st_ctime + _SETTLED - time.time()))
        before = _packed(folder)
        session = InferenceSession(path, options)
        if _packed(folder) != before:
            del session
            session = InferenceSession(path, options)
    return session


def _packed(folder: str) -> dict[str, tuple[int, int]]:
    """The engine's files of packed weights, and their states."""
    with os.scandir(folder) as entries:
        states = {entry.name: entry.stat() for entry in entries if entry.name.endswith(".packed")}
    return {name: (state.st_ino, state.st_mtime_ns) for name, state in states.items()}
