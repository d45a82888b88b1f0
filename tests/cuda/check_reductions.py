#!/usr/bin/env python3
"""Compares reductions, normalisations, searches and recurrent layers on the CUDA provider with the CPU:
check_reductions.py --tool retort --plugin libretort_cuda.so --work DIR [--kinds f32,f16] [--parts softmax,norms].
All types are compared with the CPU's float32. The last line is "N passed, N failed"."""
import argparse
import os

import numpy as np
import onnx

import reduction_cases
from check_attention import difference, run


def outputs(a, part, kind, *options):
    folder = os.path.join(a.work, f"{part}_{kind}_{'cuda' if options else 'cpu'}")
    os.makedirs(folder, exist_ok=True)
    model, feeds = reduction_cases.model(part, kind)
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    inputs = []
    for name, values in feeds.items():
        np.save(os.path.join(folder, "in_" + name + ".npy"), values)
        inputs += ["-i", f"{name}={os.path.join(folder, 'in_' + name + '.npy')}"]
    found, why = run(a.tool, path, os.path.join(folder, "out"), inputs, *options)
    if found is None:
        raise SystemExit(f"{part} {kind}: {why}")
    return [found[o.name] for o in model.graph.output], [o.name for o in model.graph.output]


def check(a, part, kinds):
    device = ["--plugin", "cuda=" + a.plugin, "--provider", "CUDAExecutionProvider:use_tf32=0"]
    wanted, _ = outputs(a, part, "f32")
    passed = failed = 0
    for kind in kinds:
        got, names = outputs(a, part, kind, *device)
        for name, w, g in zip(names, wanted, got):
            rule = reduction_cases.KINDS[kind][1] if w.dtype.kind == "f" else 0
            w, g = w.copy(), g.copy()
            wrong = infinite(w, g) or difference(w.astype(np.float64), g.astype(np.float64), rule)
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print(f"FAIL {part} {kind} {name}: {wrong}", flush=True)
    return passed, failed


def infinite(wanted, got):
    """Infinities must be the same; they become 0 in both, so that the rest can be compared."""
    if wanted.dtype.kind != "f" or wanted.shape != got.shape:
        return ""
    places = np.isinf(wanted) | np.isinf(got)
    if not np.array_equal(wanted[places], got[places]):
        return f"infinities differ: {got[places][:5]}, expected {wanted[places][:5]}"
    wanted[places] = got[places] = 0
    return ""


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tool", required=True)
    p.add_argument("--plugin", required=True)
    p.add_argument("--work", required=True)
    p.add_argument("--kinds", default="f32,f16,bf16")
    p.add_argument("--parts", default=",".join(reduction_cases.PARTS))
    a = p.parse_args()
    passed = failed = 0
    for part in a.parts.split(","):
        kinds = [k for k in a.kinds.split(",") if k == "f32" or part not in reduction_cases.ONLY_F32]
        right, wrong = check(a, part, kinds)
        print(f"{part}: {right} passed, {wrong} failed", flush=True)
        passed, failed = passed + right, failed + wrong
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
