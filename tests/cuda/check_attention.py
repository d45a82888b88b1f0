#!/usr/bin/env python3
"""Compares attentions on the CUDA provider with the CPU: check_attention.py --tool retort --plugin libretort_cuda.so
--work DIR [--only TEXT]. The CUDA provider must run the operators. The last line is "N passed, N failed"."""
import argparse
import concurrent.futures
import os
import subprocess

import numpy as np
import onnx

import attention_cases


def run(tool, model, folder, inputs, *options):
    os.makedirs(folder, exist_ok=True)
    command = [tool, "run", model, *inputs, "--save", folder, *options]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=600)
    if done.returncode:
        return None, (done.stderr or done.stdout).strip()[-600:]
    return {f[:-4]: np.load(os.path.join(folder, f)) for f in os.listdir(folder) if f.endswith(".npy")}, ""


def difference(wanted, got, rule):
    if wanted.shape != got.shape:
        return f"shape {got.shape}, expected {wanted.shape}"
    if wanted.size == 0:
        return ""
    if not (np.isnan(wanted) == np.isnan(got)).all():
        return f"{int(np.isnan(got).sum())} NaN, expected {int(np.isnan(wanted).sum())}"
    off = np.nanmax(np.abs(wanted - got)) if not np.isnan(wanted).all() else 0
    scale = max(1.0, np.nanmax(np.abs(wanted)) if not np.isnan(wanted).all() else 1.0)
    return "" if off <= rule * scale else f"differs by {off:.3g}, expected at most {rule * scale:.3g}"


def check(a, case):
    folder = os.path.join(a.work, case.name)
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "model.onnx")
    onnx.save(case.model, model)
    inputs = []
    for name, values in case.inputs.items():
        path = os.path.join(folder, "in_" + name + ".npy")
        np.save(path, values)
        inputs += ["-i", f"{name}={path}"]
    device = ["--plugin", "cuda=" + a.plugin, "--provider", "CUDAExecutionProvider" + (":" + a.options if a.options else "")]
    wanted, why = run(a.tool, model, os.path.join(folder, "cpu"), inputs, *(["--library", a.oracle] if a.oracle else []))
    if wanted is None:
        return "" if a.lenient else "on the CPU: " + why
    got, why = run(a.tool, model, os.path.join(folder, "cuda"), inputs, *device, *(["--library", a.library] if a.library else []))
    if got is None:
        return why
    if set(wanted) != set(got):
        return f"outputs {sorted(got)}, expected {sorted(wanted)}"
    rule = a.rule if a.rule and case.name.endswith("_f32") else case.rule
    return "; ".join(f"{n}: {w}" for n in wanted if (w := difference(wanted[n].astype(np.float64), got[n].astype(np.float64), rule)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tool", required=True)
    p.add_argument("--plugin", required=True)
    p.add_argument("--work", required=True)
    p.add_argument("--only", default="")
    p.add_argument("--options", default="", help="of the provider: use_tf32=0")
    p.add_argument("--rule", type=float, default=0, help="the largest difference of float32")
    p.add_argument("--library", default="", help="the engine that loads the plug-in, if it is another than the tool's")
    p.add_argument("--oracle", default="", help="the engine whose CPU is compared with, if it is another than the tool's")
    p.add_argument("--lenient", action="store_true", help="leave out what the oracle cannot run")
    p.add_argument("--jobs", type=int, default=2)
    a = p.parse_args()
    cases = [c for c in attention_cases.cases() if a.only in c.name]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for case, wrong in zip(cases, pool.map(lambda c: check(a, c), cases)):
            failed += bool(wrong)
            if wrong:
                print(f"FAIL {case.name}: {wrong}", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
