#!/usr/bin/env python3
"""Measurements without a model of the zoo, of Retort beside ONNX Runtime: one-node runs, decoding with a growing past,
idle processor time.

    extras.py OUT --zoo ZOO --programs DIR [--json FILE]

OUT is the installed Retort; ONNX Runtime is the library inside the Python package; DIR is where decode_growing and
idle_cpu were built. The models are measured by `retort bench --suite`; see `make bench`.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, helper

from peers import oracle


def one_node(a, folder):
    """Bound runs of one operator on four floats."""
    results = {}
    for op, inputs in (("Add", ["a", "b"]), ("Relu", ["a"])):
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in inputs + ["y"]]
        graph = helper.make_graph([helper.make_node(op, inputs, ["y"])], op, ports[:-1], ports[-1:])
        path = os.path.join(folder, op + ".onnx")
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
        command = [os.path.join(a.out, "bin", "retort"), "bench", path, "--against", oracle(), "--json", "--seconds", str(a.seconds), "--block", "5000"]
        done = subprocess.run(command, capture_output=True, encoding="utf-8")
        results[op] = json.loads(done.stdout)[0]["ratio"] if done.returncode == 0 else done.stderr.strip()
    return results


def program(a, name, library, *arguments):
    path = os.path.join(a.programs, name)
    done = subprocess.run([path, library, *arguments], capture_output=True, encoding="utf-8")
    return json.loads(done.stdout) if done.returncode == 0 else {"failed": done.stderr.strip()}


def figures(a):
    """Yields (name, value) pairs."""
    ours = os.path.join(a.out, "lib", "libretort.so.1")
    models = os.path.join(a.zoo, "models")
    with tempfile.TemporaryDirectory() as folder:
        for op, ratio in one_node(a, folder).items():
            yield f"one-node run, {op}: ratio", ratio
    gpt2, small = os.path.join(models, "gpt2_small.onnx"), os.path.join(models, "squeezenet1_1.onnx")
    if os.path.exists(gpt2):
        yield "decoding, growing past beside handed back and fixed", program(a, "decode_growing", ours, gpt2)
        yield "the same for a batch of 8 from 900 past tokens", program(a, "decode_growing", ours, gpt2, "1", "64", "900", "8")
    if os.path.exists(small):
        for name, library in (("Retort", ours), ("ONNX Runtime", oracle())):
            yield f"idle processor, 10 runs a second, {name}", program(a, "idle_cpu", library, small)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("out")
    ap.add_argument("--zoo", default="build/zoo")
    ap.add_argument("--programs", default="build/release")
    ap.add_argument("--seconds", type=float, default=3)
    ap.add_argument("--json", default="", help="also write the figures to this file")
    a = ap.parse_args()
    results = {}
    for name, value in figures(a):
        results[name] = value
        print(f"{name}: {value}", flush=True)
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
