#!/usr/bin/env python3
"""List the float32 products of the model zoo that take more than 50 million operations, for gemm_bench.

    products.py --zoo ZOO --tool RETORT > products.tsv

Each line has m, k, n, the word "cold", a # and the scenarios that have such a product. Products are those of the graph
that runs (`retort inspect`): linear layers and matrix products by constant weights, and 1x1 convolutions without
strides. The weights of a product are cold, because those of the rest of the model have been read since its last run.
"""
import argparse
import json
import math
import os
import subprocess
import sys

LEAST_OPERATIONS = 50e6


def extents(value):
    """float32[2,3] -> (2, 3); None for other types and for extents that are not known"""
    kind, _, shape = value["type"].partition("[")
    try:
        return tuple(int(e) for e in shape.rstrip("]").split(",") if e) if kind == "float32" else None
    except ValueError:
        return None


def product(node, values):
    """(m, k, n) of a product by constant weights, or None"""
    ins, outs = node["inputs"], node["outputs"]
    if node["op"] not in ("Linear", "MatMul", "Gemm", "Conv") or not values[ins[1]].get("constant"):
        return None
    a, w, y = (extents(values[i]) for i in (ins[0], ins[1], outs[0]))
    if not a or not w or not y:
        return None
    if node["op"] != "Conv":
        return math.prod(y[:-1]), a[-1], y[-1]
    strides = node.get("attributes", {}).get("strides", "1")
    if any(e != 1 for e in w[2:]) or any(c not in "[1, ]" for c in strides):
        return None
    return math.prod(y) // w[0], w[1], w[0]


def inspect(tool, model, shapes):
    command = [tool, "inspect", model, "--json", "--nodes"]
    for name, shape in shapes.items():
        command += ["--shape", f"{name}={'x'.join(map(str, shape))}"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["optimized"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoo", required=True)
    parser.add_argument("--tool", required=True)
    arguments = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "..", "zoo", "recipes.json"), encoding="utf-8") as f:
        recipes = json.load(f)["models"]
    found = {}
    for model, recipe in recipes.items():
        path = os.path.join(arguments.zoo, "models", model + ".onnx")
        if recipe["precision"] != "float32" or not os.path.exists(path):
            continue
        for scenario, inputs in recipe["scenarios"].items():
            graph = inspect(arguments.tool, path, {i["name"]: i["shape"] for i in inputs if i["shape"]})
            for node in graph["nodes"]:
                shape = product(node, graph["values"])
                if shape and 2 * math.prod(shape) > LEAST_OPERATIONS:
                    found.setdefault(shape, set()).add(f"{model}/{scenario}")
            print(model, scenario, len(found), file=sys.stderr)
    print("# Products of the model zoo: m, k, n. Made by products.py.")
    for shape in sorted(found, key=lambda s: (sorted(found[s]), s)):
        print(*shape, "cold", "#", *sorted(found[shape]))


if __name__ == "__main__":
    main()
