#!/usr/bin/env python3
"""Compares graphs of model_cases.py on the CUDA provider with the CPU, in official ONNX Runtime:
check_models.py --plugin libretort_cuda.so [--only TEXT]. All nodes must run on CUDA. The last line is "N passed, N
failed"."""
import argparse

import numpy as np
import onnxruntime as ort

import model_cases

NAME = "CUDAExecutionProvider"


def cpu(case):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1  # LSTM of codes rounds the part of each thread by itself
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession((case.reference or case.model).SerializeToString(), options, providers=["CPUExecutionProvider"])


def cuda(case):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    options.add_provider_for_devices([next(d for d in ort.get_ep_devices() if d.ep_name == NAME)], {"use_tf32": "0"})
    session = ort.InferenceSession(case.model.SerializeToString(), options)
    session.disable_fallback()
    left = [n.op_type for part in session.get_provider_graph_assignment_info() if part.ep_name != NAME for n in part.get_nodes()]
    return session, left


def difference(wanted, got, rule):
    if wanted.shape != got.shape or wanted.dtype != got.dtype:
        return f"{got.dtype} {got.shape}, expected {wanted.dtype} {wanted.shape}"
    if wanted.size == 0:
        return ""
    w, g = wanted.astype(np.float64), got.astype(np.float64)
    same = (w == g) | (np.isnan(w) & np.isnan(g))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0, np.abs(w - g))
    scale = np.max(np.abs(w[np.isfinite(w)]), initial=1e-30)
    if np.all(error <= rule * scale):
        return ""
    at = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), w.shape)
    return f"{got[at]} at {list(map(int, at))}, expected {wanted[at]}; greatest {scale:.3g}, {np.sum(~(error <= rule * scale))} of {w.size} differ"


def check(case):
    reference = cpu(case)
    session, left = cuda(case)
    if left:
        return f"left to the CPU: {left}"
    for i, run in enumerate(case.runs):
        if case.reference:
            wanted = [w.astype(v.dtype) for w, v in zip(reference.run(None, {n: v.astype(np.float32) for n, v in run.items()}), [next(iter(run.values()))])]
        else:
            wanted = reference.run(None, run)
        for name, w, g in zip([o.name for o in session.get_outputs()], wanted, session.run(None, run)):
            rule = case.rule if w.dtype.kind == "f" else 0
            if wrong := difference(w, g, rule):
                return f"run {i}, {name}: {wrong}"
    return ""


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--plugin", required=True)
    p.add_argument("--only", default="")
    a = p.parse_args()
    ort.register_execution_provider_library("cuda", a.plugin)
    passed = failed = 0
    for case in model_cases.cases():
        if a.only not in case.name:
            continue
        try:
            wrong = check(case)
        except Exception as e:  # one case must not hide the others
            wrong = f"{type(e).__name__}: {e}".replace("\n", " ")[:500]
        passed, failed = passed + (not wrong), failed + bool(wrong)
        if wrong:
            print(f"FAIL {case.name}: {wrong}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
