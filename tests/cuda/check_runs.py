#!/usr/bin/env python3
"""Tests how the CUDA provider runs in an engine: borders to the CPU, streams of the application, captured runs, options,
threads, limits, and what is left after sessions.

    check_runs.py --plugin libretort_cuda.so [--without-driver]

Needs a package `onnxruntime` whose interface has plug-ins: that of Retort or the official one. RETORT_CUDA_LIBRARIES
may name the folder of the stand-ins (tests/cuda/software); otherwise a GPU is used. --without-driver: neither is there.
The last line is "N passed, N failed, N skipped".
"""
import argparse
import contextlib
import ctypes
import faulthandler
import gc
import os
import sys
import tempfile
import threading

os.environ.setdefault("XDG_CACHE_HOME", tempfile.mkdtemp(prefix="retort_cuda_"))
import numpy as np  # noqa: E402
import onnxruntime as ort  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

faulthandler.enable()
PROVIDER = "CUDAExecutionProvider"
NVIDIA = 0x10DE
FLOAT = TensorProto.FLOAT
NEAR = {"rtol": 1e-2, "atol": 1e-2}  # products may be rounded to TF32
CHECKS = []


class Skipped(Exception):
    pass


def check(function):
    CHECKS.append(function)
    return function


def device():
    return next(d for d in ort.get_ep_devices() if d.ep_name == PROVIDER)


