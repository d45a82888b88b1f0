"""Graphs of operators that whole models need: codes that are made at run time, mixtures of experts, decision trees, and
LSTM of codes. cases() yields Case(name, model, runs, rule): `runs` is a list of {input: array}, `rule` the tolerance
relative to the greatest result.
"""
import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

KINDS = {"f32": (np.float32, 2e-5), "f16": (np.float16, 4e-3)}


@dataclasses.dataclass
class Case:
    name: str
    model: onnx.ModelProto
    runs: list
    rule: float
    reference: onnx.ModelProto = None  # of float32; the model itself without one


def model(nodes, inputs, outputs, constants):
    fixed = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    made_inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(t)), s) for n, t, s in inputs]
    graph = helper.make_graph(nodes, "cases", made_inputs, [helper.make_empty_tensor_value_info(n) for n in outputs], fixed)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid(d, v) for d, v in (("", 18), ("com.microsoft", 1), ("ai.onnx.ml", 5))])
    made.ir_version = 10
    return onnx.shape_inference.infer_shapes(made)


# ---- codes

def quantised():
    rng = np.random.default_rng(1)
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])
    made = model([node], [("x", np.float32, ["n", "m"])], ["y", "scale", "zero"], {})
    values = [rng.standard_normal(s).astype(np.float32) for s in ((1, 1), (3, 5), (7, 333), (1, 16384), (5, 3277), (64, 1025))]
    values += [np.abs(values[2]) + 1, -np.abs(values[2]), np.zeros((4, 4), np.float32), np.full((3, 3), 2.5, np.float32), values[5] * 1e6]
    values.append((np.arange(-256, 512, dtype=np.float32) / 2).reshape(2, -1))  # halves are rounded to even
    yield Case("quantise", made, [{"x": v} for v in values], 0)


def products(bias, columns, zeros):
    """What quantise_dynamic of ONNX Runtime makes of a product."""
    rng = np.random.default_rng(2)
    k, n = 48, columns
    constants = {"w": rng.integers(-128, 127, (k, n)).astype(np.int8), "w_scale": np.float32(0.01), "w_zero": np.int8(3 if zeros else 0), "b": rng.standard_normal(n).astype(np.float32)}
    if zeros:
        constants["w_scale"] = (rng.random(n) * 0.01 + 0.001).astype(np.float32)
        constants["w_zero"] = rng.integers(-5, 5, n).astype(np.int8)
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "x_scale", "x_zero"]),
             helper.make_node("MatMulInteger", ["q", "w", "x_zero", "w_zero"], ["sums"]),
             helper.make_node("Mul", ["x_scale", "w_scale"], ["scales"]),
             helper.make_node("Cast", ["sums"], ["real"], to=TensorProto.FLOAT),
             helper.make_node("Mul", ["real", "scales"], ["scaled"])]
    if bias:
        nodes.append(helper.make_node("Add", ["b", "scaled"], ["y"]))
    shapes = [(1, 1, k), (2, 3, k), (1, 9, k), (3, 43, k), (0, 2, k)]
    made = model(nodes, [("x", np.float32, ["batch", "rows", k])], ["y" if bias else "scaled"], constants)
    return Case(f"products_{bias}_{columns}_{zeros}", made, [{"x": rng.standard_normal(s).astype(np.float32)} for s in shapes], 1e-5)


