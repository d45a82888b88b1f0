#!/usr/bin/env python3
"""Decodes with a cache that is bound as past and present at once, on the CUDA provider, and compares every step with the
CPU: check_shared_cache.py --plugin libretort_cuda.so. Needs a package `onnxruntime` whose interface has plug-in
providers. The last line is "N passed, N failed"."""
import argparse

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

VENDOR, PROVIDER = 0x10DE, "CUDAExecutionProvider"
BATCH, HEADS, KV_HEADS, SIZE, ROOM = 2, 4, 2, 64, 24


def model(rows):
    def value(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)

    cache = [BATCH, KV_HEADS, ROOM, SIZE]
    inputs = [value("q", TensorProto.FLOAT, [BATCH, rows, (HEADS + 2 * KV_HEADS) * SIZE]), value("pk", TensorProto.FLOAT, cache),
              value("pv", TensorProto.FLOAT, cache), value("last", TensorProto.INT32, [BATCH]), value("total", TensorProto.INT32, [1]),
              value("cos", TensorProto.FLOAT, [ROOM, SIZE // 2]), value("sin", TensorProto.FLOAT, [ROOM, SIZE // 2])]
    outputs = [value("y", TensorProto.FLOAT, [BATCH, rows, HEADS * SIZE]), value("present_k", TensorProto.FLOAT, cache), value("present_v", TensorProto.FLOAT, cache)]
    node = helper.make_node("GroupQueryAttention", ["q", "", "", "pk", "pv", "last", "total", "cos", "sin"], ["y", "present_k", "present_v"],
                            domain="com.microsoft", num_heads=HEADS, kv_num_heads=KV_HEADS, do_rotary=1)
    graph = helper.make_graph([node], "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10).SerializeToString()


def device_session(rows):
    options = ort.SessionOptions()
    devices = [d for d in ort.get_ep_devices() if d.ep_name == PROVIDER]
    options.add_provider_for_devices(devices[:1], {"use_tf32": "0"})
    return ort.InferenceSession(model(rows), options)


def on_device(x):
    return ort.OrtValue.ortvalue_from_numpy(x, "gpu", 0, VENDOR)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plugin", required=True)
    a = parser.parse_args()
    ort.register_execution_provider_library("cuda", a.plugin)
    rng = np.random.default_rng(3)
    angle = np.outer(np.arange(ROOM), 1 / 100 ** (np.arange(SIZE // 2) / (SIZE // 2)))
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    # Rows that no token has filled hold NaN on the device: nothing may depend on them.
    cpu_k, cpu_v = (np.zeros((BATCH, KV_HEADS, ROOM, SIZE), np.float32) for _ in range(2))
    k, v = (on_device(np.full_like(cpu_k, np.nan)) for _ in range(2))
    tables = on_device(cos), on_device(sin)
    sessions = {rows: (device_session(rows), ort.InferenceSession(model(rows), providers=["CPUExecutionProvider"])) for rows in (7, 1)}
    failed, filled = 0, np.zeros(BATCH, np.int32)
    steps = [7] + [1] * 9
    for rows in steps:
        ours, theirs = sessions[rows]
        totals = filled + rows if filled.any() else np.array([7, 4], np.int32)  # the second prompt is shorter
        q = rng.standard_normal((BATCH, rows, (HEADS + 2 * KV_HEADS) * SIZE)).astype(np.float32)
        last, total = totals - 1, np.array([totals.max()], np.int32)
        feeds = {"q": q, "pk": cpu_k, "pv": cpu_v, "last": last.astype(np.int32), "total": total, "cos": cos, "sin": sin}
        wanted, cpu_k, cpu_v = theirs.run(None, feeds)
        binding = ours.io_binding()
        binding.bind_ortvalue_input("q", on_device(q))
        binding.bind_ortvalue_input("last", on_device(last.astype(np.int32)))
        binding.bind_cpu_input("total", total)
        for name, value in (("pk", k), ("pv", v), ("cos", tables[0]), ("sin", tables[1])):
            binding.bind_ortvalue_input(name, value)
        y = on_device(np.zeros_like(wanted))
        for name, value in (("y", y), ("present_k", k), ("present_v", v)):
            binding.bind_ortvalue_output(name, value)
        ours.run_with_iobinding(binding)
        got, filled = y.numpy(), totals
        wrong = 0.0
        for b in range(BATCH):
            real = rows if rows == 1 else totals[b]  # rows of padding differ
            wrong = max(wrong, np.abs(got[b, :real] - wanted[b, :real]).max(), np.abs(k.numpy()[b, :, : totals[b]] - cpu_k[b, :, : totals[b]]).max(),
                        np.abs(v.numpy()[b, :, : totals[b]] - cpu_v[b, :, : totals[b]]).max())
        if not wrong <= 1e-5:
            failed += 1
            print(f"FAIL with {totals} keys: differs by {wrong}")
    print(f"{len(steps) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
