#!/usr/bin/env python3
"""Compares MatMulNBits on the CUDA provider with the CPU: check_nbits.py --tool retort --plugin libretort_cuda.so
--work DIR [--kinds f32,f16]. All types are compared with the CPU's float32. The last line is "N passed, N failed"."""
import argparse
import os

import numpy as np
import onnx
from onnx import TensorProto, helper

from check_attention import difference, run
from reduction_cases import Builder

RULES = {"f32": 2e-6, "f16": 3e-3, "bf16": 2e-2}
# Rows, k, n, bits, block, zero points (0: none, 1: codes, 2: numbers).
CASES = [
    # One and two rows: whole steps of 64 bytes, and rows that end within a step or within a block.
    (1, 512, 37, 4, 32, 0), (2, 1024, 40, 4, 32, 1), (1, 1024, 16, 8, 32, 1), (2, 2048, 5, 2, 32, 0), (1, 256, 33, 4, 16, 2), (1, 1024, 20, 4, 128, 1), (2, 1024, 20, 4, 256, 2),
    (1, 4096, 130, 4, 32, 0), (1, 656, 37, 4, 32, 0), (2, 1040, 20, 4, 16, 1), (1, 720, 20, 2, 32, 2), (1, 336, 9, 8, 16, 0), (1, 150, 9, 4, 32, 1),
    # More rows by tensor cores, groups of rows that are not full, and codes that become elements first.
    (3, 512, 37, 4, 32, 0), (8, 1024, 20, 4, 32, 1), (16, 656, 37, 4, 32, 2), (40, 512, 20, 4, 64, 0), (9, 1024, 20, 8, 32, 1), (5, 150, 9, 4, 32, 0), (100, 512, 20, 4, 32, 1),
    (0, 512, 20, 4, 32, 0),
]
COMPUTED = [(1, 512, 37, 4, 32, 1), (2, 1024, 20, 4, 32, 2), (8, 1024, 20, 4, 32, 1)]  # scales and zero points come from nodes
SIBLINGS = [(rows, 512, (64, 40, 33, 24), 4, 32, zeros) for rows, zeros in ((1, 0), (1, 1), (2, 1), (9, 2), (100, 0), (0, 0))]  # products of one A; 33 columns stay alone


def exact(values):
    """Rounded to what all types hold."""
    return (np.asarray(values, np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)


def add(b, case, computed, a=None):
    m, k, n, bits, block, zeros = case
    blocks = -(-k // block)
    codes = b.constant(b.rng.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8))

    def numbers(values):
        values = exact(values)
        if computed:
            return b.floats(values=values)
        name = b.fresh("s")
        b.fixed.append(helper.make_tensor(name, {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}[b.kind], values.shape, values.ravel()))
        return name

    inputs = [a or b.floats(m, k), codes, numbers(b.rng.random((n, blocks)) / k**0.5 / 2**bits)]
    if zeros == 1:
        z = b.rng.integers(0, 256, (n, -(-blocks * bits // 8))).astype(np.uint8)
        inputs.append(b.plain(z) if computed else b.constant(z))
    if zeros == 2:
        inputs.append(numbers(b.rng.standard_normal((n, blocks)) + 2 ** (bits - 1)))
    inputs += [""] * (5 - len(inputs)) + [numbers(b.rng.standard_normal(n))]
    b.result(*b.add("MatMulNBits", inputs, domain="com.microsoft", K=k, N=n, bits=bits, block_size=block))


def outputs(a, kind, *options):
    folder = os.path.join(a.work, f"{kind}_{'cuda' if options else 'cpu'}")
    os.makedirs(folder, exist_ok=True)
    b = Builder(kind, 20)
    for case in CASES:
        add(b, case, False)
    for case in COMPUTED:
        add(b, case, True)
    for m, k, columns, *rest in SIBLINGS:
        x = b.floats(m, k)
        for n in columns:
            add(b, (m, k, n, *rest), False, x)
    model, path = b.model(), os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    inputs = []
    for name, values in b.feeds.items():
        np.save(os.path.join(folder, "in_" + name + ".npy"), values)
        inputs += ["-i", f"{name}={os.path.join(folder, 'in_' + name + '.npy')}"]
    found, why = run(a.tool, path, os.path.join(folder, "out"), inputs, *options)
    if found is None:
        raise SystemExit(f"{kind}: {why}")
    return [found[o.name] for o in model.graph.output]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tool", required=True)
    p.add_argument("--plugin", required=True)
    p.add_argument("--work", required=True)
    p.add_argument("--kinds", default="f32,f16,bf16")
    a = p.parse_args()
    wanted = outputs(a, "f32")
    cases = CASES + COMPUTED + [(m, k, n, *rest) for m, k, columns, *rest in SIBLINGS for n in columns]
    passed = failed = 0
    for kind in a.kinds.split(","):
        got = outputs(a, kind, "--plugin", "cuda=" + a.plugin, "--provider", "CUDAExecutionProvider:use_tf32=0")
        for case, w, g in zip(cases, wanted, got):
            wrong = difference(w.astype(np.float64), g.astype(np.float64), RULES[kind])
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print(f"FAIL {kind} {case}: {wrong}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
