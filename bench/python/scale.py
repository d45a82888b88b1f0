#!/usr/bin/env python3
"""Throughput of Ray Data and Spark with one and two workers: ours, onnxruntime in the same place, and plain processes.

    scale.py [--rows N] [--markdown FILE]       in an environment with requirements-python-scale.txt and the wheel retort

Every worker has one thread. "plain" is two processes, each with a session of our package, that split the same rows. The
table has rows per second, the gain of the second worker, and the private memory of each worker while it has its session.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import models
import numpy as np

WIDTH = 512
PLAIN = """
import sys, time, numpy
from retort._worker import Batches
batches = Batches(sys.argv[1], sizes=(64,), cache=sys.argv[3])
rows = numpy.load(sys.argv[2], mmap_mode="r")
part, parts = int(sys.argv[4]), int(sys.argv[5])
print("ready", flush=True)
sys.stdin.readline()
for start in range(64 * part, len(rows), 64 * parts):
    batches({"x": rows[start:start + 64]})
print("done", flush=True)
sys.stdin.readline()
"""


class Official:
    """What programs for Ray write today: a session of onnxruntime in an actor."""

    def __init__(self, model, **_):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._output = self._session.get_outputs()[0].name

    def __call__(self, columns):
        return {self._output: self._session.run([self._output], {"x": np.stack(columns["x"]) if columns["x"].dtype == object else columns["x"]})[0]}


def private_mib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_")) / 1024


def plain(model, rows, workers, cache):
    """Seconds of processes that split the rows; the private memory of the last one."""
    command = [sys.executable, "-c", PLAIN, model, rows, cache]
    processes = [subprocess.Popen([*command, str(i), str(workers)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") for i in range(workers)]
    for process in processes:
        process.stdout.readline()
    start = time.perf_counter()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.stdout.readline()
    seconds, memory = time.perf_counter() - start, private_mib(processes[-1].pid)
    for process in processes:
        process.communicate("\n")
    return seconds, memory


def with_ray(model, rows, workers, cache, ours):
    import ray

    import retort.ray
    data = ray.data.from_numpy([part for part in np.array_split(np.load(rows), 16)], column="x").materialize()
    predictor = retort.ray.Predictor if ours else Official
    arguments = {"model": model, "sizes": (64,), "cache": cache, "keep": False} if ours else {"model": model}
    mapped = data.map_batches(predictor, fn_constructor_kwargs=arguments, batch_size=64, concurrency=workers, num_cpus=1)
    start = time.perf_counter()
    count = sum(len(batch[next(iter(batch))]) for batch in mapped.iter_batches(batch_size=1024))
    return time.perf_counter() - start, count


def with_spark(spark, model, path, workers, cache, ours):
    import retort.spark
    frame = spark.read.parquet(path).repartition(workers).cache()
    frame.count()
    if ours:
        function = retort.spark.in_pandas(model, sizes=(64,), cache=cache)
    else:
        def function(frames):
            official = Official(model)
            for part in frames:
                results = official({"x": np.stack(part["x"])})
                yield part.assign(**{name: list(value) for name, value in results.items()})
    start = time.perf_counter()
    count = frame.mapInPandas(function, "x array<float>, r7 array<float>").selectExpr("sum(r7[0]) as s").count()
    frame.unpersist()
    return time.perf_counter() - start, count


def spark_session():
    import pyspark
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (pyspark.sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1").config("spark.sql.execution.arrow.maxRecordsPerBatch", "1024").getOrCreate())


def measured(count, area):
    """{place: [seconds with one worker, with two]}, and the private memory of the workers of plain processes."""
    import pandas as pd
    import ray
    rows, model, cache = os.path.join(area, "rows.npy"), models.layers(24, WIDTH), os.path.join(area, "cache")
    x = np.random.default_rng(0).standard_normal((count, WIDTH), np.float32)
    np.save(rows, x)
    pd.DataFrame({"x": list(x)}).to_parquet(os.path.join(area, "rows.parquet"))
    plain(model, rows, 1, cache)  # fills the cache of packed weights
    found = {"plain processes": [plain(model, rows, n, cache) for n in (1, 2)]}
    memory = [m for _, m in found["plain processes"]]
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    for name, ours in (("Ray Data, retort", True), ("Ray Data, onnxruntime", False)):
        with_ray(model, rows, 1, cache, ours)
        found[name] = [with_ray(model, rows, n, cache, ours) for n in (1, 2)]
    ray.shutdown()
    spark = spark_session()
    for name, ours in (("Spark mapInPandas, retort", True), ("Spark mapInPandas, onnxruntime", False)):
        with_spark(spark, model, os.path.join(area, "rows.parquet"), 1, cache, ours)
        found[name] = [with_spark(spark, model, os.path.join(area, "rows.parquet"), n, cache, ours) for n in (1, 2)]
    spark.stop()
    return {name: [seconds for seconds, _ in pair] for name, pair in found.items()}, memory


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rows", type=int, default=200_000)
    ap.add_argument("--markdown", default="")
    a = ap.parse_args()
    with tempfile.TemporaryDirectory(prefix="retort-scale-") as area:
        found, memory = measured(a.rows, area)
    text = "| place | 1 worker, rows/s | 2 workers | gain |\n|---|---:|---:|---:|\n"
    for name, (one, two) in found.items():
        text += f"| {name} | {a.rows / one:,.0f} | {a.rows / two:,.0f} | {one / two:.2f} × |\n"
    text += f"\nPrivate memory of a worker: {memory[0]:.0f} MiB of the only one, {memory[1]:.0f} MiB of the second of two; weights have 24 MiB.\n"
    print(text, end="")
    if a.markdown:
        with open(a.markdown, "w", encoding="utf-8") as f:
            f.write(text)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
