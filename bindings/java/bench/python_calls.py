#!/usr/bin/env python3
"""Measures bound runs from Python, for the table of bench.sh: with the package onnxruntime on its own library, and with
ctypes on any library.

    python_calls.py MODEL RETORT OFFICIAL    prints a line of JSON: nanoseconds per run, by binding and engine
"""
import ctypes
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tests"))
import c_api  # noqa: E402

RUNS, BLOCKS = 20_000, 9
FLOAT = 1
OLDEST = 17  # version of the C interface that every library here has


def per_call(run):
    """Nanoseconds per call, the median over blocks."""
    for _ in range(RUNS):
        run()
    blocks = []
    for _ in range(BLOCKS):
        begin = time.perf_counter_ns()
        for _ in range(RUNS):
            run()
        blocks.append((time.perf_counter_ns() - begin) / RUNS)
    return statistics.median(blocks)


def package(model):
    """Measured with the package's binding; nothing if the package is not installed."""
    try:
        import numpy as np
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    x, total = np.array([1, 2, 3, 4], np.float32), np.zeros(4, np.float32)
    for port in session.get_inputs():
        binding.bind_input(port.name, "cpu", 0, np.float32, [4], x.ctypes.data)
    binding.bind_output(session.get_outputs()[0].name, "cpu", 0, np.float32, [4], total.ctypes.data)
    time_of = per_call(lambda: session.run_with_iobinding(binding))
    assert total.tolist() == [2, 4, 6, 8], total
    return time_of


def by_ctypes(library, model):
    """Measured through the C interface."""
    api = c_api.Api(library, OLDEST)
    size = ctypes.c_size_t
    env = api.make("CreateEnv", ctypes.c_int(3), b"bench")
    options = api.make("CreateSessionOptions")
    api.call("SetIntraOpNumThreads", options, ctypes.c_int(1))
    session = api.make("CreateSession", env, os.fsencode(model), options)
    place = api.make("CreateCpuMemoryInfo", ctypes.c_int(0), ctypes.c_int(0))
    x, total, shape = (ctypes.c_float * 4)(1, 2, 3, 4), (ctypes.c_float * 4)(), (ctypes.c_int64 * 1)(4)

    def tensor(data):
        return api.make("CreateTensorWithDataAsOrtValue", place, data, size(16), shape, size(1), ctypes.c_int(FLOAT))
    binding = api.make("CreateIoBinding", session)
    for name in (b"x", b"y"):
        api.call("BindInput", binding, name, tensor(x))
    allocator, name = api.make("GetAllocatorWithDefaultOptions"), ctypes.c_char_p()
    api.call("SessionGetOutputName", session, size(0), allocator, ctypes.byref(name))
    api.call("BindOutput", binding, name, tensor(total))
    run = api.function("RunWithBinding", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    time_of = per_call(lambda: run(session, None, binding))
    assert list(total) == [2, 4, 6, 8], list(total)
    return time_of


def main(model, retort, official):
    times = {"ctypes": {"retort": by_ctypes(retort, model), "official": by_ctypes(official, model)}}
    of_package = package(model)
    if of_package:
        times["package"] = {"official": of_package}
    print(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
