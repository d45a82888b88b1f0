#!/usr/bin/env python3
"""Counts the kernels of float8 products on the stand-ins: check_float8.py --plugin libretort_cuda.so. Codes are multiplied
themselves where the GPU has such products, and become numbers first where it has none. Needs a package `onnxruntime` whose
interface has plug-in providers. The last line is "N passed, N failed"."""
import argparse
import ctypes
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

PROVIDER = "CUDAExecutionProvider"
LAUNCHES = 13  # place in the counts of software/counts.h
TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
# Type, use_tf32, architecture, launches of a run. Of float32, the bias is a kernel's, and so are the codes of the result.
CASES = [("f16", "1", 90, 1), ("bf16", "1", 90, 1), ("f16", "0", 90, 1), ("f16", "1", 89, 1), ("f32", "1", 90, 3), ("f32", "0", 90, 5), ("f16", "1", 80, 5)]


def model(kind):
    rng, code = np.random.default_rng(1), TYPES[kind]
    nodes = [helper.make_node("Cast", ["x"], ["a"], to=code)] if kind != "f32" else [helper.make_node("Identity", ["x"], ["a"])]
    fixed = [helper.make_tensor("s", code, [], [0.25]), helper.make_tensor("z", TensorProto.FLOAT8E4M3FN, [], b"\0", raw=True), helper.make_tensor("b", code, [128], rng.standard_normal(128))]
    for name, shape in (("u", [64, 128]), ("v", [128, 32])):
        codes = rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn)
        fixed.append(helper.make_tensor(name + "_codes", TensorProto.FLOAT8E4M3FN, shape, codes.tobytes(), raw=True))
        nodes.append(helper.make_node("DequantizeLinear", [name + "_codes", "s"], [name]))
    for x in ("a", "r"):
        if x == "r":
            nodes += [helper.make_node("MatMul", ["a_numbers", "u"], ["p"]), helper.make_node("Add", ["p", "b"], ["q"]), helper.make_node("Relu", ["q"], ["r"])]
        nodes += [helper.make_node("QuantizeLinear", [x, "s", "z"], [x + "_codes"]), helper.make_node("DequantizeLinear", [x + "_codes", "s", "z"], [x + "_numbers"])]
    nodes.append(helper.make_node("MatMul", ["r_numbers", "v"], ["y"]))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8, 64])], [helper.make_tensor_value_info("y", code, [2, 8, 32])], fixed)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def launches(plugin, kind, rounds):
    ort.register_execution_provider_library("cuda", plugin)
    options = ort.SessionOptions()
    options.add_provider_for_devices([d for d in ort.get_ep_devices() if d.ep_name == PROVIDER][:1], {"use_tf32": rounds})
    session = ort.InferenceSession(model(kind), options)
    library, counts = ctypes.CDLL(os.path.join(os.environ["RETORT_CUDA_LIBRARIES"].split(":")[0], "libcuda.so.1")), (ctypes.c_int64 * 32)()
    x, made = {"x": np.ones((2, 8, 64), np.float32)}, []
    for _ in range(3):
        session.run(["y"], x) if kind != "bf16" else session.run_with_ort_values(["y"], {"x": ort.OrtValue.ortvalue_from_numpy(x["x"])})
        library.SoftwareCudaCounts(counts)
        made.append(counts[LAUNCHES])
    return made[2] - made[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--count", nargs=2, help="prints the launches of one case")
    a = parser.parse_args()
    if a.count:
        print(launches(os.path.abspath(a.plugin), *a.count))
        return 0
    failed = 0
    for kind, rounds, architecture, expected in CASES:
        done = subprocess.run([sys.executable, __file__, "--plugin", a.plugin, "--count", kind, rounds], env={**os.environ, "SOFTWARE_CUDA_ARCHITECTURE": str(architecture)},
                              capture_output=True, encoding="utf-8", check=False)
        said = done.stdout.split()[-1:]
        if said != [str(expected)]:
            failed += 1
            print(f"FAIL {kind}, use_tf32={rounds}, architecture {architecture}: {said} launches, expected {expected} {done.stderr[-500:]}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
