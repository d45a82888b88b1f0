#!/usr/bin/env python3
"""Throughput of Ray Data and Spark with one and two workers: ours, onnxruntime in the same place, and plain processes.

    scale.py [--rows N] [--rounds N] [--markdown FILE] [--page FILE]

Runs in an environment with requirements-python-scale.txt and the wheel retort. Every worker has one thread. A plain
process has a session and its share of the rows. The table has rows per second while the workers work (their start is
left out), the gain of the second worker, what part this is of the gain of a second plain process, and the private memory
of a worker's session. Of several rounds, the fastest counts.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import bench
import models
import numpy as np

WIDTH, LAYERS, BATCH, BLOCKS = 512, 48, 64, 32
OUTPUT = f"r{LAYERS - 1}"
PLAIN = """
import sys
import numpy
import scale
model, rows, cache, part, parts, ours = sys.argv[1:4] + [int(text) for text in sys.argv[4:]]
__import__("retort" if ours else "onnxruntime")
scale.wait()
run = scale.load_ours(model, cache) if ours else scale.Official(model)
rows = numpy.load(rows, mmap_mode="r")
run({"x": rows[:scale.BATCH]})
for _ in range(2):
    scale.wait()
    for start in range(scale.BATCH * part, len(rows), scale.BATCH * parts):
        run({"x": rows[start:start + scale.BATCH]})
"""


class Official:
    """What programs write today: a session of onnxruntime in the worker."""

    def __init__(self, model):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def __call__(self, columns):
        x = columns["x"]
        return {OUTPUT: self._session.run([OUTPUT], {"x": np.stack(list(x)) if x.dtype == object else np.ascontiguousarray(x)})[0]}


def load_ours(model, cache):
    from retort._worker import Batches
    return Batches(model, sizes=(BATCH,), cache=cache)


def wait():
    """Lets the process that started this one take its time."""
    print("ready", flush=True)
    sys.stdin.readline()


def private_mib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_")) / 1024


def with_this_folder():
    """A PYTHONPATH with which other processes find this module."""
    return os.pathsep.join(filter(None, [os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH")]))


def go(processes):
    """Lets processes go on, until all of them wait again."""
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.stdout.readline()


def plain(area, workers, ours):
    """Rows per second of processes that split the rows, and the private memory of the last one's session, in MiB."""
    arguments = [sys.executable, "-c", PLAIN, area.model, area.rows, area.cache]
    env = {**os.environ, "PYTHONPATH": with_this_folder(), "RETORT_BENCH_MODELS": area.folder}
    processes = [subprocess.Popen([*arguments, str(i), str(workers), str(int(ours))], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
                 for i in range(workers)]
    for process in processes:
        process.stdout.readline()
    before = private_mib(processes[-1].pid)
    for process in processes:  # one after the other: the first one writes the packed weights
        go([process])
    start = time.perf_counter()
    go(processes)
    seconds, memory = time.perf_counter() - start, private_mib(processes[-1].pid) - before
    for process in processes:
        process.kill()
        process.wait()
    return area.count / seconds, memory


def with_ray(area, workers, ours):
    """Rows per second after the first results of each worker, whose time is mostly its start."""
    import pyarrow as pa
    import ray

    import retort.ray
    parts = np.array_split(np.load(area.rows), BLOCKS)
    data = ray.data.from_arrow([pa.table({"x": pa.FixedShapeTensorArray.from_numpy_ndarray(part)}) for part in parts])
    if ours:
        mapped = retort.ray.map_batches(data, area.model, workers=workers, rows=BATCH, keep=False, cache=area.cache)
    else:
        pool = ray.data.ActorPoolStrategy(size=workers)
        mapped = data.map_batches(Official, fn_constructor_kwargs={"model": area.model}, batch_size=BATCH, compute=pool, num_cpus=1)
    start, count = 0.0, 0
    for i, batch in enumerate(mapped.iter_batches(batch_size=None)):
        if i < workers:
            start = time.perf_counter()
        else:
            count += len(batch[OUTPUT])
    return count / (time.perf_counter() - start)


def with_spark(area, workers, ours):
    """Rows per second of a job whose Python workers run, which an earlier job of the same kind saw to."""
    import retort.spark
    frame = area.spark.read.parquet(area.parquet).repartition(workers).cache()
    frame.count()
    if ours:
        function = retort.spark.in_pandas(area.model, sizes=(BATCH,), cache=area.cache)
    else:
        model = area.model

        def function(frames):
            official = Official(model)
            for part in frames:
                for at in range(0, len(part), BATCH):
                    rows = part.iloc[at:at + BATCH]
                    yield rows.assign(**{name: list(value) for name, value in official({"x": rows["x"].to_numpy()}).items()})

    def job():  # a new one each time: Spark keeps what another one has shuffled
        return frame.mapInPandas(function, f"x array<float>, {OUTPUT} array<float>").selectExpr(f"sum({OUTPUT}[0]) as s")
    job().collect()
    start = time.perf_counter()
    job().collect()
    seconds = time.perf_counter() - start
    frame.unpersist()
    return area.count / seconds


class Area:
    """The folder of a measurement: model, rows in two forms, the cache of packed weights."""

    def __init__(self, folder, count):
        import pandas as pd
        self.folder, self.count, self.spark = folder, count, None
        self.model, self.rows = models.layers(LAYERS, WIDTH), os.path.join(folder, "rows.npy")
        self.parquet, self.cache = os.path.join(folder, "rows.parquet"), os.path.join(folder, "cache")
        x = np.random.default_rng(0).standard_normal((count, WIDTH), np.float32)
        np.save(self.rows, x)
        pd.DataFrame({"x": list(x)}).to_parquet(self.parquet)


def spark_session():
    import pyspark
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = with_this_folder()
    return (pyspark.sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "4g").getOrCreate())


