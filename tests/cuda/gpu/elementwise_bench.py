#!/usr/bin/env python3
"""Times of elementwise kernels on the CUDA provider: elementwise_bench.py --plugin libretort_cuda.so [--only TEXT]
[--small].

As rows_bench.py: the difference between graphs of few and of many operators. Between two of them is a Reshape, which is
a view, so that they are not fused. `--small` divides the first extent by 256, to try the script without a GPU.
"""
import argparse
import os

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

import rows_bench


def apart(make):
    """Operators of `make(bench, value, number)`, none of which is fused with the next."""
    def build(bench, count):
        value = "x"
        for i in range(count):
            value = make(bench, value, i)
            bench.nodes.append(helper.make_node("Reshape", [value, "shape"], [f"r{i}"]))
            value = f"r{i}"
        bench.end(value)
    return build


def node(bench, op, inputs, out, **attributes):
    bench.nodes.append(helper.make_node(op, inputs, [out], **attributes))
    return out


def relu(bench, value, i):
    return node(bench, "Relu", [value], f"y{i}")


def add(bench, value, i):
    return node(bench, "Add", [value, "x"], f"y{i}")


def operand(bench, i, shape):
    """A constant of the type of the case, made once."""
    if i == 0:
        bench.floats("other", int(np.prod(shape)))
        bench.constant("other_shape", np.array(shape, np.int64))
        node(bench, "Reshape", ["other", "other_shape"], "operand")
    return "operand"


def bias_gelu(bench, value, i):
    z = node(bench, "Add", [value, operand(bench, i, bench.shape[-1:])], f"a{i}")
    return node(bench, "Gelu", [z], f"y{i}", domain="com.microsoft")


def bias_tanh_gelu(bench, value, i):
    z = node(bench, "Add", [value, operand(bench, i, bench.shape[-1:])], f"a{i}")
    return node(bench, "FastGelu", [z], f"y{i}", domain="com.microsoft")


def channels(bench, value, i):
    z = node(bench, "Mul", [value, operand(bench, i, [bench.shape[1], 1, 1])], f"a{i}")
    return node(bench, "Relu", [z], f"y{i}")


def column(bench, value, i):
    return node(bench, "Sub", [value, operand(bench, i, [bench.shape[0], 1])], f"y{i}")


def silu(bench, value, i):
    return node(bench, "Mul", [value, node(bench, "Sigmoid", [value], f"s{i}")], f"y{i}")


def to_float_and_back(bench, value, i):
    z = node(bench, "Cast", [value], f"a{i}", to=TensorProto.FLOAT)
    bench.nodes.append(helper.make_node("Reshape", [z, "shape"], [f"b{i}"]))
    return node(bench, "Cast", [f"b{i}"], f"y{i}", to=rows_bench.TYPES[bench.kind][0])


# Name: operator, shapes, how often the tensor is read and written, types.
CASES = {
    "relu": (relu, [(1, 768), (1024, 768), (4096, 4096), (8192, 8192), (4096, 4097)], 2, ("f32", "f16")),
    "add": (add, [(1024, 768), (8192, 8192)], 3, ("f32", "f16")),
    "bias_gelu": (bias_gelu, [(1024, 3072), (8192, 8192), (8192, 8190)], 2, ("f32", "f16", "bf16")),
    "bias_tanh_gelu": (bias_tanh_gelu, [(1024, 3072), (8192, 8192)], 2, ("f32", "f16")),
    "channels": (channels, [(32, 256, 56, 56), (64, 2048, 7, 7)], 2, ("f32", "f16")),
    "column": (column, [(8192, 8192), (8191, 8191)], 2, ("f32", "f16")),
    "silu": (silu, [(8192, 8192)], 2, ("f32", "f16")),
    "casts": (to_float_and_back, [(8192, 8192)], 6, ("f16",)),  # 2 + 4 bytes each way: 6 halves
}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--plugin", required=True)
    p.add_argument("--only", default="")
    p.add_argument("--few", type=int, default=4)
    p.add_argument("--many", type=int, default=24)
    p.add_argument("--runs", type=int, default=10)
    p.add_argument("--small", action="store_true")
    a = p.parse_args()
    ort.register_execution_provider_library("cuda", os.path.abspath(a.plugin))
    device = next(d for d in ort.get_ep_devices() if d.ep_name == "CUDAExecutionProvider")
    for name, (make, shapes, times, kinds) in CASES.items():
        for shape in shapes:
            for kind in kinds:
                label = f"{name} {'x'.join(map(str, shape))} {kind}"
                if a.only not in label:
                    continue
                used = (max(1, shape[0] // 256), *shape[1:]) if a.small else shape
                took = rows_bench.measure(a, device, apart(make), used, kind)
                print(f"{label}\t{took * 1e6:.1f} us\t{times * np.prod(used) * rows_bench.TYPES[kind][1] / took / 1e9:.0f} GB/s", flush=True)


if __name__ == "__main__":
    main()
