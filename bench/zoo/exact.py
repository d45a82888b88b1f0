#!/usr/bin/env python3
"""Correct outputs for the accuracy table of `retort bench --suite`: each model is run once with all floats as doubles.

    exact.py ZOO [NAME ...] [--real FOLDER OUT] [--retort PROGRAM] [--again]

Writes ZOO/expected/NAME/SCENARIO/output_K.pb for scenarios of float32 and float16, rounded to the type of the output,
and names the folder in ZOO/index.json. With --real, also OUT/index.json: a scenario for each folder of FOLDER that has
a model.onnx with input_K.pb and output_K.pb. A model that does not run in doubles keeps its stored outputs, or has
none; the reason is printed. Existing outputs are not made again without --again.

The program computes doubles with separate kernels, which have no shortcuts. ONNX Runtime's float32 results differ by
around 1e-6 of the output's scale from them, which checks that the conversion of the model did not change its
computation.
"""
import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NARROW = (TensorProto.FLOAT, TensorProto.FLOAT16)
TYPE_ATTRIBUTES = {"to", "dtype", "stash_type", "output_datatype", "output_dtype", "softmax_precision"}
# Inputs that may only be floats, which get the number rounded to float, and outputs of that type, which are cast to
# double.
FLOAT_ONLY = {"Upsample": ([1], []), "NonMaxSuppression": ([0, 1, 3, 4], []), "QuantizeLinear": ([0, 1], []), "DequantizeLinear": ([1], [0]),
              "DynamicQuantizeLinear": ([0], [1]), "QLinearConv": ([1, 4, 6], []), "QLinearMatMul": ([1, 4, 6], []), "TreeEnsembleRegressor": ([], [0]),
              "TreeEnsembleClassifier": ([], [1]), "TfIdfVectorizer": ([], [0])}


class NotRun(Exception):
    """Why a model does not run in doubles."""


def widen_tensor(tensor):
    if tensor.data_type in NARROW:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def widen_type(value_type):
    kind = value_type.WhichOneof("value")
    if kind == "tensor_type" and value_type.tensor_type.elem_type in NARROW:
        value_type.tensor_type.elem_type = TensorProto.DOUBLE
    elif kind in ("sequence_type", "optional_type"):
        widen_type(getattr(value_type, kind).elem_type)


def widen_attribute(attribute):
    if attribute.type == AttributeProto.TENSOR:
        widen_tensor(attribute.t)
    elif attribute.type == AttributeProto.GRAPH:
        widen_graph(attribute.g)
    elif attribute.name in TYPE_ATTRIBUTES and attribute.i in NARROW:
        attribute.i = TensorProto.DOUBLE
    elif attribute.name in ("value_float", "value_floats"):
        value = np.array(attribute.f if attribute.name == "value_float" else attribute.floats, np.float64)
        attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(value)))


def float_only(node):
    """Indices of its inputs and outputs that may only be floats."""
    if node.op_type == "Resize":
        return [len(node.input) - 1] if len(node.input) == 2 else [2], []
    return FLOAT_ONLY.get(node.op_type, ([], []))


def widen_nodes(nodes):
    """The nodes, with casts around those that only support floats."""
    wide = []
    for number, node in enumerate(nodes):
        for attribute in node.attribute:
            widen_attribute(attribute)
        inputs, outputs = float_only(node)
        before, after = [], []
        for i in inputs:
            if i < len(node.input) and node.input[i]:
                name = f"{node.output[0]}.float{number}.{i}"
                before.append(helper.make_node("Cast", [node.input[i]], [name], to=TensorProto.FLOAT))
                node.input[i] = name
        for i in outputs:
            if i < len(node.output) and node.output[i]:
                name = f"{node.output[i]}.float{number}"
                after.append(helper.make_node("Cast", [name], [node.output[i]], to=TensorProto.DOUBLE))
                node.output[i] = name
        wide += [*before, node, *after]
    return wide


def replace_nodes(graph, nodes):
    nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for n in nodes]
    del graph.node[:]
    graph.node.extend(nodes)


def widen_graph(graph):
    for tensor in graph.initializer:
        widen_tensor(tensor)
    for value in (*graph.input, *graph.output):
        widen_type(value.type)
    del graph.value_info[:]
    replace_nodes(graph, widen_nodes(graph.node))


def widen_model(model):
    widen_graph(model.graph)
    for function in model.functions:
        replace_nodes(function, widen_nodes(function.node))


def read_tensor(path):
    with open(path, "rb") as f:
        return TensorProto.FromString(f.read())


