"""Spark: models as functions of columns.

    classify = predict_batch_udf(retort.spark.predictor("model.onnx"), return_type=ArrayType(FloatType()), batch_size=64,
                                 input_tensor_shapes=[[3, 224, 224]])
    rows = frame.withColumn("probabilities", classify("image"))

    rows = frame.mapInPandas(retort.spark.in_pandas("model.onnx"), "image array<float>, probabilities array<float>")

Each Python worker of an executor keeps one session, with as many threads as a task has cores (`spark.task.cpus`);
workers of a host share the packed weights. A model is a path that every node has, or the bytes of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pyspark import TaskContext

from ._worker import Batches, of_this_process


def _of_this_task(model: str | bytes, sizes: Sequence[int], cache: str | None) -> Batches:
    context = TaskContext.get()
    return of_this_process(model, context.cpus() if context else 1, tuple(sizes), cache)


def predictor(
    model: str | bytes, output: str | None = None, sizes: Sequence[int] = (8, 64, 256), cache: str | None = None
) -> Callable[[], Callable[..., Any]]:
    """The first argument of `pyspark.ml.functions.predict_batch_udf`.

    Args:
        model: its inputs are the columns of the function, in the order of the model.
        output: the output that the function gives; None: the only one, or all of them as a struct.
        sizes: numbers of rows that runs have; let `batch_size` be the largest.
        cache: the folder of packed weights; see `Batches`.
    """

    def make() -> Callable[..., Any]:
        batches = _of_this_task(model, sizes, cache)
        names = [argument.name for argument in batches.session.get_inputs()]

        def predict(*columns: Any) -> Any:
            results = batches(dict(zip(names, columns)))
            if output is not None:
                return results[output]
            return next(iter(results.values())) if len(results) == 1 else results

        return predict

    return make


def in_pandas(
    model: str | bytes,
    sizes: Sequence[int] = (8, 64, 256),
    cache: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """The first argument of `DataFrame.mapInPandas`: the frame's columns, and a column for each output.

    Args:
        model, sizes, cache: see `predictor`. The frame has a column for each input.
        shapes: for inputs whose rows have several axes, the extents of a row: Spark's columns are flat.
    """

    def run(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        batches = _of_this_task(model, sizes, cache)
        for frame in frames:
            columns = dict(frame.items())
            for name, shape in (shapes or {}).items():
                columns[name] = [np.reshape(row, shape) for row in frame[name]]
            results = batches(columns)
            yield frame.assign(**{n: list(r.reshape(len(frame), -1)) if r.ndim > 1 else r for n, r in results.items()})

    return run
