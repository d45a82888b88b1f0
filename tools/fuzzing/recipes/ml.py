"""Operators of ai.onnx.ml."""
import numpy as np

import numbers_of
from case import Refused

from . import recipe


def rows(case, low=1):
    return (case.dim(low, 4), case.dim(1, 5))


def matrix(case, shape, variable="T"):
    return case.input(variable, shape, "small" if case.maybe(0.3) else "normal")


@recipe("ai.onnx.ml:ArrayFeatureExtractor")
def array_feature_extractor(case):
    n, c = rows(case)
    case.input("T", (n, c))
    case.give(case.numbers.generator.integers(0, c + case.odd(), (1, case.dim(1, 4))).astype(np.int64))


@recipe("ai.onnx.ml:Binarizer")
def binarizer(case):
    case.attr("threshold", case.pick(0.0, 0.5, -1.0), 0.7)
    matrix(case, case.shape(1, 3))


@recipe("ai.onnx.ml:CastMap")
def cast_map(case):
    text = case.kernel.get("T1", [""])[0].endswith("tensor(string))") or case.maybe()
    keys = np.array(sorted(case.r.sample(range(8), case.dim(1, 4))), np.int64)
    values = case.numbers.array(1, keys.shape, "normal") if not text else np.array([str(i) for i in range(len(keys))], object)
    to = case.attr("cast_to", case.pick("TO_FLOAT", "TO_INT64", "TO_STRING"), 0.8)
    case.attr("map_form", case.pick("DENSE", "SPARSE"), 0.6), case.attr("max_map", 9)
    of = {"TO_INT64": 7, "TO_STRING": 8}.get(to, 1)
    case.chosen["T2"] = of
    case.give(("map", numbers_of.to_wire(keys), numbers_of.to_wire(values)), type=f"map(int64,tensor({'string' if text else 'float'}))")


@recipe("ai.onnx.ml:CategoryMapper")
def category_mapper(case):
    case.attr("cats_int64s", [0, 1, 2, 3]), case.attr("cats_strings", ["a", "b", "ab", "A"])
    case.attr("default_int64", -1, 0.6), case.attr("default_string", "_", 0.6)
    of = case.elem("T1")
    case.input("T1", case.shape(0, 3), "small")
    case.chosen["T2"] = 7 if of == 8 else 8


@recipe("ai.onnx.ml:DictVectorizer")
def dict_vectorizer(case):
    from_string = case.maybe()
    keys = np.array(["a", "b", "c"][:case.dim(1, 3)], object) if from_string else np.arange(case.dim(1, 3), dtype=np.int64)
    case.attr("string_vocabulary", ["b", "a", "zz"]) if from_string else case.attr("int64_vocabulary", [2, 0, 9])
    name, of = case.pick(("float", 1), ("double", 11), ("int64" if from_string else "double", 7 if from_string else 11))
    case.chosen["T2"] = of
    values = case.numbers.array(of, keys.shape, "normal")
    case.give(("map", numbers_of.to_wire(keys), numbers_of.to_wire(values)), type=f"map({'string' if from_string else 'int64'},tensor({name}))")


@recipe("ai.onnx.ml:FeatureVectorizer")
def feature_vectorizer(case):
    n, widths = case.dim(1, 3), [case.dim(1, 4) for _ in range(case.dim(1, 3))]
    case.attr("inputdimensions", widths)
    for width in widths:
        case.input("T1", (n, width), "normal")


@recipe("ai.onnx.ml:Imputer")
def imputer(case):
    of, (n, c) = case.elem("T"), rows(case)
    many = case.pick(1, c)
    if of in (1, 11):
        case.attr("imputed_value_floats", [float(i) for i in range(many)])
        case.attr("replaced_value_float", case.pick(0.0, float("nan"), 1.0), 0.7)
    else:
        case.attr("imputed_value_int64s", list(range(many))), case.attr("replaced_value_int64", case.dim(-1, 1), 0.7)
    case.input("T", (n, c), "small")


@recipe("ai.onnx.ml:LabelEncoder")
def label_encoder(case):
    if case.version.since == 1:
        case.attr("classes_strings", ["a", "b", "ab"]), case.attr("default_int64", -7, 0.5), case.attr("default_string", "_", 0.5)
        case.chosen["T2"] = 7 if case.elem("T1") == 8 else 8
        case.input("T1", case.shape(0, 3), "small")
        return
    names, twice = {8: "strings", 7: "int64s", 1: "floats"}, case.maybe(0.2)
    source, to = case.elem("T1"), case.elem("T2")
    for side, of in (("keys", source), ("values", to)):
        values = {8: ["a", "b", "ab"], 7: [0, 1, -2], 1: [0.0, 1.0, float("nan") if side == "keys" and case.maybe(0.2) else -2.0]}
        if of in names and not (side == "keys" and case.version.since >= 4 and source not in names):
            again = [values[of][0] if side == "keys" else {8: "again", 7: 50, 1: 50.0}[of]] if twice else []
            case.attr(f"{side}_{names[of]}", values[of] + again)
        elif case.has_attr(f"{side}_tensor"):
            case.attr(f"{side}_tensor", np.array([0, 1, 2] + ([0 if side == "keys" else 50] if twice else [])).astype(numbers_of.dtype(of)))
        else:
            raise Refused("no keys of this type")
    case.attr("default_int64", -7, 0.4), case.attr("default_float", 0.5, 0.4), case.attr("default_string", "_", 0.4)
    case.input("T1", case.shape(0, 3), "small")


