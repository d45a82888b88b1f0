"""Writes the models of retort/datasets. The classifier is fitted to two measures of iris flowers (scikit-learn's data).

make_datasets.py [FOLDER]
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def tensor(name, *shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(graph, **versions):
    opsets = [helper.make_opsetid({"ai_onnx": "", "ai_onnx_ml": "ai.onnx.ml"}[domain], version) for domain, version in versions.items()]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="retort")
    onnx.checker.check_model(made, full_check=True)
    return made


def product():
    weights = numpy_helper.from_array(np.arange(1, 7, dtype=np.float32).reshape(3, 2), "W")
    node = helper.make_node("Mul", ["X", "W"], ["Y"], "mul_1")
    return model(helper.make_graph([node], "mul_1", [tensor("X", 3, 2)], [tensor("Y", 3, 2)], [weights]), ai_onnx=13)


def sigmoid():
    node = helper.make_node("Sigmoid", ["x"], ["y"], "sigmoid")
    return model(helper.make_graph([node], "sigmoid", [tensor("x", 3, 4, 5)], [tensor("y", 3, 4, 5)]), ai_onnx=13)


def fitted():
    """Weights [3, 2] and offsets [3] of a classifier of iris flowers by the length and width of their sepals."""
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression

    data = load_iris()
    found = LogisticRegression(max_iter=1000).fit(data.data[:, :2], data.target)
    return found.coef_, found.intercept_


def classifier():
    weights, offsets = fitted()
    nodes = [
        helper.make_node(
            "LinearClassifier", ["float_input"], ["label", "scores"], "classify", domain="ai.onnx.ml",
            classlabels_ints=[0, 1, 2], coefficients=weights.ravel().tolist(), intercepts=offsets.tolist(),
            post_transform="SOFTMAX",
        ),
        helper.make_node(
            "ZipMap", ["scores"], ["probabilities"], "name_classes", domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2]
        ),
    ]
    kind = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    probabilities = helper.make_value_info("probabilities", helper.make_sequence_type_proto(kind))
    outputs = [tensor("label", 3, kind=TensorProto.INT64), probabilities]
    graph = helper.make_graph(nodes, "logreg_iris", [tensor("float_input", 3, 2)], outputs)
    return model(graph, ai_onnx=13, ai_onnx_ml=1)


def main():
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "retort", "datasets")
    folder = sys.argv[1] if len(sys.argv) > 1 else default
    for name, made in (("mul_1", product()), ("sigmoid", sigmoid()), ("logreg_iris", classifier())):
        onnx.save(made, os.path.join(folder, f"{name}.onnx"))


if __name__ == "__main__":
    main()
