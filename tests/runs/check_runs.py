#!/usr/bin/env python3
"""Runs of whole models: no heap allocation and no copy in a bound run of fixed shapes, the same bits for any number of
threads.

    check_runs.py LIBRARY --tool STEADY_RUNS --work DIR [--zoo ZOO] [--light] [MODEL ...]

The models are small ones of bench/zoo, filled into DIR, GPT-2 reduced to two blocks, and one whose calls need a second
plan; with --zoo, all models of that folder instead. --light leaves out those that take minutes under a sanitizer.
tests/alloc_budget.tsv lists the scenarios whose runs may allocate and how often; fewer allocations are a failure, too,
so that the list shrinks. The last line is "N passed, N failed".
"""
import argparse
import contextlib
import json
import os
import subprocess
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import onnx.utils

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ZOO_BUILDER = os.path.join(ROOT, "bench", "zoo", "build_zoo.py")
RECIPES = os.path.join(os.path.dirname(ZOO_BUILDER), "recipes.json")
BUDGET = os.path.join(ROOT, "tests", "alloc_budget.tsv")
# Convolutions of all kinds, a batch that runs image by image, attention, normalisations, reductions, lookups, resizing,
# a long chain.
SMALL = {"squeezenet1_1": ["b1"], "mobilenet_v2": ["b1", "b8"], "efficientnet_b0": ["b1"], "yolov8n_like": ["b1"], "unet_small": ["b1_256"],
         "minilm_l6": ["b1s16", "b1s128"], "whisper_tiny_encoder": ["b1"], "dlrm": ["b1", "b128"], "tiny_ops_500": ["one"]}
HEAVY = {"unet_small", "whisper_tiny_encoder", "yolov8n_like"}
THREADS = ["1", "2", "3", "4", "7", "1+4", "2+2"]  # inside operators + for branches
WORDS = 1000
TIMEOUT_SECONDS = 1800  # limit for hangs: seven threads of a slow, shared processor may take ten minutes


def build_small(zoo):
    """Fills SMALL and the models made here into the folder; returns the rows of its index."""
    index = os.path.join(zoo, "index.json")
    newest = max(os.path.getmtime(p) for p in (__file__, ZOO_BUILDER, RECIPES))
    if not os.path.exists(index) or os.path.getmtime(index) < newest:
        os.makedirs(zoo, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.remove(index)
        own = tiny_gpt2(zoo) + second_plan(zoo)
        subprocess.run([sys.executable, ZOO_BUILDER, zoo, *SMALL], check=True, stdout=subprocess.DEVNULL)
        with open(index, encoding="utf-8") as f:
            rows = [r for r in json.load(f) if r["scenario"] in SMALL[r["model"]]]
        with open(index, "w", encoding="utf-8") as f:
            json.dump(rows + own, f)
    with open(index, encoding="utf-8") as f:
        return json.load(f)


def tiny_gpt2(zoo):
    """The caches of the first two blocks of GPT-2, with a vocabulary of 1000 words, filled; returns its rows of the
    index."""
    sys.path.insert(0, os.path.dirname(ZOO_BUILDER))
    import build_zoo
    recipes = build_zoo.load_recipes()
    skeleton = onnx.load(build_zoo.skeleton_path("gpt2_small"))
    caches = [f"{i}.{part}" for i in range(2) for part in ("key", "value")]
    inputs = ["input_ids", "attention_mask", "position_ids"] + ["past_key_values." + c for c in caches]
    cut = onnx.utils.Extractor(skeleton).extract_model(inputs, ["present." + c for c in caches])
    for t in cut.graph.initializer:
        if t.name == "wte.weight":
            t.dims[0] = WORDS
    recipe = dict(recipes["gpt2_small"])
    left = {t.name for t in cut.graph.initializer}
    recipe["fill"] = {name: rule for name, rule in recipe["fill"].items() if name in left}
    path, rows = os.path.join("models", "tiny_gpt2.onnx"), []
    os.makedirs(os.path.join(zoo, "models"), exist_ok=True)
    onnx.save(cut, os.path.join(zoo, path))
    onnx.save(build_zoo.fill_model("tiny_gpt2", {"tiny_gpt2": recipe}, skel=os.path.join(zoo, path)), os.path.join(zoo, path))
    for scenario in ("prefill128", "decode_p127"):
        folder = os.path.join("inputs", "tiny_gpt2", scenario)
        os.makedirs(os.path.join(zoo, folder), exist_ok=True)
        wanted = [s for s in recipe["scenarios"][scenario] if s["name"] in inputs]
        for k, spec in enumerate(wanted):
            spec = {**spec, "gen": ["i", 0, WORDS]} if spec["name"] == "input_ids" else spec
            with open(os.path.join(zoo, folder, f"input_{k}.pb"), "wb") as f:
                f.write(build_zoo.make_input("tiny_gpt2", scenario, spec).SerializeToString())
        rows.append({"model": "tiny_gpt2", "scenario": scenario, "path": path, "inputs": folder})
    return rows


def second_plan(zoo):
    """A model with initializers that runs may override, and a name that two inputs share; returns its rows of the
    index."""
    rng = np.random.default_rng(1)
    def made(name, *shape):
        return onnx.numpy_helper.from_array(rng.standard_normal(shape, dtype=np.float32), name)
    graph = onnx.parser.parse_graph("""
      second_plan (float[batch, 4, 8, 8] x, float[batch, 6, 8, 8] shift, float[6, 4, 3, 3] w, float[6] b) => (float[batch, 6, 8, 8] y) {
        c = Conv<pads = [1, 1, 1, 1]>(x, w, b)
        r = Relu(c)
        y = Add(r, shift)
      }""")
    graph.initializer.extend([made("w", 6, 4, 3, 3), made("b", 6)])
    path, rows = os.path.join("models", "second_plan.onnx"), []
    os.makedirs(os.path.join(zoo, "models"), exist_ok=True)
    onnx.save(onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)]), os.path.join(zoo, path))
    x, shift, one_shift = made("x", 2, 4, 8, 8), made("shift", 2, 6, 8, 8), made("shift", 1, 6, 8, 8)
    for scenario, inputs in (("none", [x, shift]), ("initializer_overridden", [x, shift, made("w", 6, 4, 3, 3)]),
                             ("names_lie", [x, one_shift])):
        folder = os.path.join("inputs", "second_plan", scenario)
        os.makedirs(os.path.join(zoo, folder), exist_ok=True)
        for i, tensor in enumerate(inputs):
            onnx.save_tensor(tensor, os.path.join(zoo, folder, f"input_{i}.pb"))
        rows.append({"model": "second_plan", "scenario": scenario, "path": path, "inputs": folder})
    return rows