def coefficients(case, count):
    return [case.r.uniform(-2, 2) for _ in range(count)]


def labels(case, count):
    """Sets the class labels, integers or strings, and returns their element type."""
    if case.maybe():
        case.attr("classlabels_ints" if case.has_attr("classlabels_ints") else "classlabels_int64s", list(range(10, 10 + count)))
        return 7
    case.attr("classlabels_strings", [f"c{i}" for i in range(count)])
    return 8


def bound_scores(case, x):
    """The scale of sums of coefficients times a row of x."""
    weights = np.abs(np.reshape(case.attributes["coefficients"], (-1, x.shape[1])))
    terms = np.abs(np.nan_to_num(x.astype(np.float64), posinf=0, neginf=0)) @ weights.T
    case.scale = max(1.0, float(terms.max(initial=0)))


@recipe("ai.onnx.ml:LinearClassifier")
def linear_classifier(case):
    (n, c), classes = rows(case), case.dim(2, 4)
    case.attr("coefficients", coefficients(case, classes * c)), case.attr("intercepts", coefficients(case, classes))
    case.attr("post_transform", case.pick("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT" if case.odd() else "NONE"), 0.7)
    case.attr("multi_class", case.dim(0, 1), 0.3)
    case.chosen["T2"] = labels(case, classes)
    bound_scores(case, matrix(case, (n, c), "T1"))


@recipe("ai.onnx.ml:LinearRegressor")
def linear_regressor(case):
    (n, c), targets = rows(case), case.dim(1, 3)
    case.attr("coefficients", coefficients(case, targets * c)), case.attr("intercepts", coefficients(case, targets), 0.8)
    case.attr("targets", targets)
    case.attr("post_transform", case.pick("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"), 0.5)
    bound_scores(case, matrix(case, (n, c)))


@recipe("ai.onnx.ml:Normalizer")
def normalizer(case):
    case.attr("norm", case.pick("MAX", "L1", "L2"), 0.8)
    matrix(case, rows(case))


@recipe("ai.onnx.ml:OneHotEncoder")
def one_hot_encoder(case):
    case.attr("cats_strings", ["a", "b", "ab"]) if case.elem("T") == 8 else case.attr("cats_int64s", [0, 1, 2, -1])
    case.attr("zeros", 1 if case.maybe(0.8) else 0, 0.8)
    case.input("T", case.extents(1, 2), "small")


@recipe("ai.onnx.ml:Scaler")
def scaler(case):
    n, c = rows(case)
    many = case.pick(1, c)
    case.attr("offset", coefficients(case, many)), case.attr("scale", coefficients(case, many))
    matrix(case, (n, c))


def kernel(case):
    case.attr("kernel_type", case.pick("LINEAR", "POLY", "RBF", "SIGMOID"), 0.9)
    case.attr("kernel_params", [case.r.uniform(0.1, 1), case.r.uniform(0, 1), float(case.dim(1, 3))])


def bound_sums(case, x):
    """Sets the scale to a bound of the terms of a score, if scores are what the operator returns."""
    attributes = case.attributes
    transform, two_classes = attributes.get("post_transform", "NONE"), len(attributes["rho"]) == 1
    kept = transform == "NONE" or transform.startswith("SOFTMAX") and two_classes  # the softmax of a single score is not taken
    if not kept or "prob_a" in attributes:
        return
    gamma, offset, degree = attributes["kernel_params"]
    vectors = np.abs(np.array(attributes["support_vectors"]).reshape(-1, x.shape[1]))
    products = np.abs(x.astype(np.float64)) @ vectors.T
    kernels = {"LINEAR": products, "POLY": (gamma * products + abs(offset)) ** degree}.get(attributes.get("kernel_type", "LINEAR"), np.ones(1))
    most = np.max(kernels, initial=0) * np.sum(np.abs(attributes["coefficients"])) + np.max(np.abs(attributes["rho"]))
    case.scale = float(most) if np.isfinite(most) else 0.0


@recipe("ai.onnx.ml:SVMRegressor")
def svm_regressor(case):
    (n, c), vectors = rows(case), case.dim(1, 4)
    kernel(case)
    case.attr("n_supports", vectors), case.attr("support_vectors", coefficients(case, vectors * c))
    case.attr("coefficients", coefficients(case, vectors)), case.attr("rho", coefficients(case, 1)), case.attr("one_class", 1, 0.2)
    bound_sums(case, matrix(case, (n, c)))


