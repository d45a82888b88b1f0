#!/usr/bin/env python3
"""Retort beside ONNX Runtime over the zoo: latency, threads, agreement, loading, memory.

    side_by_side.py OUT --zoo ZOO [--programs DIR] [--threads 1,2] [--seconds N] [--json FILE] [NAME ...]

OUT is the installed Retort; ONNX Runtime is the library inside the Python package. A NAME is a model or model/scenario
and may be a glob; without one the whole zoo is run. Each row is one `retort bench`: both engines in one process, blocks
of runs in turn, a pause before each block, its first run dropped, medians. A ratio is ONNX Runtime's time over Retort's:
above 1 Retort is faster.

  1T, 2T     ratio for that number of threads         scale    Retort's time with one thread over two; ONNX Runtime's
  error      largest difference of an output over its scale     load     ratio of session creation plus first run
  MiB        peak resident memory of loading and the first run: Retort, ONNX Runtime

With --programs (where decode_growing and idle_cpu were built) what belongs to no model follows: one-node runs, decoding
with a growing past, idle processor time. Only a scenario that fails or differs by more than the tolerance of agree.py
makes the exit code 1: times do not.
"""
import argparse
import fnmatch
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, helper

from agree import read_index, tolerance_of

# Kinds of models, by name; the first that matches counts.
KINDS = {"CNNs": ["resnet*", "mobilenet*", "efficientnet*", "squeezenet*", "yolo*", "unet*", "convnext*"],
         "transformers": ["bert*", "minilm*", "vit*", "gpt2*", "llama*", "whisper*", "clip*"],
         "others": ["*"]}


def oracle():
    import onnxruntime
    return glob.glob(os.path.join(os.path.dirname(onnxruntime.__file__), "capi", "libonnxruntime.so*"))[0]


def bench(a, model, *options, threads=None):
    """The rows of `retort bench --json`, or the reason why there are none."""
    command = [os.path.join(a.out, "bin", "retort"), "bench", model, "--against", a.peer, "--json",
               "--threads", threads or a.threads, "--seconds", str(a.seconds), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
    return json.loads(done.stdout)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def summary(rows):
    """What the table shows of the rows of one scenario."""
    ours, peer = zip(*(row["sides"] for row in rows))
    return {"ms": ours[0]["median_ms"], "ratios": [row["ratio"] for row in rows],
            "scales": [side[0]["median_ms"] / side[-1]["median_ms"] for side in (ours, peer)],
            "error": max(row["disagreement"] for row in rows), "load": rows[0]["start_ratio"],
            "mib": [side[0]["peak_mib"] for side in (ours, peer)]}


def kind_of(name):
    return next(kind for kind, globs in KINDS.items() if any(fnmatch.fnmatch(name, g) for g in globs))


def means(results, threads):
    """The closing lines of the table: geometric means of all scenarios and of each kind, then the slowest scenario."""
    done = {name: s for name, s in results.items() if "ratios" in s}
    groups = {"geometric mean": done}
    for kind in KINDS:
        groups["  of " + kind] = {name: s for name, s in done.items() if kind_of(name) == kind}
    for title, group in groups.items():
        if group:
            columns = "".join(f"{mean([s['ratios'][i] for s in group.values()]):7.2f}" for i in range(threads))
            scales = "{:7.2f}{:8.2f}".format(*(mean([s["scales"][i] for s in group.values()]) for i in (0, 1)))
            yield f"{title:43}{columns}{scales}{'':10}{mean([s['load'] for s in group.values()]):7.2f}"
    if done:
        slowest = [min(done, key=lambda name: done[name]["ratios"][i]) for i in range(threads)]
        yield "slowest: " + ", ".join(f"{name} {done[name]['ratios'][i]:.2f}" for i, name in enumerate(slowest))


def one_node(a, folder):
    """Bound runs of one operator on four floats."""
    results = {}
    for op, inputs in (("Add", ["a", "b"]), ("Relu", ["a"])):
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in inputs + ["y"]]
        graph = helper.make_graph([helper.make_node(op, inputs, ["y"])], op, ports[:-1], ports[-1:])
        path = os.path.join(folder, op + ".onnx")
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
        rows = bench(a, path, "--block", "5000", threads="1")
        results[op] = rows if isinstance(rows, str) else rows[0]["ratio"]
    return results


def program(a, name, library, *arguments):
    path = os.path.join(a.programs, name)
    done = subprocess.run([path, library, *arguments], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"failed": done.stderr.strip()}


def figures(a, ours):
    """What belongs to no scenario, as (name, value) pairs."""
    models = os.path.join(a.zoo, "models")
    with tempfile.TemporaryDirectory() as folder:
        nodes = one_node(a, folder)
    found = [(f"one-node run, {op}: ratio", ratio) for op, ratio in nodes.items()]
    gpt2, small = os.path.join(models, "gpt2_small.onnx"), os.path.join(models, "squeezenet1_1.onnx")
    if os.path.exists(gpt2):
        found.append(("decoding, growing past beside fixed", program(a, "decode_growing", ours, gpt2)))
    if os.path.exists(small):
        for name, library in (("Retort", ours), ("ONNX Runtime", a.peer)):
            found.append((f"idle processor, 10 runs a second, {name}", program(a, "idle_cpu", library, small)))
    return found


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("out")
    ap.add_argument("names", nargs="*", metavar="NAME")
    ap.add_argument("--zoo", default="build/zoo")
    ap.add_argument("--programs", default="")
    ap.add_argument("--threads", default="1,2")
    ap.add_argument("--seconds", type=float, default=3)
    ap.add_argument("--json", default="", help="write the results there as well")
    a = ap.parse_intermixed_args()
    a.peer = oracle()
    head = "".join(f"{t + 'T':>7}" for t in a.threads.split(","))
    print(f"{'model/scenario':34}{'ms':>9}{head}{'scale':>7}{'(peer)':>8}{'error':>10}{'load':>7}{'MiB':>7}{'(peer)':>8}")
    results, failed = {}, 0
    for model, scenario in read_index(a.zoo, a.names):
        name = f"{model}/{scenario}"
        rows = bench(a, os.path.join(a.zoo, "models", model + ".onnx"), "--inputs", os.path.join(a.zoo, "inputs", model, scenario))
        if isinstance(rows, str):
            failed += 1
            results[name] = {"failed": rows}
            print(f"{name:34} {rows[:140]}", flush=True)
            continue
        s = results[name] = summary(rows)
        wrong = not s["error"] <= tolerance_of(model)
        failed += wrong
        print(f"{name:34}{s['ms']:9.3f}{''.join(f'{r:7.2f}' for r in s['ratios'])}{s['scales'][0]:7.2f}{s['scales'][1]:8.2f}{s['error']:10.1e}"
              f"{s['load']:7.2f}{s['mib'][0]:7.0f}{s['mib'][1]:8.0f}{'  DIFFERS' if wrong else ''}", flush=True)
    print(*means(results, len(a.threads.split(","))), sep="\n", flush=True)
    if a.programs:
        for name, value in figures(a, os.path.join(a.out, "lib", "libretort.so.1")):
            results[name] = value
            print(f"{name}: {value}", flush=True)
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)
    measured = sum(isinstance(s, dict) and "ratios" in s for s in results.values())
    print(f"{measured} scenarios measured, {failed} failed or differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
