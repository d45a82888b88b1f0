#!/usr/bin/env python3
"""Compares the models of bench/zoo on the CUDA provider with the CPU, and says which nodes are left to the CPU.

    zoo.py --plugin out/lib/providers/libretort_cuda.so --zoo DIR [--models resnet50,bert_base] [--tsv FILE] [--option K=V]

DIR has models and inputs (make zoo). A row per scenario: pass or fail, error relative to each output's largest value,
tolerance, nodes on CUDA and elsewhere, their types. Needs a package `onnxruntime` whose interface has plug-ins.
"""
import argparse
import collections
import glob
import json
import os
import time

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime as ort

PROVIDER = "CUDAExecutionProvider"


def inputs_of(folder):
    made = {}
    for file in glob.glob(os.path.join(folder, "*.pb")):
        tensor = onnx.TensorProto()
        with open(file, "rb") as f:
            tensor.ParseFromString(f.read())
        made[tensor.name] = onnx.numpy_helper.to_array(tensor)
    return made


def session_of(path, settings):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    device = next(d for d in ort.get_ep_devices() if d.ep_name == PROVIDER)
    options.add_provider_for_devices([device], settings)
    return ort.InferenceSession(path, options)


def placed(session):
    """Nodes by provider, and how often CUDA left each type."""
    count, left = collections.Counter(), collections.Counter()
    for part in session.get_provider_graph_assignment_info():
        nodes = part.get_nodes()
        count[part.ep_name] += len(nodes)
        if part.ep_name != PROVIDER:
            left.update(node.op_type for node in nodes)
    return count, left


def error_of(got, expected):
    """The largest difference relative to the largest value; infinite where NaN or shapes differ."""
    worst = 0.0
    for g, e in zip(got, expected):
        if not isinstance(e, np.ndarray) or e.dtype.kind in "OU":
            worst = max(worst, 0.0 if np.array_equal(g, e) else np.inf)
            continue
        if g.shape != e.shape:
            return np.inf
        g, e = g.astype(np.float64), e.astype(np.float64)
        if not e.size:
            continue
        if not np.array_equal(np.isnan(g), np.isnan(e)):
            return np.inf
        difference, scale = np.nanmax(np.abs(g - e)), max(np.nanmax(np.abs(e)), 1e-30)
        worst = max(worst, float(difference / scale))
    return worst


def check(row, zoo, settings):
    path = os.path.join(zoo, "models", row["model"] + ".onnx")
    inputs = inputs_of(os.path.join(zoo, "inputs", row["model"], row["scenario"]))
    expected = ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs)
    start = time.time()
    session = session_of(path, settings)
    session.disable_fallback()
    loaded = time.time() - start
    got = session.run(None, inputs)
    error = error_of(got, expected)
    again = error_of(session.run(None, inputs), got)
    count, left = placed(session)
    elsewhere = sum(n for name, n in count.items() if name != PROVIDER)
    said = " ".join(f"{t}:{n}" for t, n in left.most_common(12))
    return error, f"{count[PROVIDER]}\t{elsewhere}\t{loaded:.1f}\t{again:.1g}\t{said}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--zoo", required=True)
    parser.add_argument("--models", default="")
    parser.add_argument("--tsv", default="")
    parser.add_argument("--tolerance", type=float, default=0.0, help="at least this much, relative")
    parser.add_argument("--option", action="append", default=[])
    a = parser.parse_args()
    ort.register_execution_provider_library("cuda", a.plugin)
    with open(os.path.join(a.zoo, "index.json"), encoding="utf-8") as f:
        rows = json.load(f)
    wanted = a.models.split(",") if a.models else None
    lines, failed = [], 0
    for row in rows:
        if wanted and row["model"] not in wanted or row["scenario"].endswith("_loop"):  # many runs, of bench/zoo alone
            continue
        try:
            error, rest = check(row, a.zoo, dict(o.split("=", 1) for o in a.option))
        except Exception as e:  # one model that fails must not hide the others
            error, rest = np.inf, str(e).replace("\n", " ")[:400]
        allowed = max(row["tolerance"], a.tolerance)
        if rest.startswith("0\t"):
            error, rest = np.inf, "no node runs on CUDA: " + rest
        failed += error > allowed
        lines.append(f"{'fail' if error > allowed else 'pass'}\t{row['model']}\t{row['scenario']}\t{error:.2g}\t{allowed:g}\t{rest}")
        print(lines[-1], flush=True)
    if a.tsv:
        with open(a.tsv, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
    print(f"{len(lines) - failed} passed, {failed} failed")


if __name__ == "__main__":
    main()