def model(nodes, x, z, constants=()):
    made = [helper.make_node(*node[:3], **(node[3] if len(node) > 3 else {})) for node in nodes]
    graph = helper.make_graph(made, "g", [helper.make_tensor_value_info("x", FLOAT, x)], [helper.make_tensor_value_info("z", FLOAT, z)],
                              [numpy_helper.from_array(values, name) for name, values in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


def session(serialized, **options):
    made = ort.SessionOptions()
    made.log_severity_level = 3
    made.add_provider_for_devices([device()], options)
    result = ort.InferenceSession(serialized, made)
    result.disable_fallback()  # the Python package would go on without the provider
    return result


def on_device(values):
    return ort.OrtValue.ortvalue_from_numpy(values, "gpu", 0, NVIDIA)


def on_host(value):
    result = ort.OrtValue.ortvalue_from_numpy(np.zeros(value.shape(), np.float32))
    ort.copy_tensors([value], [result])
    return result.numpy().copy()  # in the official package it is a view


def draw(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)


WEIGHTS = draw(8, 8)
LAYER = model([("MatMul", ["x", "w"], ["a"]), ("Relu", ["a"], ["b"]), ("Add", ["b", "x"], ["z"])], ["n", 8], ["n", 8], [("w", WEIGHTS)])


def layer(x):
    return np.maximum(x @ WEIGHTS, 0) + x


def expect(got, wanted, what=""):
    if not np.allclose(got, wanted, **NEAR):
        raise AssertionError(f"{what} differs by {np.abs(got - wanted).max()}")


@contextlib.contextmanager
def refused(words):
    try:
        yield
    except Exception as e:  # noqa: BLE001: engines have their own types
        if words not in str(e):
            raise AssertionError(f"'{words}' is not in: {e}") from e
        return
    raise AssertionError(f"nothing failed with '{words}'")


class Bound:
    """Runs whose input and output stay in memory of the device."""

    def __init__(self, made, shape, graph=None):
        self.session, self.x = made, on_device(np.zeros(shape, np.float32))
        self.z, self.options = on_device(np.zeros(shape, np.float32)), ort.RunOptions()
        if graph is not None:
            self.options.add_run_config_entry("gpu_graph_id", str(graph))
        self.binding = made.io_binding()
        self.binding.bind_ortvalue_input("x", self.x)
        self.binding.bind_ortvalue_output("z", self.z)

    def run(self, values):
        self.x.update_inplace(values)
        self.session.run_with_iobinding(self.binding, self.options)
        return on_host(self.z)


@check
def shapes_change():
    made = session(LAYER)
    for n in (1, 3, 200, 3, 1):
        x = draw(n, 8)
        expect(made.run(None, {"x": x})[0], layer(x), f"{n} rows")


@check
def nodes_of_the_cpu_between():
    made = session(model([("Relu", ["x"], ["a"]), ("Det", ["a"], ["d"]), ("Add", ["d", "a"], ["e"]), ("Sigmoid", ["e"], ["z"])],
                         ["n", "n"], ["n", "n"]))
    for n in (2, 5):
        x = draw(n, n)
        a = np.maximum(x, 0)
        expect(made.run(None, {"x": x})[0], 1 / (1 + np.exp(-(np.linalg.det(a) + a))), f"{n} rows")


def reshaping():
    nodes = [("Shape", ["x"], ["s"]), ("Gather", ["s", "first"], ["n"]), ("Concat", ["n", "rest"], ["t"], {"axis": 0}),
             ("Relu", ["x"], ["a"]), ("Reshape", ["a", "t"], ["b"]), ("Reshape", ["b", "s"], ["z"])]
    return model(nodes, ["n", 4, 2], ["n", 4, 2], [("first", np.array([0])), ("rest", np.array([-1]))])


@check
def shapes_are_computed():
    made = session(reshaping())
    for n in (3, 1):
        x = draw(n, 4, 2)
        expect(made.run(None, {"x": x})[0], np.maximum(x, 0))


@check
def shapes_are_computed_in_captured_runs():
    bound = Bound(session(reshaping(), enable_cuda_graph="1"), (3, 4, 2))
    for scale in range(5):
        x = draw(3, 4, 2) * scale
        expect(bound.run(x), np.maximum(x, 0), f"run {scale}")


@check
def captured_runs():
    made = session(LAYER, enable_cuda_graph="1")
    first, second, none = Bound(made, (4, 8)), Bound(made, (6, 8), 3), Bound(made, (5, 8), -1)
    for i in range(5):
        for bound, rows in ((first, 4), (second, 6), (none, 5)):
            x = draw(rows, 8) * (i + 1)
            expect(bound.run(x), layer(x), f"run {i} of {rows} rows")


@check
def captured_runs_are_bound():
    made = session(LAYER, enable_cuda_graph="1")
    x = draw(4, 8)
    with refused("IoBinding"):
        made.run(None, {"x": x})
        made.run(None, {"x": x})
    bound = Bound(made, (4, 8), 1)
    for _ in range(3):
        expect(bound.run(x), layer(x), "after a failure")


@check
def streams_of_the_application():
    stream = device().create_sync_stream()
    x = draw(4, 8)
    plain = session(LAYER, user_compute_stream=str(stream.get_handle()))
    expect(plain.run(None, {"x": x})[0], layer(x))
    bound = Bound(session(LAYER, user_compute_stream=hex(stream.get_handle()), enable_cuda_graph="true"), (4, 8))
    for i in range(4):
        expect(bound.run(x * i), layer(x * i), f"run {i}")


@check
def streams_that_end_before_the_session():
    x = draw(4, 8)
    for graph in ("0", "1"):
        stream = device().create_sync_stream()
        bound = Bound(session(LAYER, user_compute_stream=str(stream.get_handle()), enable_cuda_graph=graph), (4, 8))
        for i in range(3):
            expect(bound.run(x * i), layer(x * i), f"run {i}")
        del stream
        other, again = on_device(x), device().create_sync_stream()  # perhaps of the same address
        del bound
        gc.collect()
        target = on_device(np.zeros_like(x))
        ort.copy_tensors([other], [target], again)
        stream_waits(again)
        expect(on_host(target), x)


@check
def copies():
    stream = device().create_sync_stream()
    for rows in (1, 100, 100000):
        values = draw(rows, 7)
        there, again = on_device(np.zeros_like(values)), on_device(np.zeros_like(values))
        source = values.copy()
        ort.copy_tensors([ort.OrtValue.ortvalue_from_numpy(source)], [there], stream)
        source[:] = 0  # the copy has read it
        ort.copy_tensors([there], [again], stream)
        stream_waits(stream)
        if not np.array_equal(on_host(again), values):
            raise AssertionError(f"{rows} rows differ")


def driver():
    for folder in [*os.environ.get("RETORT_CUDA_LIBRARIES", "").split(":"), ""]:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(os.path.join(folder, "libcuda.so.1"))
    raise Skipped("libcuda.so.1 cannot be opened")


def stream_waits(stream):
    driver().cuStreamSynchronize(ctypes.c_void_p(stream.get_handle()))


@check
def threads():
    made, wrong = session(LAYER), []

    def work(which):
        for n in range(1, 30):
            x = draw((n * which) % 9 + 1, 8)
            if not np.allclose(made.run(None, {"x": x})[0], layer(x), **NEAR):
                wrong.append((which, n))

    workers = [threading.Thread(target=work, args=(which,)) for which in range(1, 7)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    if wrong:
        raise AssertionError(f"runs {wrong} differ")


def shaped(depth):
    """The kernel of Sin, Sin, … is made while the first run is planned, which takes a while."""
    names = ["x", *(f"a{i}" for i in range(depth))]
    nodes = [helper.make_node("Sin", [names[i]], [names[i + 1]]) for i in range(depth)] + [helper.make_node("Reshape", [names[-1], "s"], ["z"])]
    inputs = [helper.make_tensor_value_info("x", FLOAT, [None]), helper.make_tensor_value_info("s", TensorProto.INT64, [2])]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("z", FLOAT, [None, None])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


@check
def first_runs_at_once():  # each thread finds out by itself that the part's input with the shape must be read first
    for depth in range(1, 7):
        made, wrong, begin = session(shaped(depth)), [], threading.Barrier(6)

        def work(rows, made=made, wrong=wrong, begin=begin):
            x = draw(24)
            begin.wait()
            try:
                if made.run(None, {"x": x, "s": np.array([rows, -1])})[0].shape != (rows, 24 // rows):
                    raise AssertionError(f"{rows} rows differ")
            except Exception as e:  # noqa: BLE001: told by the main thread
                wrong.append(str(e))

        workers = [threading.Thread(target=work, args=(rows,)) for rows in (1, 2, 3, 4, 6, 8)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        if wrong:
            raise AssertionError(wrong[0])


@check
def options():
    for given, words in (({"use_tf33": "1"}, "no option 'use_tf33'"), ({"use_tf32": "no"}, "give 0 or 1"),
                         ({"gpu_mem_limit": "-1"}, "a number of bytes"), ({"cudnn_conv_algo_search": "FAST"}, "EXHAUSTIVE"),
                         ({"user_compute_stream": "x"}, "the address of a CUDA stream")):
        with refused(words):
            session(LAYER, **given)
    x = draw(2, 8)
    with tempfile.TemporaryDirectory() as folder:
        made = session(LAYER, device_id="0", use_tf32="0", prefer_nhwc="1", arena_extend_strategy="kSameAsRequested",
                       do_copy_in_default_stream="1", has_user_compute_stream="0", kernel_cache_dir=folder)
        expect(made.run(None, {"x": x})[0], layer(x))
    made = ort.SessionOptions()
    made.add_provider_for_devices([device()], {})
    made.add_session_config_entry("ep.cuda.fpa_intb_gemm", "0")
    ort.InferenceSession(LAYER, made)


@check
def what_sessions_leave():
    counts, tolerance, times = counter()

    def use():
        bound = Bound(session(LAYER, enable_cuda_graph="1"), (4, 8))
        for _ in range(max(3, times // 5)):
            bound.run(draw(4, 8))

    left = []
    for _ in range(times):
        use()
        gc.collect()
        left.append(counts())
    grown = [after - before for before, after in zip(left[1], left[-1])]
    if max(map(abs, grown)) > tolerance:
        raise AssertionError(f"after the second session {left[1]} (of the stand-in: blocks, bytes, pinned, streams, events, …), later {left[-1]}")


def counter():
    """What gives the counts of what is alive, how much they may differ, and after how many sessions."""
    library = driver()
    if hasattr(library, "SoftwareCudaCounts"):
        numbers = (ctypes.c_int64 * 32)()

        def counts():
            library.SoftwareCudaCounts(numbers)
            return list(numbers[1:9])

        return counts, 0, 4

    context = ctypes.c_void_p()
    if library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) or library.cuCtxSetCurrent(context):
        raise AssertionError("the context of the device cannot be used")

    def used():
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        if library.cuCtxSynchronize() or library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)):
            raise AssertionError("the driver does not tell how much memory is free")
        return [total.value - free.value]

    return used, 2 << 20, 50  # idle memory is used again, so that nothing has to be returned to the driver before


@check
def other_shapes_give_way():  # before limits: the limit is the device's
    ramp = model([("Relu", ["x"], ["a"]), ("MatMul", ["a", "w"], ["b"]), ("MatMul", ["b", "w"], ["c"]), ("Softmax", ["c"], ["z"])],
                 ["n", 64], ["n", 64], [("w", draw(64, 64))])
    made = session(ramp, gpu_mem_limit=str(96 << 20))
    for n in range(30000, 37000, 1000):  # the plans of all shapes together do not fit
        made.run(None, {"x": np.zeros((n, 64), np.float32)})


@check
def limits():  # last: the limit is the device's
    made = session(LAYER, gpu_mem_limit="4194304")
    with refused(""):
        made.run(None, {"x": np.zeros((1000000, 8), np.float32)})
    x = draw(2, 8)
    expect(made.run(None, {"x": x})[0], layer(x), "after a failure")


def without_driver(plugin):
    ort.register_execution_provider_library("cuda", plugin)
    if any(d.ep_name == PROVIDER for d in ort.get_ep_devices()):
        raise AssertionError("there is a device")
    x = draw(2, 8)
    expect(ort.InferenceSession(LAYER).run(None, {"x": x})[0], layer(x))
    ort.unregister_execution_provider_library("cuda")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--without-driver", action="store_true")
    a = parser.parse_args()
    plugin, passed, failed, skipped = os.path.abspath(a.plugin), 0, 0, 0
    if a.without_driver:
        checks = [lambda: without_driver(plugin)]
        checks[0].__name__ = "without_driver"
    else:
        ort.register_execution_provider_library("cuda", plugin)
        checks = CHECKS
    for function in checks:
        print(function.__name__, flush=True)
        try:
            function()
            passed += 1
        except Skipped as e:
            skipped += 1
            print(f"skipped: {function.__name__}: {e}")
        except Exception as e:  # noqa: BLE001: the other checks still run
            failed += 1
            print(f"FAIL {function.__name__}: {type(e).__name__}: {e}")
        gc.collect()
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
