#!/usr/bin/env python3
"""Measures memory and processor time that Retort and ONNX Runtime use and free: one table, each figure from a fresh
process.

    frugal.py OUT --programs DIR [--json FILE] [FIGURE ...]

OUT is the installed Retort; ONNX Runtime is the library inside the Python package; DIR is where `frugal` and `idle_cpu`
were built. A FIGURE is a name in the first column of the table; without one, all are measured. The exit code is 1 if a
program of Retort's fails or a figure misses its target.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDE = 4096  # four matrices of it: 256 MiB


def save(path, nodes, x, y, weights=()):
    graph = helper.make_graph(nodes, "frugal", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)], list(weights))
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)


def build_models(folder):
    """Returns the path of each model by name."""
    path = {name: os.path.join(folder, name + ".onnx") for name in ("softmax", "square", "fixed", "weights")}
    save(path["softmax"], [helper.make_node("Softmax", ["x"], ["s"]), helper.make_node("Add", ["s", "x"], ["y"])], ["n"], ["n"])
    save(path["square"], [helper.make_node("MatMul", ["x", "x"], ["y"])], ["n", "n"], ["n", "n"])
    save(path["fixed"], [helper.make_node("MatMul", ["x", "x"], ["y"])], [512, 512], [512, 512])
    random = np.random.default_rng(1)
    weights = [numpy_helper.from_array(random.standard_normal((WIDE, WIDE), dtype=np.float32) / 64, f"w{i}") for i in range(4)]
    nodes = [helper.make_node("MatMul", [f"h{i}" if i else "x", f"w{i}"], [f"h{i + 1}" if i < 3 else "y"]) for i in range(4)]
    save(path["weights"], nodes, ["m", WIDE], ["m", WIDE], weights)
    return path


def run(command):
    """The program's output, or {"failed": reason}."""
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300)
    except subprocess.TimeoutExpired:
        return {"failed": "not done after 300 s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1][:60]}
    return json.loads(done.stdout)


# name: (program and scenario, model, text to show, target, whether a result reaches the target)
FIGURES = {
    "give-back": ("frugal give_back", "softmax", lambda r: f"{r['ratio']:.2f} x ({r['after_mib']:.0f} MiB)", "<= 1.2 x",
                  lambda r: r["ratio"] <= 1.2),
    "idle": ("idle_cpu", "fixed", lambda r: f"{100 * r['idle']:.2f} %", "<= 1 %", lambda r: r["idle"] <= 0.01),
    "second-session": ("frugal second_session", "weights", lambda r: f"{r['second_mib']:.1f} MiB", "<= 10 MiB",
                       lambda r: r["second_mib"] <= 10 and r["same"]),
    "terminate": ("frugal terminate", "square",
                  lambda r: f"{r['median_ms']:.1f} ms, worst {r['worst_ms']:.1f}" + ("" if r["error"] else ", no error"),
                  "<= 10 ms, an error", lambda r: r["median_ms"] <= 10 and r["error"]),
    "budget": ("frugal budget", "softmax", lambda r: ("an error" if r["refused"] else "none") + f", grew {r['grew_mib']:.0f} MiB",
               "an error", lambda r: r["refused"]),
    "threads": ("frugal threads", "square", lambda r: str(r["threads"]), "1", lambda r: r["threads"] == 1),
    "fork": ("frugal fork", "square", lambda r: r["child"] + (f", {r['threads']} threads" if r["child"] == "runs" else ""), "runs",
             lambda r: r["child"] == "runs"),
}
MEANING = {
    "give-back": "memory after a 256 MiB input and 100 small runs, relative to that of small runs",
    "idle": "processor time between 10 runs a second on two threads",
    "second-session": "private memory of a second session of a 256 MiB model",
    "terminate": "from RunOptionsSetTerminate inside a MatMul of seconds to the end of Run",
    "budget": "a run that needs 256 MiB under session.memory_budget_bytes = 64 MiB",
    "threads": "threads of a default session whose process may use one processor",
    "fork": "a child runs a session of its parent on two threads",
}


def measure(a, name, library, models):
    program, model, _, _, _ = FIGURES[name]
    program, *scenario = program.split()
    return run([os.path.join(a.programs, program), library, *scenario, models[model]])


def shown(result, show):
    return "failed: " + result["failed"] if "failed" in result else show(result)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("out")
    ap.add_argument("figures", nargs="*", metavar="FIGURE", choices=[[], *FIGURES])
    ap.add_argument("--programs", default="build/release")
    ap.add_argument("--json", default="", help="also write the results to this file")
    a = ap.parse_intermixed_args()
    import onnxruntime
    peer = glob.glob(os.path.join(os.path.dirname(onnxruntime.__file__), "capi", "libonnxruntime.so*"))[0]
    ours = os.path.join(a.out, "lib", "libretort.so.1")
    results, missed = {}, []
    print(f"{'figure':16}{'Retort':28}{'ONNX Runtime':28}{'target':20}")
    with tempfile.TemporaryDirectory() as folder:
        models = build_models(folder)
        for name in a.figures or FIGURES:
            _, _, show, target, reaches = FIGURES[name]
            mine, theirs = (measure(a, name, library, models) for library in (ours, peer))
            good = "failed" not in mine and reaches(mine)
            results[name] = {"meaning": MEANING[name], "target": target, "reached": good, "retort": mine, "onnxruntime": theirs}
            missed += [] if good else [name]
            print(f"{name:16}{shown(mine, show):28}{shown(theirs, show):28}{target:20}{'' if good else 'MISSED'}", flush=True)
    print("\n".join(f"  {name}: {MEANING[name]}" for name in results))
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
