#!/usr/bin/env python3
"""Compares elementwise graphs on the CUDA provider with official ONNX Runtime on the CPU.

    check_elementwise.py --tool RUN_CASES --library LIB --plugin libretort_cuda.so --work DIR [--only TEXT] [--quick]

The provider must run a node of each graph, except where the host may compute everything while it plans. The last line is "N
passed, N failed".
"""
import argparse
import os
import shutil
import subprocess

import onnx
import onnxruntime
from onnx import numpy_helper

import elementwise_cases
import expanded_cases
import float8_cases

ON_HOST = {"broadcast_both_one", "broadcast_scalar", "broadcast_ranks"}  # so small that the host may compute all


def write(case, work):
    """Line of the manifest of run_cases."""
    folder = os.path.join(work, case.name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    onnx.save(case.model, os.path.join(folder, "model.onnx"))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # it drops a Relu before float8 codes
    session = onnxruntime.InferenceSession(case.reference.SerializeToString(), options, providers=["CPUExecutionProvider"])
    folders = []
    for i, feeds in enumerate(case.runs):
        folders.append(os.path.join(folder, f"run_{i}"))
        os.makedirs(folders[-1])
        for kind, arrays in (("input", feeds.values()), ("output", session.run(None, feeds))):
            for k, array in enumerate(arrays):
                with open(os.path.join(folders[-1], f"{kind}_{k}.pb"), "wb") as f:
                    f.write(numpy_helper.from_array(array).SerializeToString())
    return "\t".join([case.name, "close", *case.rule, os.path.join(folder, "model.onnx"), *folders])


def run(a, cases, name, rounds):
    """Rows of run_cases. `rounds`: "1" if products in float32 may be rounded, "0" otherwise."""
    manifest, rows = (os.path.join(a.work, name + ending) for ending in (".manifest", ".tsv"))
    with open(manifest, "w", encoding="utf-8") as f:
        f.writelines(write(c, a.work) + "\n" for c in cases)
    subprocess.run([a.tool, a.library, manifest, rows, "--provider", "CUDAExecutionProvider=" + a.plugin, "--log", "CUDA", "--option", "use_tf32=" + rounds], check=True)
    with open(rows, encoding="utf-8", errors="replace") as f:
        return [line.rstrip("\n").split("\t") for line in f]


def main():
    p = argparse.ArgumentParser()
    for name in ("tool", "library", "plugin", "work"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--only", default="")
    p.add_argument("--quick", action="store_true")
    a = p.parse_args()
    os.makedirs(a.work, exist_ok=True)
    chosen = [[c for c in cases if a.only in c.name] for cases in ([*elementwise_cases.cases(a.quick), *expanded_cases.cases()], float8_cases.cases())]
    failed = 0
    for row in run(a, chosen[0], "exact", "0") + run(a, chosen[1], "float8", "1"):
        claimed = len(row) > 7 and int(row[7]) > 0
        wrong = "" if row[1] == "pass" else f"{row[2]}: {row[6]}"
        if not wrong and not claimed and row[0].rpartition("_")[0] not in ON_HOST:
            wrong = "the provider runs none of its nodes: " + " ".join(row[8:])[:300]
        failed += bool(wrong)
        if wrong:
            print(f"FAIL {row[0]}: {wrong}", flush=True)
    print(f"{sum(map(len, chosen)) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
