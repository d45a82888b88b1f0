#!/usr/bin/env python3
"""Shares device tensors with torch (and CuPy, if it is installed) by DLPack, on a GPU:

    dlpack.py --plugin libretort_cuda.so [--package retort|onnxruntime]

The last line is "N passed, N failed, N skipped".
"""
import argparse
import gc
import importlib
import os
import sys

import numpy as np
import torch
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NVIDIA, PROVIDER, MIB = 0x10DE, "CUDAExecutionProvider", 1 << 20
X = np.arange(6, dtype=np.float32).reshape(2, 3)
CHECKS = []
ort = None


def check(function):
    CHECKS.append(function)
    return function


def on_device(array):
    return ort.OrtValue.ortvalue_from_numpy(array, "gpu", 0, NVIDIA)


def on_host(value):
    result = ort.OrtValue.ortvalue_from_numpy(np.zeros(value.shape(), np.float32))
    ort.copy_tensors([value], [result])
    return result.numpy().copy()


def session(width=3):
    x, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width]) for name in "xz")
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"]), helper.make_node("Neg", ["y"], ["z"])], "g", [x], [z])
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    options = ort.SessionOptions()
    options.add_provider_for_devices([next(d for d in ort.get_ep_devices() if d.ep_name == PROVIDER)], {})
    return ort.InferenceSession(data, options)


def expect(is_so, what):
    if not is_so:
        raise AssertionError(what)


def run_bound(made, x, z):
    binding = made.io_binding()
    binding.bind_ortvalue_input("x", x)
    binding.bind_ortvalue_output("z", z)
    made.run_with_iobinding(binding)


@check
def torch_reads_the_same_memory():
    value = on_device(X)
    expect(tuple(value.__dlpack_device__()) == (2, 0), value.__dlpack_device__())
    tensor = torch.from_dlpack(value)
    expect(tensor.is_cuda and tensor.data_ptr() == value.data_ptr(), "another memory")
    expect(np.array_equal(tensor.cpu().numpy(), X), tensor)
    tensor.mul_(2)
    torch.cuda.synchronize()
    expect(np.array_equal(on_host(value), 2 * X), on_host(value))


@check
def values_of_torch():
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool, torch.float64):
        tensor = torch.ones(3, 5, device="cuda").to(dtype)
        value = ort.OrtValue.from_dlpack(tensor)
        expect(value.data_ptr() == tensor.data_ptr() and list(value.shape()) == [3, 5], dtype)
        back = torch.from_dlpack(value)
        expect(back.dtype == dtype and torch.equal(back, tensor) and back.data_ptr() == tensor.data_ptr(), dtype)


@check
def runs_bound_to_tensors_of_torch():
    made = session()
    x, z = torch.tensor(X, device="cuda"), torch.zeros(2, 3, device="cuda")
    given, target = ort.OrtValue.from_dlpack(x), ort.OrtValue.from_dlpack(z)
    for i in range(20):
        x.fill_(i)
        torch.cuda.synchronize()
        run_bound(made, given, target)
        expect(bool((z == -2 * i).all()), f"run {i}: {z}")


@check
def streams_of_torch():
    made, other = session(1024), torch.cuda.Stream()
    z = on_device(np.zeros((4096, 1024), np.float32))
    for i in range(1, 30):
        with torch.cuda.stream(other):
            x = torch.full((4096, 1024), -1.0, device="cuda")
            torch.cuda._sleep(2_000_000)  # the next line comes late
            x.fill_(i)
            value = ort.OrtValue.from_dlpack(x)  # waits for it
        run_bound(made, value, z)
        with torch.cuda.stream(other):
            seen = torch.from_dlpack(z)
            expect(bool((seen == -2 * i).all()), f"run {i}")


@check
def work_that_is_not_done():
    """A value whose copy is still on its way is complete for the stream that asks for it."""
    device = next(d for d in ort.get_ep_devices() if d.ep_name == PROVIDER)
    stream, big = device.create_sync_stream(), np.full((64 << 20,), 3, np.float32)
    source = ort.OrtValue.ortvalue_from_numpy(big)
    for stage in range(3):
        target = on_device(np.zeros_like(big))
        ort.copy_tensors([on_device(big)], [target], stream)
        expect(float(torch.from_dlpack(target).min()) == 3, stage)
    del source


@check
def lifetime():
    torch.cuda.synchronize()
    for _ in range(3):
        torch.from_dlpack(on_device(X)).sum().item()
    gc.collect()
    before = torch.cuda.mem_get_info()[0]
    big = np.zeros(16 * MIB, np.float32)
    for _ in range(20):
        tensor = torch.from_dlpack(on_device(big))
        gc.collect()
        expect(float(tensor.sum()) == 0, "freed too early")
        value = ort.OrtValue.from_dlpack(torch.full((16 * MIB,), 1.0, device="cuda"))
        gc.collect()
        torch.full((16 * MIB,), 7.0, device="cuda").sum().item()
        expect(on_host(value)[:: MIB].tolist() == [1.0] * 16, "freed too early")
    del tensor, value
    gc.collect()
    torch.cuda.empty_cache()
    expect(before - torch.cuda.mem_get_info()[0] <= 512 * MIB, "memory grows")


@check
def strides_are_refused():
    try:
        ort.OrtValue.from_dlpack(torch.zeros(2, 3, device="cuda").T)
    except RuntimeError as e:
        expect("contiguous" in str(e), e)
        return
    raise AssertionError("it is taken")


@check
def cupy_both_ways():
    try:
        import cupy
    except ImportError:
        return "no cupy"
    value = on_device(X)
    array = cupy.from_dlpack(value)
    expect(array.data.ptr == value.data_ptr() and np.array_equal(array.get(), X), array)
    back = ort.OrtValue.from_dlpack(cupy.asarray(X) * 2)
    expect(np.array_equal(on_host(back), 2 * X), "values")
    return None


def main():
    global ort
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--package", default="onnxruntime")
    a = parser.parse_args()
    ort = importlib.import_module(a.package)
    ort.register_execution_provider_library("cuda", os.path.abspath(a.plugin))
    passed = failed = skipped = 0
    for function in CHECKS:
        try:
            why = function()
            passed, skipped = passed + (not why), skipped + bool(why)
            if why:
                print(f"skipped: {function.__name__}: {why}")
        except Exception as e:  # noqa: BLE001: the other checks still run
            failed += 1
            print(f"FAIL {function.__name__}: {type(e).__name__}: {e}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
