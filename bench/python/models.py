"""The models of the figures, made once into a folder for temporary files. Each function returns a path."""
import os
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = os.environ.get("RETORT_BENCH_MODELS") or tempfile.mkdtemp(prefix="retort-bench-")


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def saved(name, nodes, inputs, outputs, weights=()):
    path = os.path.join(FOLDER, name + ".onnx")
    if not os.path.exists(path):
        graph = helper.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(w, n) for n, w in weights])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def add():
    return saved("add", [helper.make_node("Add", ["x", "one"], ["y"])], [value("x", [4])], [value("y", [4])], [("one", np.ones(4, np.float32))])


def of_one(operator):
    """y = operator(x) of a vector of any length."""
    return saved(operator.lower(), [helper.make_node(operator, ["x"], ["y"])], [value("x", ["n"])], [value("y", ["n"])])


def product():
    return saved("product", [helper.make_node("MatMul", ["a", "b"], ["c"])], [value("a", ["m", "k"]), value("b", ["k", "n"])], [value("c", ["m", "n"])])


def layers(count=8, width=512):
    """Eight dense layers: 8 MiB of weights."""
    random, nodes, weights, last = np.random.default_rng(0), [], [], "x"
    for i in range(count):
        weights.append((f"w{i}", random.standard_normal((width, width), np.float32) / np.float32(width ** 0.5)))
        nodes += [helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"]), helper.make_node("Relu", [f"m{i}"], [f"r{i}"])]
        last = f"r{i}"
    return saved("layers", nodes, [value("x", ["rows", width])], [value(last, ["rows", width])], weights)


def slow_product_size(session, seconds=3.0):
    """The extent of square matrices whose product takes about so long."""
    a = np.ones((1024, 1024), np.float32)
    session.run(None, {"a": a, "b": a})
    start = time.perf_counter()
    session.run(None, {"a": a, "b": a})
    return int(1024 * (seconds / (time.perf_counter() - start)) ** (1 / 3))