def fastest(measure, area, rounds):
    """{whether ours: [rows per second with one worker, with two]}; both engines and numbers take turns."""
    best = {True: [0.0, 0.0], False: [0.0, 0.0]}
    for _ in range(rounds):
        for ours in best:
            for workers in (1, 2):
                best[ours][workers - 1] = max(best[ours][workers - 1], measure(area, workers, ours))
    return best


def measured(area, rounds):
    """{place: {whether ours: [rows per second with one worker, with two]}}, and {whether ours: private memory of a second worker}."""
    import ray
    plain(area, 1, True)  # fills the cache of packed weights
    memory = {ours: plain(area, 2, ours)[1] for ours in (True, False)}
    found = {"plain processes": fastest(lambda *arguments: plain(*arguments)[0], area, rounds)}
    os.environ["RAY_worker_niceness"] = "0"  # that of plain processes and of Spark's
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    found["Ray Data"] = fastest(with_ray, area, rounds)
    ray.shutdown()
    area.spark = spark_session()
    found["Spark mapInPandas"] = fastest(with_spark, area, rounds)
    area.spark.stop()
    return found, memory


def table(found, memory):
    text = "| place | engine | 1 worker, rows/s | 2 workers | gain | of plain processes' |\n|---|---|---:|---:|---:|---:|\n"
    for place, engines in found.items():
        for ours, (one, two) in engines.items():
            of = "" if place.startswith("plain") else f"{two / one / (found['plain processes'][ours][1] / found['plain processes'][ours][0]):.2f}"
            text += f"| {place} | {'Retort' if ours else 'onnxruntime'} | {one:,.0f} | {two:,.0f} | {two / one:.2f} × | {of} |\n"
    return text + (f"\nPrivate memory of the second worker's session: {memory[True]:.1f} MiB with Retort, {memory[False]:.1f} MiB with onnxruntime;\n"
                   f"the weights have {LAYERS * WIDTH * WIDTH * 4 / 2 ** 20:.0f} MiB.\n")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rows", type=int, default=16_384)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--markdown", default="")
    ap.add_argument("--page", default="", help="a page with the marks `scale: begin` and `scale: end`, between which the table is written")
    a = ap.parse_args()
    with tempfile.TemporaryDirectory(prefix="retort-scale-") as folder:
        os.environ["RETORT_BENCH_MODELS"] = models.FOLDER = folder
        text = table(*measured(Area(folder, a.rows), a.rounds))
    print(text, end="")
    if a.markdown:
        with open(a.markdown, "w", encoding="utf-8") as f:
            f.write(text)
    if a.page:
        bench.fill(a.page, text, "scale")


if __name__ == "__main__":
    main()