def blocked(kind, axis, block, zeros, code):
    """A product with constant codes in blocks, and the codes as a result."""
    dtype, tolerance = KINDS[kind]
    rng = np.random.default_rng(12)
    k, n = 96, 45 if axis == 0 else 64
    low, high = (-8, 8) if code == TensorProto.INT4 else (0, 16) if code == TensorProto.UINT4 else (-128, 128)
    counts = [k // block, n] if axis == 0 and block else [k, n // block] if block else [n]
    draw = lambda name, shape: helper.make_tensor(name, code, shape, rng.integers(low, high, shape).flatten().tolist())
    fixed = [draw("w", [k, n]), numpy_helper.from_array((rng.random(counts) * 0.02 + 0.005).astype(dtype), "scale")] + ([draw("zero", counts)] if zeros else [])
    attributes = {"axis": axis if block else 1} | ({"block_size": block} if block else {})
    made_of = lambda out: helper.make_node("DequantizeLinear", ["w", "scale", "zero" if zeros else ""], [out], **attributes)
    nodes = [made_of("m"), helper.make_node("MatMul", ["x", "m"], ["y"]), made_of("p"), helper.make_node("Add", ["p", "one"], ["z"])]
    inputs = [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), ["b", k]), helper.make_tensor_value_info("one", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [1])]
    made = helper.make_model(helper.make_graph(nodes, "cases", inputs, [helper.make_empty_tensor_value_info(o) for o in "yz"], fixed), opset_imports=[helper.make_opsetid("", 21)])
    made.ir_version = 10
    runs = [{"x": rng.standard_normal((b, k)).astype(dtype), "one": np.ones(1, dtype)} for b in (1, 5, 40)]
    return Case(f"blocked_{kind}_{axis}_{block}_{zeros}_{code}", onnx.shape_inference.infer_shapes(made), runs, tolerance)


def all_blocked():
    for kind in KINDS:
        for code in (TensorProto.INT4, TensorProto.UINT4, TensorProto.INT8):
            for zeros in (False, True):
                yield blocked(kind, 0, 32, zeros, code)
            yield blocked(kind, 1, 16, True, code)
        yield blocked(kind, 0, 0, True, TensorProto.UINT4)


# ---- LSTM of codes

def lstm(direction, by_column, dtype, extras):
    rng = np.random.default_rng(3)
    d, inputs, hidden = (2 if direction == "bidirectional" else 1), 19, 37
    low, high = (-127, 127) if dtype == np.int8 else (0, 255)
    constants = {"w": rng.integers(low, high, (d, inputs, 4 * hidden)).astype(dtype), "r": rng.integers(low, high, (d, hidden, 4 * hidden)).astype(dtype),
                 "b": rng.standard_normal((d, 8 * hidden)).astype(np.float32) * np.float32(0.1), "p": rng.standard_normal((d, 3 * hidden)).astype(np.float32) * np.float32(0.1)}
    count = (d, 4 * hidden) if by_column else (d,)
    for name in "wr":
        constants[name + "_scale"] = (rng.random(count) * 0.004 + 0.001).astype(np.float32)
        constants[name + "_zero"] = np.full(count, 0 if dtype == np.int8 else 128, dtype)
    names = ["x", "w", "r", "b", "lengths" if extras else "", "h" if extras else "", "c" if extras else "", "p" if extras else "",
             "w_scale", "w_zero", "r_scale", "r_zero"]
    node = helper.make_node("DynamicQuantizeLSTM", names, ["y", "yh", "yc"], domain="com.microsoft", hidden_size=hidden, direction=direction)
    declared = [("x", np.float32, ["t", "n", inputs])]
    if extras:
        declared += [("lengths", np.int32, ["n"]), ("h", np.float32, [d, "n", hidden]), ("c", np.float32, [d, "n", hidden])]
    runs = []
    for t, n in ((1, 1), (6, 3), (4, 9)):
        run = {"x": rng.standard_normal((t, n, inputs)).astype(np.float32)}
        if extras:
            run |= {"lengths": np.full(n, t, np.int32), "h": rng.standard_normal((d, n, hidden)).astype(np.float32) * np.float32(0.5), "c": rng.standard_normal((d, n, hidden)).astype(np.float32)}
        runs.append(run)
    return Case(f"lstm_{direction}_{by_column}_{np.dtype(dtype)}_{extras}", model([node], declared, ["y", "yh", "yc"], constants), runs, 3e-3)


# ---- experts