def write_tensor(path, array, name):
    with open(path, "wb") as f:
        f.write(numpy_helper.from_array(np.ascontiguousarray(array), name).SerializeToString())


def widen_inputs(inputs, folder):
    for name in os.listdir(inputs):
        if name.startswith("input_") and name.endswith(".pb"):
            tensor = read_tensor(os.path.join(inputs, name))
            widen_tensor(tensor)
            with open(os.path.join(folder, name), "wb") as f:
                f.write(tensor.SerializeToString())


class Exact:
    """Runs models; keeps the last session, because scenarios of one model follow each other."""

    def __init__(self, program):
        self.program, self.folder = program, tempfile.TemporaryDirectory()
        self.path, self.types = "", []

    def load(self, path):
        if path == self.path:
            return
        model = onnx.load(path)
        if any(o.type.WhichOneof("value") != "tensor_type" for o in model.graph.output):
            raise NotRun("its outputs are not tensors")
        self.types = [(o.name, o.type.tensor_type.elem_type) for o in model.graph.output]
        widen_model(model)
        onnx.save(model, os.path.join(self.folder.name, "m.onnx"))
        self.path = path

    def run(self, path, inputs, out):
        """The outputs, rounded, as files of the folder `out`."""
        self.load(path)
        saved = os.path.join(self.folder.name, "outputs.npz")
        with tempfile.TemporaryDirectory() as wide:
            widen_inputs(inputs, wide)
            done = subprocess.run([self.program, "run", os.path.join(self.folder.name, "m.onnx"), "--inputs", wide, "--threads", "0", "--save", saved],
                                  capture_output=True, encoding="utf-8")
        if done.returncode:
            raise NotRun(done.stderr.strip().replace(self.folder.name, ""))
        os.makedirs(out, exist_ok=True)
        with np.load(saved) as arrays:
            for i, (name, element) in enumerate(self.types):
                write_tensor(os.path.join(out, f"output_{i}.pb"), arrays[name].astype(helper.tensor_dtype_to_np_dtype(element)), name)


def add_expected(a, exact, row, folder, where):
    """Makes the expected outputs that do not exist yet, and names them in the index row."""
    out = os.path.join(folder, where)
    name = f"{row['model']}/{row['scenario']}"
    wanted = not a.names or any(fnmatch.fnmatch(row["model"], n) or fnmatch.fnmatch(name, n) for n in a.names)
    if wanted and (a.again or not os.path.exists(os.path.join(out, "output_0.pb"))):
        print(name, end=" ", flush=True)
        try:
            exact.run(os.path.join(folder, row["path"]), os.path.join(folder, row["inputs"]), out)
        except (NotRun, ValueError, KeyError) as e:
            print(f"does not run in doubles: {e}")
            return
        print("done")
    if os.path.exists(os.path.join(out, "output_0.pb")):
        row.update(expected=where, expected_from="float64")


def write_index(folder, rows):
    with open(os.path.join(folder, "index.json"), "w", encoding="utf-8") as f:
        json.dump(rows, f, indent=1)


def zoo_scenarios(a, exact):
    with open(os.path.join(a.zoo, "index.json"), encoding="utf-8") as f:
        rows = json.load(f)
    for row in rows:
        if row["precision"] in ("float32", "float16") and not row.get("hand_back"):
            add_expected(a, exact, row, a.zoo, f"expected/{row['model']}/{row['scenario']}")
    write_index(a.zoo, rows)


def real_scenarios(a, exact):
    models, out = a.real
    rows = []
    os.makedirs(out, exist_ok=True)
    for name in sorted(os.listdir(models)):
        folder = os.path.abspath(os.path.join(models, name))
        if not os.path.exists(os.path.join(folder, "model.onnx")):
            continue
        row = {"model": name, "scenario": "real", "path": os.path.join(folder, "model.onnx"), "inputs": folder, "precision": "real models", "tolerance": 1e-3,
               "expected": folder, "expected_from": "stored outputs"}
        add_expected(a, exact, row, out, f"expected/{name}")
        rows.append(row)
    write_index(out, rows)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("zoo")
    ap.add_argument("names", nargs="*", metavar="NAME", help="models or scenarios, which may be globs (default: all)")
    ap.add_argument("--real", nargs=2, metavar=("FOLDER", "OUT"))
    ap.add_argument("--retort", default=os.path.join(ROOT, "out", "bin", "retort"))
    ap.add_argument("--again", action="store_true")
    a = ap.parse_intermixed_args()
    exact = Exact(a.retort)
    zoo_scenarios(a, exact)
    if a.real:
        real_scenarios(a, exact)


if __name__ == "__main__":
    sys.exit(main())
