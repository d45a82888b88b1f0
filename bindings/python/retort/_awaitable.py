"""Runs that an event loop of asyncio waits for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _native as C

if TYPE_CHECKING:
    from ._runs import Session


class _Run:
    """A run in a thread, which can be ended from the event loop."""

    def __init__(self, session: Session, arguments: tuple[Any, Any, C.RunOptions]) -> None:
        self._session = session
        self._arguments = arguments
        self._lock = threading.Lock()
        self._begun = False
        self._ended = False

    def __call__(self) -> list[Any]:
        with self._lock:
            self._begun = True
            if self._ended:
                return []  # the task was cancelled before this thread began
        return self._session.run(*self._arguments)

    def end(self) -> bool:
        """Tells the run to end, and whether there is a thread to wait for."""
        with self._lock:
            self._ended = True
            if self._begun:
                self._arguments[2].terminate = True
            return self._begun


async def run_awaitable(
    session: Session,
    output_names: Sequence[str] | None,
    input_feed: Mapping[str, Any],
    run_options: C.RunOptions | None,
) -> list[Any]:
    """The results of a run in the executor of the event loop.

    If the task is cancelled, the run is told to end, and the cancellation goes on when the thread has left the engine,
    so that arrays may be changed then.
    """
    options = C.RunOptions() if run_options is None else run_options
    run = _Run(session, (output_names, input_feed, options))
    future = asyncio.get_running_loop().run_in_executor(None, run)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if run.end():
            await _left(future)
            options.terminate = False
        raise


async def _left(future: asyncio.Future[list[Any]]) -> None:
    """Waits until the thread has left the engine, however often the task is cancelled meanwhile."""
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            continue
    future.exception()  # the error of a run that was ended is not news