def experts(name, kind="f32", bits=4, block=32, hidden=64, inner=96, count=5, k=2, zeros=False, bias=False, tokens=(1, 3, 16, 70), weighted=False, **attributes):
    dtype, rule = KINDS[kind]
    rng = np.random.default_rng(4)
    gated = attributes.get("activation_type", "relu") in ("swiglu", "geglu")
    fusion = attributes.get("swiglu_fusion", 0)
    constants, names = {}, ["x", "scores"] + [""] * 13

    def layer(at, zero_at, rows, columns):
        if bits == 0:
            constants[f"w{at}"] = (rng.standard_normal((count, rows, columns)) / columns**0.5).astype(dtype)
            names[at] = f"w{at}"
        else:
            constants[f"w{at}"] = rng.integers(0, 256, (count, rows, columns * bits // 8)).astype(np.uint8)
            blocks = columns // block if block else 1
            constants[f"s{at}"] = ((rng.random((count, rows, blocks) if block else (count, rows)) + 0.5) / 2**bits / columns**0.5).astype(dtype)
            names[at], names[at + 1] = f"w{at}", f"s{at}"
            if zeros:
                shape = (count, rows, -(-blocks * bits // 8)) if block else (count, -(-rows * bits // 8))
                constants[f"z{at}"], names[zero_at] = rng.integers(0, 256, shape).astype(np.uint8), f"z{at}"
        if bias:
            place = at + 1 + (bits > 0)
            constants[f"b{at}"], names[place] = rng.standard_normal((count, rows)).astype(dtype) * dtype(0.1), f"b{at}"

    step = 3 if bits else 2
    layer(2, 11, inner * (2 if gated and fusion else 1), hidden)
    layer(2 + step, 12, hidden, inner)
    if gated and not fusion:
        layer(2 + 2 * step, 13, inner, hidden)
    if weighted:
        names[14] = "weights"
    while not names[-1]:
        names.pop()
    if bits:
        attributes |= {"expert_weight_bits": bits} | ({"block_size": block} if block else {})
    def made(inputs_type, constants, **attributes):
        node = helper.make_node("QMoE" if bits else "MoE", used, ["y"], domain="com.microsoft", k=k, **attributes)
        inputs = [("x", inputs_type, ["n", hidden]), ("scores", inputs_type, ["n", count])] + ([("weights", inputs_type, ["n", count])] if weighted else [])
        return model([node], inputs, ["y"], constants)

    used = names
    whole = made(dtype, constants, **attributes)
    reference = None
    if kind == "f16":  # the CPU has gates in pairs of rows only, and no MoE of float16
        wide = {n: v.astype(np.float32) if v.dtype == dtype else v for n, v in constants.items()}
        if gated and fusion != 1:
            if fusion == 2:
                wide = {n: in_pairs(v[:, :inner], v[:, inner:]) if n in ("w2", "s2", "b2") else v for n, v in wide.items()}
            else:
                used = names[:2 + 2 * step]
                wide |= {n + "2": in_pairs(wide[n + "2"], wide[n + str(2 + 2 * step)]) for n in "ws" if n + "2" in wide}
                wide = {n: v for n, v in wide.items() if n in used}
            attributes["swiglu_fusion"] = 1
        reference = made(np.float32, wide, **attributes)
    runs = []
    for n in tokens:
        runs.append({"x": rng.standard_normal((n, hidden)).astype(dtype), "scores": rng.standard_normal((n, count)).astype(dtype)})
        if weighted:
            runs[-1]["weights"] = rng.random((n, count)).astype(dtype)
    if bits == 8 and block:
        rule = 3e-2  # the CPU rounds what it multiplies to 8 bits
    return Case(f"experts_{name}_{kind}", whole, runs, rule, reference)


def in_pairs(first, second):
    """Row i of both, one after the other."""
    return np.stack([first, second], 2).reshape(first.shape[0], -1, *first.shape[2:])


def all_experts():
    swiglu = {"activation_type": "swiglu", "swiglu_fusion": 1, "normalize_routing_weights": 1}
    yield experts("swiglu4", "f32", **swiglu)
    yield experts("swiglu8", "f32", bits=8, block=64, hidden=128, inner=64, **swiglu)
    yield experts("rows4", "f32", block=0, hidden=66, inner=70, **swiglu)
    yield experts("rows8", "f32", bits=8, block=0, hidden=37, inner=45, **swiglu)
    yield experts("zeros4", "f32", zeros=True, **swiglu)
    yield experts("zeros8", "f32", bits=8, zeros=True, bias=True, **swiglu)
    yield experts("row_zeros4", "f32", block=0, zeros=True, **swiglu)
    yield experts("limits", "f32", bias=True, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=0.5, **swiglu)
    yield experts("silu", "f32", k=3, bias=True, activation_type="silu", normalize_routing_weights=1)
    yield experts("many", "f32", count=40, k=4, tokens=(2, 33, 300), **swiglu)
    yield experts("plain_relu", "f32", bits=0, activation_type="relu", bias=True)
    yield experts("plain_gelu_odd", "f32", bits=0, hidden=37, inner=45, activation_type="gelu")
    yield experts("plain_swiglu", "f32", bits=0, **swiglu)
    for name, bits, more in (("plain_swiglu", 0, {}), ("plain_odd", 0, {"hidden": 37, "inner": 45}), ("swiglu4", 4, {}), ("zeros4", 4, {"zeros": True, "bias": True}),
                             ("swiglu8", 8, {"block": 64, "hidden": 128, "inner": 64}), ("rows8", 8, {"block": 0, "hidden": 80, "inner": 48})):
        yield experts(name, "f16", bits=bits, tokens=(1, 3, 70, 300), **more, **swiglu)
    yield experts("plain_silu", "f16", bits=0, hidden=200, inner=104, count=3, bias=True, tokens=(2, 600), activation_type="silu")
    yield experts("halves4", "f16", tokens=(40,), activation_type="swiglu", swiglu_fusion=2)
    yield experts("three4", "f16", tokens=(40,), activation_type="swiglu")
    yield experts("plain_three", "f16", bits=0, tokens=(40,), activation_type="swiglu")


# ---- trees

def grown(rng, features, targets, trees, modes, missing, depth, weights_of):
    """Lists of attributes of random trees."""
    lists = {k: [] for k in ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes", "nodes_truenodeids", "nodes_falsenodeids",
                             "nodes_missing_value_tracks_true", "trees", "nodes", "ids", "weights")}
    for tree in range(trees):
        waiting, next_id = [(0, 0)], 1
        while waiting:
            node, level = waiting.pop(0)
            leaf = level == depth or (level > 1 and rng.random() < 0.3)
            mode = "LEAF" if leaf else modes[int(rng.integers(len(modes)))]
            value = 0.0 if leaf else float(np.round(rng.standard_normal() * 2) / 2)
            yes, no = (0, 0) if leaf else (next_id, next_id + 1)
            for key, v in zip(list(lists)[:8], (tree, node, 0 if leaf else int(rng.integers(features)), value, mode, yes, no, int(missing and rng.random() < 0.5))):
                lists[key].append(v)
            if leaf:
                for target in weights_of(rng, targets):
                    for key, v in zip(("trees", "nodes", "ids", "weights"), (tree, node, int(target), float(rng.standard_normal()))):
                        lists[key].append(v)
            else:
                waiting += [(next_id, level + 1), (next_id + 1, level + 1)]
                next_id += 2
    return lists


ALL_MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def old_trees(name, classes=0, targets=1, trees=7, modes=("BRANCH_LEQ",), missing=False, dtype=np.float32, positive=False, rows=(1, 3, 300, 0), depth=5, one=False, bases=0, **attributes):
    rng = np.random.default_rng(5)
    count = classes or targets
    weights_of = (lambda r, n: [n - 1]) if one else (lambda r, n: sorted(r.permutation(n)[:max(1, n // 2 + 1)]))
    lists = grown(rng, 9, count, trees, list(modes), missing, depth, weights_of)
    if positive:
        lists["weights"] = [abs(w) / trees for w in lists["weights"]]
    prefix = "class" if classes else "target"
    for key in ("trees", "nodes", "ids", "weights"):
        values = lists.pop(key)
        lists[f"{prefix}_{key}" if key in ("ids", "weights") else f"{prefix}_{key[:-1]}ids"] = values
    if not missing:
        del lists["nodes_missing_value_tracks_true"]
    if bases:
        attributes["base_values"] = [float(v) for v in rng.standard_normal(bases)]
    labels = [0, 1] if classes == 2 else [3 * c - 2 for c in range(classes)]  # of two, official ONNX Runtime gives 0 and 1
    attributes |= {"classlabels_int64s": labels} if classes else {"n_targets": targets}
    outputs = ["label", "scores"] if classes else ["y"]
    node = helper.make_node("TreeEnsembleClassifier" if classes else "TreeEnsembleRegressor", ["x"], outputs, domain="ai.onnx.ml", **lists, **attributes)
    runs = []
    for n in rows:
        x = np.round(rng.standard_normal((n, 10)) * 4) / 2
        if missing and np.dtype(dtype).kind == "f":
            x[rng.random(x.shape) < 0.2] = np.nan
        runs.append({"x": x.astype(dtype)})
    made = model([node], [("x", dtype, ["n", 10])], outputs, {})
    made.opset_import[2].version = 3
    rule = 1e-3 if attributes.get("post_transform") == "PROBIT" else 2e-5  # a root of a small difference
    return Case(f"trees_{name}_{np.dtype(dtype)}", made, runs, rule)


def new_trees(name, dtype, aggregate, transform):
    """Two stumps of which one tests for members."""
    tensor = lambda values, kind=dtype: numpy_helper.from_array(np.asarray(values, kind))
    node = helper.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", n_targets=2, aggregate_function=aggregate, post_transform=transform, tree_roots=[0, 2],
                            nodes_featureids=[0, 1, 2], nodes_modes=tensor([0, 4, 6], np.uint8), nodes_splits=tensor([0.5, 1, 0]), nodes_truenodeids=[1, 0, 3],
                            nodes_trueleafs=[0, 1, 1], nodes_falsenodeids=[1, 2, 4], nodes_falseleafs=[1, 1, 1], leaf_targetids=[0, 1, 0, 1, 0],
                            leaf_weights=tensor([0.25, -1.5, 2, 0.75, -0.5]), membership_values=tensor([3, -1, 1, np.nan]))
    rng = np.random.default_rng(6)
    # Official ONNX Runtime tests whole numbers for membership, and has other numbers for SOFTMAX and LOGISTIC.
    runs = [{"x": (np.round(rng.standard_normal((n, 3)) * 4) / [2, 2, 1]).astype(dtype)} for n in (1, 5, 400)]
    return Case(f"trees_new_{name}_{np.dtype(dtype)}", model([node], [("x", dtype, ["n", 3])], ["y"], {}), runs, 2e-5)


def all_trees():
    for dtype in (np.float32, np.float64, np.int64, np.int32):
        classes = 3 if np.dtype(dtype).kind == "i" else 0
        yield old_trees("plain", classes, trees=70, dtype=dtype)
        yield old_trees("modes", classes, trees=30, targets=3, modes=ALL_MODES, missing=True, dtype=dtype)
    for aggregate in ("AVERAGE", "MIN", "MAX"):
        yield old_trees("aggregate_" + aggregate, targets=5, trees=40, aggregate_function=aggregate, bases=5)
    for transform in ("SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"):
        yield old_trees("transform_" + transform, targets=4, post_transform=transform, positive=transform == "PROBIT")
        yield old_trees("classes_" + transform, classes=4, post_transform=transform, positive=transform == "PROBIT")
    yield old_trees("many", trees=3000, depth=3, targets=2)
    yield old_trees("many_targets", trees=20, targets=300)
    yield old_trees("classes", classes=3, trees=50, modes=ALL_MODES, bases=3)
    yield old_trees("classes_wide", classes=3, trees=50, dtype=np.float64)
    for one in (False, True):
        for positive in (False, True):
            for transform in ("NONE", "LOGISTIC"):
                yield old_trees(f"two_{one}_{positive}_{transform}", classes=2, one=one, positive=positive, post_transform=transform)
    yield old_trees("two_base", classes=2, one=True, bases=1, post_transform="LOGISTIC")
    for dtype in (np.float32, np.float64):
        for aggregate in range(4):
            yield new_trees(f"aggregate_{aggregate}", dtype, aggregate, 0)
        yield new_trees("softmax_zero", dtype, 1, 3)


# ---- states and spectra

def linear_attention(rule, queries, states, keys, values, each, one_beta, kind="f32"):
    dtype, tolerance = KINDS[kind]
    rng = np.random.default_rng(9)
    decays, corrects = rule.startswith("gated"), "delta" in rule
    names = ["q", "k", "v", "past", "decay" if decays else "", "beta" if corrects else ""]
    node = helper.make_node("LinearAttention", names, ["y", "present"], domain="com.microsoft", q_num_heads=queries, kv_num_heads=states, update_rule=rule)
    widths = {"q": queries * keys, "k": states * keys, "v": states * values, "decay": states * (keys if each else 1), "beta": 1 if one_beta else states}
    inputs = [(n, dtype, ["b", "t", widths[n]]) for n in names if n in widths] + [("past", dtype, ["b", states, keys, values])]
    runs = []
    for b, t in ((1, 1), (2, 7), (1, 40)):
        run = {n: rng.standard_normal((b, t, widths[n])).astype(dtype) * dtype(keys**-0.5 if n in "qk" else 1) for n in names if n in widths}
        run["past"] = rng.standard_normal((b, states, keys, values)).astype(dtype)
        if decays:
            run["decay"] = -np.abs(run["decay"])
        if corrects:
            run["beta"] = (1 / (1 + np.exp(-run["beta"]))).astype(dtype)
        runs.append(run)
    return Case(f"linear_attention_{rule}_{queries}_{states}_{keys}_{each}_{one_beta}_{kind}", model([node], inputs, ["y", "present"], {}), runs, tolerance)


def causal_conv(taps, activation, bias):
    rng = np.random.default_rng(10)
    node = helper.make_node("CausalConvWithState", ["x", "w", "b" if bias else "", "past"], ["y", "present"], domain="com.microsoft", activation=activation)
    constants = {"w": rng.standard_normal((5, 1, taps)).astype(np.float32)} | ({"b": rng.standard_normal(5).astype(np.float32)} if bias else {})
    made = model([node], [("x", np.float32, ["n", 5, "t"]), ("past", np.float32, ["n", 5, taps - 1])], ["y", "present"], constants)
    runs = [{"x": rng.standard_normal((n, 5, t)).astype(np.float32), "past": rng.standard_normal((n, 5, taps - 1)).astype(np.float32)} for n, t in ((1, 1), (3, 2), (2, 300))]
    return Case(f"causal_conv_{taps}_{activation}_{bias}", made, runs, 1e-5)


def spectra(length, step, onesided, window):
    rng = np.random.default_rng(11)
    constants = {"step": np.int64(step), "length": np.int64(length)} | ({"w": np.hanning(length).astype(np.float32)} if window else {})
    node = helper.make_node("STFT", ["x", "step", "w" if window else "", "length"], ["y"], onesided=onesided)
    runs = [{"x": rng.standard_normal((b, t, 1)).astype(np.float32)} for b, t in ((1, length), (3, 5 * length + 3))]
    rule = 1e-5 if length & (length - 1) == 0 else 1e-3  # the CPU rounds other lengths more often
    return Case(f"stft_{length}_{onesided}_{window}", model([node], [("x", np.float32, ["b", "t", 1])], ["y"], constants), runs, rule)


def all_states():
    yield linear_attention("gated_delta", 2, 2, 37, 45, False, False)
    yield linear_attention("gated_delta", 4, 2, 128, 64, True, True, "f16")
    yield linear_attention("delta", 6, 2, 300, 33, False, True)
    yield linear_attention("gated", 2, 2, 64, 64, True, False)
    yield linear_attention("linear", 4, 4, 16, 20, False, False, "f16")
    for bias in (False, True):
        yield causal_conv(4, "silu", bias)
        yield causal_conv(2, "none", bias)
    for length in (16, 25, 400):
        yield spectra(length, length // 3, 1, True)
        yield spectra(length, length, 0, False)


def cases():
    yield from quantised()
    for bias in (False, True):
        for columns in (16, 37):
            for zeros in (False, True):
                yield products(bias, columns, zeros)
    yield from all_blocked()
    for direction in ("forward", "reverse", "bidirectional"):
        yield lstm(direction, False, np.int8, False)
        yield lstm(direction, True, np.uint8, True)
    yield from all_experts()
    yield from all_trees()
    yield from all_states()
