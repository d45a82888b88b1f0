"""Runs that an event loop of asyncio waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _native as C

if TYPE_CHECKING:
    from ._session import Session


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
    run = asyncio.get_running_loop().run_in_executor(None, session.run, output_names, input_feed, options)
    try:
        return await asyncio.shield(run)
    except asyncio.CancelledError:
        await _end(run, options)
        raise


async def _end(run: asyncio.Future[list[Any]], options: C.RunOptions) -> None:
    """Ends a run and waits for its thread, however often the task is cancelled meanwhile."""
    run.cancel()  # one that has not begun
    options.terminate = True
    try:
        while not run.done():
            try:
                await asyncio.wait([run])
            except asyncio.CancelledError:
                continue
        if not run.cancelled():
            run.exception()  # the error of the run that was ended is not news
    finally:
        options.terminate = False