def read_budget():
    with open(BUDGET, encoding="utf-8") as f:
        return {name: int(count) for name, count, _ in (line.split("\t") for line in f.read().splitlines()[1:])}


def verdict(allocations, copied, bits, budget):
    """The complaint about a run, or ""."""
    if bits != "same":
        return bits + " differs from one thread"
    if copied != "0":
        return copied + " bytes are copied in runs whose inputs and outputs are bound"
    if allocations == "-" or int(allocations) == budget:
        return ""
    if int(allocations) < budget:
        return f"{allocations} allocations a run: lower the {budget} in tests/alloc_budget.tsv"
    return f"{allocations} allocations a run, {budget} are allowed"


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("library")
    ap.add_argument("models", nargs="*", metavar="MODEL")
    ap.add_argument("--tool", default="build/release/steady_runs")
    ap.add_argument("--work", default="build/test/runs", help="where the small models are stored")
    ap.add_argument("--zoo", default="", help="a filled zoo to take all models from")
    ap.add_argument("--light", action="store_true", help="without the heavy models")
    a = ap.parse_intermixed_args()
    zoo = a.zoo or a.work
    rows = build_small(zoo) if not a.zoo else json.load(open(os.path.join(zoo, "index.json"), encoding="utf-8"))
    budget, passed, failed = read_budget(), 0, 0
    for row in rows:
        name = f"{row['model']}/{row['scenario']}"
        if (a.models and row["model"] not in a.models) or (a.light and row["model"] in HEAVY):
            continue
        command = [a.tool, a.library, os.path.join(zoo, row["path"]), os.path.join(zoo, row["inputs"]), *THREADS]
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=TIMEOUT_SECONDS)
            lines = (done.stderr or done.stdout).strip().splitlines() or [f"ended with {done.returncode}"]
            wrong = lines[-1] if done.returncode else verdict(*done.stdout.strip().split("\t"), budget.get(name, 0))
        except subprocess.TimeoutExpired:
            wrong = f"not done after {TIMEOUT_SECONDS} s"
        print(f"FAIL {name}: {wrong}" if wrong else f"ok   {name}", flush=True)
        passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
