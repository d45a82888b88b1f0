#!/usr/bin/env python3
"""Times of reductions and normalisations on the CUDA provider: rows_bench.py --plugin libretort_cuda.so [--only TEXT].

Each case is a graph with `few` and one with `many` operators on tensors that the device makes; the difference of their
times is that of one operator, without the host. A row per case: microseconds, GB/s of what must be read and written.
Needs a package `onnxruntime` whose interface has plug-ins.
"""
import argparse
import os
import statistics
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f32": (TensorProto.FLOAT, 4), "f16": (TensorProto.FLOAT16, 2), "bf16": (TensorProto.BFLOAT16, 2)}


class Bench:
    """A graph of `count` operators of a case on x, which has the shape and type of the case."""

    def __init__(self, shape, kind):
        self.shape, self.kind = shape, kind
        self.nodes, self.fixed, self.results = [], [], []
        self.constant("shape", np.array(shape, np.int64))
        self.nodes.append(helper.make_node("Cast", ["in"], ["one"], to=TYPES[kind][0]))
        self.nodes.append(helper.make_node("Expand", ["one", "shape"], ["x"]))

    def constant(self, name, values):
        self.fixed.append(numpy_helper.from_array(values, name))

    def floats(self, name, length):
        self.constant(name + "_f32", np.ones(length, np.float32))
        self.nodes.append(helper.make_node("Cast", [name + "_f32"], [name], to=TYPES[self.kind][0]))

    def model(self):
        result = [helper.make_empty_tensor_value_info(r) for r in self.results]
        graph = helper.make_graph(self.nodes, "bench", [helper.make_tensor_value_info("in", TensorProto.FLOAT, [1])], result, self.fixed)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        made = helper.make_model(graph, opset_imports=opsets)
        made.ir_version = 10
        return made.SerializeToString()

    def end(self, value):
        """The greatest of a chain's results, so that little is copied to the host."""
        self.nodes.append(helper.make_node("ReduceMax", [value], ["most"], keepdims=0))
        self.nodes.append(helper.make_node("Cast", ["most"], ["end"], to=TensorProto.FLOAT))
        self.results.append("end")


def chain(op, **attributes):
    def build(bench, count):
        value = "x"
        for i in range(count):
            bench.nodes.append(helper.make_node(op, [value], [f"y{i}"], **attributes))
            value = f"y{i}"
        bench.end(value)
    return build


def layer_norm(bench, count):
    bench.floats("scale", bench.shape[-1])
    bench.floats("bias", bench.shape[-1])
    value = "x"
    for i in range(count):
        bench.nodes.append(helper.make_node("LayerNormalization", [value, "scale", "bias"], [f"y{i}"]))
        value = f"y{i}"
    bench.end(value)


def skip_norm(bench, count):
    bench.floats("scale", bench.shape[-1])
    value, skip = "x", "x"
    for i in range(count):
        bench.nodes.append(helper.make_node("SkipSimplifiedLayerNormalization", [value, skip, "scale"], [f"y{i}", "", "", f"s{i}"], domain="com.microsoft"))
        value, skip = f"y{i}", f"s{i}"
    bench.nodes.append(helper.make_node("Add", [value, skip], ["both"]))
    bench.end("both")


def fan(op, axes=None, k=None, **attributes):
    """Operators that all read x; their results are small."""
    def build(bench, count):
        if axes is not None:
            bench.constant("axes", np.array(axes, np.int64))
        if k is not None:
            bench.constant("k", np.array([k], np.int64))
        more = ["axes"] * (axes is not None) + ["k"] * (k is not None)
        for i in range(count):
            outs = [f"y{i}"] + ([f"i{i}"] if k is not None else [])
            bench.nodes.append(helper.make_node(op, ["x", *more], outs, **attributes))
            bench.results += outs[-1:]
    return build


# Name: how it is built, shape, how often the tensor is read and written, types.
CASES = {
    "layer_norm": (layer_norm, [((1024, 768), 2), ((4096, 4096), 2), ((8192, 8192), 2), ((4096, 4097), 2)], ("f32", "f16")),
    "skip_norm": (skip_norm, [((1024, 768), 4), ((4096, 4096), 4)], ("f32", "f16")),
    "softmax": (chain("Softmax", axis=-1), [((96, 128, 128), 2), ((12, 1024, 1024), 2), ((4096, 8192), 2), ((64, 50257), 2)], ("f32", "f16", "bf16")),
    "softmax_axis_1": (chain("Softmax", axis=1), [((32, 1000, 512), 2)], ("f32", "f16")),
    "mean_rows": (fan("ReduceMean", [1]), [((4096, 8192), 1), ((64, 262144), 1), ((1048576, 32), 1)], ("f32", "f16")),
    "mean_columns": (fan("ReduceMean", [0]), [((4096, 8192), 1), ((262144, 64), 1)], ("f32", "f16")),
    "mean_all": (fan("ReduceMean"), [((4096, 8192), 1)], ("f32", "f16")),
    "mean_images": (fan("ReduceMean", [2, 3]), [((32, 2048, 7, 7), 1)], ("f32", "f16")),
    "sum_middle": (fan("ReduceSum", [1]), [((32, 1024, 1024), 1)], ("f32", "f16")),
    "arg_max": (fan("ArgMax", axis=-1), [((1, 50257), 1), ((4096, 8192), 1)], ("f32",)),
    "top_k_50": (fan("TopK", k=50), [((1, 50257), 1), ((1000, 10000), 1)], ("f32",)),
    "top_k_1000": (fan("TopK", k=1000), [((1, 242991), 1)], ("f32",)),
}


def seconds(session, runs):
    feed = {"in": np.ones(1, np.float32)}
    for _ in range(5):
        session.run(None, feed)
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        session.run(None, feed)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def measure(a, device, build, shape, kind):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_provider_for_devices([device], {})
    found = []
    for count in (a.few, a.many):
        bench = Bench(shape, kind)
        build(bench, count)
        session = ort.InferenceSession(bench.model(), options)
        session.disable_fallback()
        found.append(seconds(session, a.runs))
    return (found[1] - found[0]) / (a.many - a.few)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--plugin", required=True)
    p.add_argument("--only", default="")
    p.add_argument("--few", type=int, default=4)
    p.add_argument("--many", type=int, default=24)
    p.add_argument("--runs", type=int, default=10)
    a = p.parse_args()
    ort.register_execution_provider_library("cuda", os.path.abspath(a.plugin))
    device = next(d for d in ort.get_ep_devices() if d.ep_name == "CUDAExecutionProvider")
    for name, (build, shapes, kinds) in CASES.items():
        for shape, times in shapes:
            for kind in kinds:
                label = f"{name} {'x'.join(map(str, shape))} {kind}"
                if a.only not in label:
                    continue
                took = measure(a, device, build, shape, kind)
                print(f"{label}\t{took * 1e6:.1f} us\t{times * np.prod(shape) * TYPES[kind][1] / took / 1e9:.0f} GB/s", flush=True)


if __name__ == "__main__":
    main()
