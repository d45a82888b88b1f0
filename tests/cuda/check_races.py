#!/usr/bin/env python3
"""Looks for work of the CUDA provider that is not ordered: threads use sessions, streams of the application, captured
runs and memory that is freed and taken again, all at once, and every value is compared.

    check_races.py --plugin libretort_cuda.so [--seconds 8]

Needs a package `onnxruntime` whose interface has plug-ins. RETORT_CUDA_LIBRARIES may name the folder of the stand-ins
(tests/cuda/software), whose work can be delayed with SOFTWARE_CUDA_DELAY_US; otherwise a GPU is used. The last line is
"N passed, N failed".
"""
import argparse
import os
import sys
import tempfile
import threading
import time

os.environ.setdefault("XDG_CACHE_HOME", tempfile.mkdtemp(prefix="retort_cuda_"))
import check_runs as runs  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime as ort  # noqa: E402

WIDTH, ROWS = 256, 512
# Whole numbers up to 2048 are exact even where factors are rounded to TF32.
TURN = np.roll(np.eye(WIDTH, dtype=np.float32), 1, axis=1)
NODES = [("MatMul", ["x", "turn"], ["a"]), ("Relu", ["a"], ["b"]), ("Add", ["b", "x"], ["c"]), ("Softmax", ["c"], ["d"]), ("MatMul", ["c", "turn"], ["e"]),
         ("Sub", ["e", "c"], ["f"]), ("Mul", ["d", "zero"], ["g"]), ("Add", ["f", "g"], ["z"])]
MODEL = runs.model(NODES, ["n", WIDTH], ["n", WIDTH], [("turn", TURN), ("zero", np.zeros(1, np.float32))])


def values(number, rows=ROWS):
    """Another array for each number."""
    return ((np.arange(rows * WIDTH, dtype=np.int64) * 7 + number * 13) % 101).astype(np.float32).reshape(rows, WIDTH)


def expected(x):
    c = np.maximum(np.roll(x, 1, axis=1), 0) + x
    return np.roll(c, 1, axis=1) - c


def compare(got, x, what):
    wanted = expected(x)
    if not np.array_equal(got, wanted):
        at = np.argwhere(got != wanted)
        first = tuple(at[0])
        raise AssertionError(f"{what}: {len(at)} of {wanted.size} values differ, the first at {first}: {got[first]}, not {wanted[first]}")


def of_its_own(number):
    """A session of this thread, whose input and output stay where they are."""
    bound = runs.Bound(runs.session(MODEL), (ROWS, WIDTH))
    while True:
        x = values(number)
        compare(bound.run(x), x, f"run {number}")
        number = yield


def shared(made):
    """A session that other threads use, too, with shapes that change."""

    def work(number):
        while True:
            x = values(number, 1 + number % 67)
            compare(made.run(None, {"x": x})[0], x, f"run {number}")
            number = yield

    return work


def on_a_stream(number):
    """Copies and runs on a stream of the application; the host only waits at the end."""
    stream = runs.device().create_sync_stream()
    made = runs.session(MODEL, user_compute_stream=str(stream.get_handle()))
    options = ort.RunOptions()
    options.add_run_config_entry("disable_synchronize_execution_providers", "1")
    x, z, back = runs.on_device(values(0)), runs.on_device(values(0)), ort.OrtValue.ortvalue_from_numpy(values(0))
    binding = made.io_binding()
    binding.bind_ortvalue_input("x", x)
    binding.bind_ortvalue_output("z", z)
    while True:
        given = [values(number + part) for part in range(3)]
        sources, kept = [runs.on_device(g) for g in given], [runs.on_device(values(0)) for _ in given]
        for source, target in zip(sources, kept):  # copies on the device do not wait; the second one comes after the run that reads x
            ort.copy_tensors([source], [x], stream)
            made.run_with_iobinding(binding, options)
            ort.copy_tensors([z], [target], stream)
        del sources  # work that was ordered before still reads them
        fresh = runs.on_device(np.full_like(given[0], 3))
        ort.copy_tensors([z], [back], stream)
        runs.stream_waits(stream)
        for which, (g, k) in enumerate(zip(given, kept)):
            compare(runs.on_host(k), g, f"run {number}, {which} on a stream")
        compare(back.numpy(), given[-1], f"run {number} on a stream")
        del fresh
        number = yield


def captured(number):
    """Captured runs and others in turn."""
    made = runs.session(MODEL, enable_cuda_graph="1")
    bounds = [runs.Bound(made, (rows, WIDTH), graph) for rows, graph in ((ROWS, 1), (7, 2), (64, -1))]
    while True:
        bound, rows = bounds[number % 3], (ROWS, 7, 64)[number % 3]
        x = values(number, rows)
        compare(bound.run(x), x, f"captured run {number} of {rows} rows")
        number = yield


def in_turn(number):
    """The output of a session is the input of another one, in memory that is taken and freed each time."""
    first, second = runs.session(MODEL), runs.session(MODEL)
    while True:
        x = values(number)
        middle, last = runs.on_device(np.full_like(x, -1)), runs.on_device(np.full_like(x, -2))
        for made, source, target in ((first, runs.on_device(x), middle), (second, middle, last)):
            binding = made.io_binding()
            binding.bind_ortvalue_input("x", source)
            binding.bind_ortvalue_output("z", target)
            made.run_with_iobinding(binding)
        compare(runs.on_host(middle), x, f"first session, run {number}")
        compare(runs.on_host(last), expected(x), f"second session, run {number}")
        number = yield


def sessions_end(number):
    """Sessions that end while others run: their stream ends, and their memory goes to others."""
    while True:
        x = values(number, 100)
        compare(runs.session(MODEL).run(None, {"x": x})[0], x, f"session {number}")
        number = yield


def work(name, make, end, failures, counts):
    number = 1 + len(name)
    try:
        job = make(number)
        next(job)
        while time.time() < end and not failures:
            number += 1
            job.send(number)
            counts[name] = counts.get(name, 0) + 1
    except Exception as e:  # noqa: BLE001: the other threads end, too
        failures.append(f"{name}: {type(e).__name__}: {e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--seconds", type=float, default=8)
    a = parser.parse_args()
    ort.register_execution_provider_library("cuda", os.path.abspath(a.plugin))
    made = runs.session(MODEL)
    compare(made.run(None, {"x": values(1)})[0], values(1), "the first run")  # kernels are compiled
    jobs = {"own 1": of_its_own, "own 2": of_its_own, "shared 1": shared(made), "shared 2": shared(made), "shared 3": shared(made), "stream 1": on_a_stream,
            "stream 2": on_a_stream, "captured 1": captured, "captured 2": captured, "in turn": in_turn, "sessions end": sessions_end}
    failures, counts, end = [], {}, time.time() + a.seconds
    threads = [threading.Thread(target=work, args=(name, make, end, failures, counts)) for name, make in jobs.items()]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for line in failures:
        print("FAIL", line)
    idle = sorted(jobs.keys() - counts.keys())
    if idle and not failures:
        failures.append("idle")
        print("FAIL no run of", ", ".join(idle))
    print("runs:", ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    print(f"{len(jobs) - len(failures)} passed, {len(failures)} failed")
    return len(failures) > 0


if __name__ == "__main__":
    sys.exit(main())
