"""Ray: models over data sets (Ray Data) and as services (Ray Serve).

    results = retort.ray.map_batches(dataset, "model.onnx", workers=2, cores=4)
    handle = ray.serve.run(retort.ray.deployment("model.onnx", replicas=2))

Each worker has one session with as many threads as it has cores; workers of a host share the packed weights.
"""
from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import ray.data

from ._worker import Batches


class Predictor(Batches):
    """A class for `Dataset.map_batches`: gives the columns of a batch and the model's outputs."""

    def __init__(self, keep: bool = True, **options: Any) -> None:
        """Loads the model with options of `Batches`. `keep`: whether the columns of the data set stay."""
        super().__init__(**options)
        self._keep = keep

    def __call__(self, columns: Any) -> dict[str, Any]:
        """Runs the model on a batch of columns."""
        return {**(columns if self._keep else {}), **super().__call__(columns)}


def map_batches(
    dataset: ray.data.Dataset, model: str | bytes, workers: int = 1, cores: int = 1, rows: int = 64, **options: Any
) -> ray.data.Dataset:
    """The data set with the outputs of the model as columns.

    Args:
        dataset: has a column for each input.
        model: a path that every node has, or the bytes of the file.
        workers, cores: the number of processes, and the cores of each, which are the threads of its runs.
        rows: rows of a batch.
        options: `keep`, `sizes`, `cache`: see `Predictor` and `Batches`.
    """
    made = {"model": model, "cores": cores, "sizes": (rows,), **options}
    pool = ray.data.ActorPoolStrategy(size=workers)
    return dataset.map_batches(Predictor, fn_constructor_kwargs=made, batch_size=rows, compute=pool, num_cpus=cores)


def deployment(
    model: str | bytes, replicas: int = 1, cores: int = 1, rows: int = 64, wait: float = 0.002, **options: Any
) -> ray.serve.Application:
    """An application for `ray.serve.run`, which computes requests that wait together in one run.

    A request has a row of each input: `handle.remote({"image": image})`, or JSON over HTTP. Answers are alike.

    Args:
        replicas: the number of processes.
        rows, wait: requests that one run computes at most, and the seconds that one waits for others.
        model, cores, options: see `map_batches`.
    """
    from ray import serve  # not at the top: workers of Ray Data do not need it

    # A replica accepts a batch that runs, and one that waits.
    @serve.deployment(num_replicas=replicas, max_ongoing_requests=2 * rows, ray_actor_options={"num_cpus": cores})
    class Retort:
        def __init__(self) -> None:
            self._batches = Batches(model, cores, **options)

        @serve.batch(max_batch_size=rows, batch_wait_timeout_s=wait)
        async def _compute(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
            columns = {name: np.stack([np.asarray(r[name]) for r in requests]) for name in requests[0]}
            results = await asyncio.to_thread(self._batches, columns)
            return [{name: column[i] for name, column in results.items()} for i in range(len(requests))]

        async def __call__(self, request: Any) -> Any:
            if isinstance(request, dict):
                return await self._compute(request)
            return {name: np.asarray(row).tolist() for name, row in (await self._compute(await request.json())).items()}

    return Retort.bind()
