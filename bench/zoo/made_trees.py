"""Gradient boosting: many shallow trees of unequal shape, as LightGBM and XGBoost grow them."""
import random

import numpy as np
from onnx import helper

from skeleton import FLOAT, INT64, entry, floats, port


def grow(draw, leaves):
    """A tree with this number of leaves: lists of left and right children by number; -1 stands for a leaf."""
    left, right, open_nodes = [-1], [-1], [0]
    while len(open_nodes) < leaves:
        node = open_nodes.pop(draw.randrange(len(open_nodes)))
        left[node], right[node] = len(left), len(left) + 1
        open_nodes += [len(left), len(left) + 1]
        left += [-1, -1]
        right += [-1, -1]
    return left, right


def boosting(trees=500, leaves=31, features=28):
    draw = random.Random(500)
    fields = {name: [] for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    ends = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(trees):
        left, right = grow(draw, leaves)
        for node, child in enumerate(left):
            leaf = child < 0
            row = (tree, node, 0 if leaf else draw.randrange(features), "LEAF" if leaf else "BRANCH_LEQ", 0.0 if leaf else draw.uniform(-1.5, 1.5),
                   0 if leaf else child, 0 if leaf else right[node], 0)
            for values, value in zip(fields.values(), row):
                values.append(value)
            if leaf:
                for values, value in zip(ends.values(), (tree, node, 0, draw.uniform(-0.1, 0.1))):
                    values.append(value)
    attributes = {"nodes_" + name: values for name, values in fields.items()} | {"class_" + name: values for name, values in ends.items()}
    node = helper.make_node("TreeEnsembleClassifier", ["features"], ["label", "probabilities"], domain="ai.onnx.ml", classlabels_int64s=[0, 1],
                            base_values=[0.0], post_transform="LOGISTIC", **attributes)
    graph = helper.make_graph([node], "graph", [port("features", FLOAT, "rows", features)],
                              [port("label", INT64, "rows"), port("probabilities", FLOAT, "rows", 2)])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)])
    scenarios = {f"b{b}": [floats("features", b, features)] for b in (1, 64)}
    recipe = entry(model, {}, scenarios, kind="trees", precision="float32", dynamic={"features": {"0": "rows"}})
    return model, {**recipe, "params": int(np.sum([len(fields["values"]), len(ends["weights"])]))}