@recipe("ai.onnx.ml:SVMClassifier")
def svm_classifier(case):
    (n, c), classes = rows(case), case.dim(2, 3)
    each = [case.dim(1, 3) for _ in range(classes)]
    kernel(case)
    total, pairs = sum(each), classes * (classes - 1) // 2
    case.attr("vectors_per_class", each), case.attr("support_vectors", coefficients(case, total * c))
    case.attr("coefficients", coefficients(case, total * (classes - 1))), case.attr("rho", coefficients(case, pairs))
    if case.maybe():
        case.attr("prob_a", coefficients(case, pairs)), case.attr("prob_b", coefficients(case, pairs))
    case.attr("post_transform", case.pick("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"), 0.4)
    case.chosen["T2"] = labels(case, classes)
    bound_sums(case, matrix(case, (n, c), "T1"))


def tree(case, number, features, modes):
    """Nodes of a small tree, as lists by attribute."""
    leaf_count = case.dim(1, 4)
    nodes, open_leaves = [], [0]
    count = 1
    branch = {}
    while len(open_leaves) < leaf_count:
        at = open_leaves.pop(case.r.randrange(len(open_leaves)))
        branch[at] = (count, count + 1)
        open_leaves += [count, count + 1]
        count += 2
    for i in range(count):
        left, right = branch.get(i, (0, 0))
        nodes.append((number, i, case.r.randrange(features), round(case.r.uniform(-1, 1), 1), case.r.choice(modes) if i in branch else "LEAF", left, right))
    return nodes, [i for i in range(count) if i not in branch]


@recipe("ai.onnx.ml:TreeEnsembleClassifier ai.onnx.ml:TreeEnsembleRegressor")
def tree_ensemble(case):
    classifier = case.operator.name.endswith("Classifier")
    (n, c), targets = rows(case), case.dim(1, 3) + (1 if classifier else 0)
    modes = ("BRANCH_LEQ",) if case.maybe() else ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
    nodes, leaves = [], []
    for t in range(case.dim(1, 4)):
        made, own = tree(case, t, c, modes)
        nodes += made
        leaves += [(t, leaf, case.r.randrange(targets), case.r.uniform(-1, 1)) for leaf in own]
    names = ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes", "nodes_truenodeids", "nodes_falsenodeids")
    for name, column in zip(names, zip(*nodes)):
        case.attr(name, list(column))
    prefix = "class" if classifier else "target"
    for name, column in zip(("treeids", "nodeids", "ids", "weights"), zip(*leaves)):
        case.attr(f"{prefix}_{name}", list(column))
    case.attr("nodes_missing_value_tracks_true", [case.dim(0, 1) for _ in nodes], 0.3)
    case.attr("post_transform", case.pick("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"), 0.5)
    case.attr("base_values", coefficients(case, targets), 0.4)
    if classifier:
        case.chosen["T2"] = labels(case, targets)
    else:
        case.attr("n_targets", targets), case.attr("aggregate_function", case.pick("SUM", "AVERAGE", "MIN", "MAX"), 0.7)
    matrix(case, (n, c), "T1" if classifier else "T")


@recipe("ai.onnx.ml:TreeEnsemble")
def tree_ensemble_5(case):
    of, (n, c), targets = case.elem("T"), rows(case), case.dim(1, 3)
    trees, leaf_targets, leaf_weights, columns = case.dim(1, 3), [], [], ([], [], [], [], [], [], [])
    roots = []
    for _ in range(trees):
        roots.append(len(columns[0]))
        for _ in range(1):  # a root with two leaves
            columns[0].append(case.r.randrange(c)), columns[1].append(case.r.uniform(-1, 1)), columns[2].append(case.r.randint(0, 5))
            for side in (3, 5):
                columns[side].append(len(leaf_targets)), columns[side + 1].append(1)
                leaf_targets.append(case.r.randrange(targets)), leaf_weights.append(case.r.uniform(-1, 1))
    dtype = numbers_of.dtype(of)
    case.attr("tree_roots", roots), case.attr("n_targets", targets), case.attr("nodes_featureids", columns[0])
    case.attr("nodes_splits", np.array(columns[1]).astype(dtype)), case.attr("nodes_modes", np.array(columns[2], np.uint8))
    case.attr("nodes_truenodeids", columns[3]), case.attr("nodes_trueleafs", columns[4])
    case.attr("nodes_falsenodeids", columns[5]), case.attr("nodes_falseleafs", columns[6])
    case.attr("leaf_targetids", leaf_targets), case.attr("leaf_weights", np.array(leaf_weights).astype(dtype))
    case.attr("aggregate_function", case.dim(0, 3), 0.7), case.attr("post_transform", case.pick(0, 0, 1, 2, 3), 0.6)
    matrix(case, (n, c))


@recipe("ai.onnx.ml:ZipMap")
def zip_map(case):
    classes = case.dim(1, 4)
    if case.maybe():
        case.attr("classlabels_int64s", list(range(classes)))
        case.output_types[0] = "seq(map(int64,tensor(float)))"
    else:
        case.attr("classlabels_strings", [f"c{i}" for i in range(classes)])
        case.output_types[0] = "seq(map(string,tensor(float)))"
    case.input("float", (case.dim(1, 3), classes + case.odd()))
