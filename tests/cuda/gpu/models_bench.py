#!/usr/bin/env python3
"""Times of operators of whole models on the CUDA provider: models_bench.py --plugin libretort_cuda.so [--only TEXT].

Mixtures of experts, decision trees, codes that are made at run time. As in rows_bench.py, the difference of a graph with
a few and with many operators is the time of one. A row per case: microseconds, GB/s of what must be read, TFLOP/s.
"""
import argparse
import os

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

import rows_bench
from rows_bench import TYPES, Bench

# Hidden size, inner size, experts, experts of a token.
MODELS = {"small": (768, 1024, 8, 2), "qwen3_30b": (2048, 768, 128, 8), "gpt_oss_20b": (2880, 2880, 32, 4), "mixtral": (4096, 14336, 8, 2)}


def experts(size, kind, tokens, bits):
    hidden, inner, count, k = MODELS[size]

    def build(bench, repeats):
        rng = np.random.default_rng(1)
        for name, rows, columns in (("1", 2 * inner, hidden), ("2", hidden, inner)):
            bench.constant("w" + name, rng.integers(0, 256, (count, rows, columns * bits // 8)).astype(np.uint8))
            bench.constant("s" + name, np.full((count, rows, columns // 32), 0.2 / columns**0.5, np.float32 if kind == "f32" else np.float16))
        value = "x"
        for i in range(repeats):
            bench.constant(f"scores{i}", rng.standard_normal((tokens, count)).astype(np.float32))
            bench.nodes.append(helper.make_node("Cast", [f"scores{i}"], [f"c{i}"], to=TYPES[kind][0]))
            bench.nodes.append(helper.make_node("QMoE", [value, f"c{i}", "w1", "s1", "", "w2", "s2"], [f"y{i}"], domain="com.microsoft", k=k, expert_weight_bits=bits, block_size=32,
                                                activation_type="swiglu", swiglu_fusion=1, normalize_routing_weights=1))
            value = f"y{i}"
        bench.end(value)
    used = count * (1 - (1 - k / count) ** tokens)
    return build, (tokens, hidden), used * 3 * inner * hidden * bits / 8, tokens * k * 6 * inner * hidden


def quantise(shape):
    def build(bench, repeats):
        for i in range(repeats):
            bench.nodes.append(helper.make_node("DynamicQuantizeLinear", ["x"], [f"q{i}", f"scale{i}", f"zero{i}"]))
            bench.nodes.append(helper.make_node("Slice", [f"q{i}", "none", "one_one"], [f"first{i}"]))
            bench.results.append(f"first{i}")
        bench.constant("none", np.zeros(len(shape), np.int64))
        bench.constant("one_one", np.ones(len(shape), np.int64))
    return build, shape, np.prod(shape) * 9, 0


def trees(rows, count, depth, features=30):
    def build(bench, repeats):
        rng = np.random.default_rng(2)
        lists = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")}
        leaves = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
        for tree in range(count):
            for node in range(2 ** (depth + 1) - 1):
                leaf = node >= 2**depth - 1
                for key, v in zip(lists, (tree, node, 0 if leaf else int(rng.integers(features)), 0.0 if leaf else float(rng.standard_normal()), "LEAF" if leaf else "BRANCH_LEQ",
                                          0 if leaf else 2 * node + 1, 0 if leaf else 2 * node + 2)):
                    lists[key].append(v)
                if leaf:
                    for key, v in zip(leaves, (tree, node, 0, float(rng.standard_normal()))):
                        leaves[key].append(v)
        for i in range(repeats):
            bench.nodes.append(helper.make_node("TreeEnsembleRegressor", ["x"], [f"y{i}"], domain="ai.onnx.ml", n_targets=1, **{"nodes_" + k: v for k, v in lists.items()},
                                                **{"target_" + k: v for k, v in leaves.items()}))
            bench.nodes.append(helper.make_node("ReduceMax", [f"y{i}"], [f"most{i}"], keepdims=0))
            bench.results.append(f"most{i}")
    return build, (rows, features), rows * features * 4, 0


def cases():
    for size, kinds in (("small", ("f32", "f16")), ("qwen3_30b", ("f16",)), ("gpt_oss_20b", ("f16",)), ("mixtral", ("f16",))):
        for kind in kinds:
            for tokens in (1, 8, 128, 1024):
                yield f"experts_{size}_{tokens} {kind}", kind, experts(size, kind, tokens, 4)
    yield "experts8_qwen3_30b_1 f16", "f16", experts("qwen3_30b", "f16", 1, 8)
    for shape in ((1, 768), (128, 768), (512, 3072), (8192, 8192)):
        yield f"quantise_{shape[0]}x{shape[1]} f32", "f32", quantise(shape)
    for rows in (1, 1024, 100000):
        yield f"trees_{rows}x100 f32", "f32", trees(rows, 100, 6)


class MlBench(Bench):
    def model(self):
        made = helper.make_model(helper.make_graph(self.nodes, "bench", [helper.make_tensor_value_info("in", TensorProto.FLOAT, [1])],
                                                   [helper.make_empty_tensor_value_info(r) for r in self.results], self.fixed),
                                 opset_imports=[helper.make_opsetid(d, v) for d, v in (("", 18), ("com.microsoft", 1), ("ai.onnx.ml", 3))])
        made.ir_version = 10
        return made.SerializeToString()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--plugin", required=True)
    p.add_argument("--only", default="")
    p.add_argument("--few", type=int, default=2)
    p.add_argument("--many", type=int, default=10)
    p.add_argument("--runs", type=int, default=10)
    a = p.parse_args()
    rows_bench.Bench = MlBench
    ort.register_execution_provider_library("cuda", os.path.abspath(a.plugin))
    device = next(d for d in ort.get_ep_devices() if d.ep_name == "CUDAExecutionProvider")
    for label, kind, (build, shape, read, operations) in cases():
        if a.only not in label:
            continue
        took = rows_bench.measure(a, device, build, shape, kind)
        print(f"{label}\t{took * 1e6:.1f} us\t{read / took / 1e9:.0f} GB/s\t{operations / took / 1e12:.1f} TFLOP/s", flush=True)


if __name__ == "__main__":
    main()
