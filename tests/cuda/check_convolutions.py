#!/usr/bin/env python3
"""Compares convolutions, pools and their kin on the CUDA provider with the CPU: check_convolutions.py --tool retort
--plugin libretort_cuda.so --work DIR [--kinds f32,f16] [--parts pools]. The last line is "N passed, N failed"."""
import argparse
import concurrent.futures
import json
import os
import subprocess

import numpy as np


def run(tool, model, folder, inputs, *options):
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run([tool, "run", model, *inputs, "--save", folder, *options], capture_output=True, encoding="utf-8")
    if done.returncode:
        print(f"FAIL {model}: {(done.stderr or done.stdout).strip()[-2000:]}", flush=True)
    return {f[:-4]: np.load(os.path.join(folder, f)) for f in os.listdir(folder) if f.endswith(".npy")}


def difference(wanted, got, rule):
    if wanted.shape != got.shape:
        return f"shape {got.shape}, expected {wanted.shape}"
    if wanted.size == 0:
        return ""
    wanted, got = wanted.astype(np.float64), got.astype(np.float64)
    off, scale = np.abs(wanted - got).max(), max(1.0, np.abs(wanted).max()) if rule else 0
    return "" if off <= rule * scale else f"differs by {off:.3g}, expected at most {rule * scale:.3g}"


def prepare(folder, kind, part):
    """Writes the model with its inputs and rules."""
    import conv_cases

    os.makedirs(folder, exist_ok=True)
    model, feeds, rules = conv_cases.model(kind, part)
    with open(os.path.join(folder, "model.onnx"), "wb") as f:
        f.write(model.SerializeToString())
    for name, values in feeds.items():
        np.save(os.path.join(folder, "in_" + name + ".npy"), values)
    with open(os.path.join(folder, "rules.json"), "w", encoding="utf-8") as f:
        json.dump(rules, f)


def check(a, kind, part):
    folder = os.path.join(a.work, kind + "_" + part)
    if a.only != "run":
        prepare(folder, kind, part)
    if a.only == "prepare":
        return 0, 0
    with open(os.path.join(folder, "rules.json"), encoding="utf-8") as f:
        rules = json.load(f)
    model = os.path.join(folder, "model.onnx")
    inputs = []
    for file in sorted(os.listdir(folder)):
        if file.startswith("in_"):
            inputs += ["-i", f"{file[3:-4]}={os.path.join(folder, file)}"]
    provider = "CUDAExecutionProvider:" + ",".join(filter(None, ["use_tf32=0" if kind == "f32" else "", a.options]))
    wanted = run(a.tool, model, os.path.join(folder, "cpu"), inputs)
    got = run(a.tool, model, os.path.join(folder, "cuda"), inputs, "--plugin", "cuda=" + a.plugin, "--provider",
              provider.rstrip(":"))
    wrong = {n: difference(wanted[n], got[n], rule) if n in got else "is missing" for n, rule in rules.items()}
    failed = [f"FAIL {kind} {name}: {why}" for name, why in wrong.items() if why]
    print("\n".join([*failed, f"{kind} {part}: {len(rules) - len(failed)} passed, {len(failed)} failed"]), flush=True)
    return len(rules) - len(failed), len(failed)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tool", required=True)
    p.add_argument("--plugin", required=True)
    p.add_argument("--work", required=True)
    p.add_argument("--kinds", default="f32,tf32,f16,bf16")
    p.add_argument("--parts", default="coded,convolutions,followed,pools,integers")
    p.add_argument("--options", default="", help="of the provider, separated by commas")
    p.add_argument("--only", choices=["prepare", "run"], help="write the models, or run what was written; running needs no package onnx")
    p.add_argument("--jobs", type=int, default=2)
    a = p.parse_args()
    cases = [(kind, part) for part in a.parts.split(",") for kind in a.kinds.split(",") if part != "integers" or kind == "f32"]
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        results = list(pool.map(lambda c: check(a, *c), cases))
    passed, failed = (sum(column) for column in zip(*results))
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
