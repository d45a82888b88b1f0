#!/usr/bin/env python3
"""Writes the skeletons of five quantised models and their recipes: a decoder with weights of 2 bits, one whose weights
of 4 bits come from DequantizeLinear, and one with experts of 4 bits, all after llama_genai_int4; a text encoder whose
attention is quantised by QDQ; and layers of DynamicQuantizeLSTM."""
import copy
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from skeleton import FLOAT, INT8, MICROSOFT, UINT4, UINT8, Skeleton, entry, port

HERE = os.path.dirname(os.path.abspath(__file__))
RECIPES = os.path.join(HERE, "recipes.json")


def two_bits(base, recipe):
    """The decoder of 4 bits with weights of 2. Zero points are 1 and 2 in turn: the codes have the mean 1.5."""
    model, fill, s = copy.deepcopy(base), dict(recipe["fill"]), Skeleton()
    for node in model.graph.node:
        if node.op_type != "MatMulNBits":
            continue
        facts = {attribute.name: attribute for attribute in node.attribute}
        facts["bits"].i = 2
        zeros = node.input[1].replace("qweight", "zeros")
        node.input.append(s.weight(zeros, UINT8, [facts["N"].i, facts["K"].i // 32 // 4], ["c", 0b10011001]))
    for tensor in model.graph.initializer:
        if tensor.name.endswith(".qweight"):
            tensor.dims[2] //= 2
            fill[tensor.name] = ["i", 0, 256]
        elif tensor.name.endswith(".scales"):  # codes of 2 bits have a smaller deviation than those of 4
            fill[tensor.name] = ["u", *(x * 2.6 / 1.118 for x in fill[tensor.name][1:])]
    model.graph.initializer.extend(s.initializers)
    return model, fill | s.fill


def by_dequantizing(base, recipe):
    """The decoder of 4 bits as products of floats by DequantizeLinear of [K, N] codes."""
    model, fill, s = copy.deepcopy(base), dict(recipe["fill"]), Skeleton()
    for node in base.graph.node:
        if node.op_type != "MatMulNBits":
            s.nodes.append(copy.deepcopy(node))
            continue
        facts = {attribute.name: attribute for attribute in node.attribute}
        k, n, block = facts["K"].i, facts["N"].i, facts["block_size"].i
        x, codes, scales = node.input
        zeros = codes.replace("qweight", "zeros")
        inputs = [s.weight(codes, UINT4, [k, n], fill[codes]), s.weight(scales, FLOAT, [k // block, n], fill[scales]),
                  s.weight(zeros, UINT4, [k // block, n], ["c", 0x88])]
        weight = s.node("DequantizeLinear", inputs, [codes.replace("qweight", "weight")], axis=0, block_size=block)
        s.node("MatMul", [x, weight], list(node.output))
    kept = [t for t in model.graph.initializer if t.name not in s.fill]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(s.nodes)
    model.graph.initializer.extend(kept + s.initializers)
    return model, fill | s.fill


EXPERTS, INNER, WIDTH = 8, 1024, 768


def experts(base, recipe):
    """The decoder of 4 bits with a choice of two of eight experts in each layer. Products are computed in float: rows that are rounded in
    different places may choose other experts."""
    model, fill = copy.deepcopy(base), dict(recipe["fill"])
    s = Skeleton()
    dropped = {"Sigmoid", "Mul"}
    for node in base.graph.node:
        layer = node.output[0].split(".")[0].split("/")[0]
        if node.op_type in dropped or (node.op_type == "MatMulNBits" and node.output[0].endswith((".up/out", ".down/out"))):
            if node.op_type == "MatMulNBits" and node.output[0].endswith(".down/out"):
                add_experts(s, layer)
            continue
        if not node.output[0].endswith(".gate/out"):
            s.nodes.append(copy.deepcopy(node))
            for attribute in s.nodes[-1].attribute:
                if attribute.name == "accuracy_level":
                    attribute.i = 0
    gone = (".gate.qweight", ".gate.scales", ".up.qweight", ".up.scales", ".down.qweight", ".down.scales")
    kept = [t for t in model.graph.initializer if not t.name.endswith(gone)]
    fill = {name: value for name, value in fill.items() if not name.endswith(gone)} | s.fill
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(s.nodes)
    model.graph.initializer.extend([*kept, *s.initializers, numpy_helper.from_array(np.array([-1, EXPERTS], np.int64), "router_shape")])
    return model, fill


def add_experts(s, layer):
    x, at = f"{layer}.n2/out", f"{layer}.moe"
    scores = s.node("MatMul", [x, s.weight(at + ".router", FLOAT, [WIDTH, EXPERTS], ["n", 0, 0.05])], [at + "/scores"])
    flat = s.node("Reshape", [scores, "router_shape"], [at + "/flat"])
    inputs = [x, flat]
    for name, rows, columns in (("fc1", 2 * INNER, WIDTH), ("fc2", WIDTH, INNER)):
        inputs += [s.weight(f"{at}.{name}.qweight", UINT8, [EXPERTS, rows, columns // 2], ["nib", 8, 2.6]),
                   s.weight(f"{at}.{name}.scales", FLOAT, [EXPERTS, rows, columns // 32], ["u", 0.0111, 0.0167]), ""]
    s.node("QMoE", inputs[:-1], [f"{layer}.down/out"], MICROSOFT, k=2, activation_type="swiglu", swiglu_fusion=1, normalize_routing_weights=1,
           activation_alpha=1.0, activation_beta=0.0, expert_weight_bits=4, block_size=32)


def codes(s, x, scale, zero=128):
    """x, rounded to uint8."""
    parameters = [s.constant(x + "/scale", np.float32(scale)), s.constant(x + "/zero", np.uint8(zero))]
    q = s.node("QuantizeLinear", [x, *parameters], [x + "/q"])
    return s.node("DequantizeLinear", [q, *parameters], [x + "/dq"])


def dense(s, name, x, rows, columns, scale):
    weight = s.weight(name + ".weight", INT8, [rows, columns], ["q", 0, 40])
    scales = s.weight(name + ".scales", FLOAT, [columns], ["u", 0.9 / 40 / rows ** 0.5, 1.1 / 40 / rows ** 0.5])
    zeros = s.constant(name + ".zeros", np.zeros(columns, np.int8))
    w = s.node("DequantizeLinear", [weight, scales, zeros], [name + "/weight"], axis=1)
    product = s.node("MatMul", [x, w], [name + "/product"])
    y = s.node("Add", [product, s.weight(name + ".bias", FLOAT, [columns], ["n", 0, 0.05])], [name + "/out"])
    return codes(s, y, scale)


def norm(s, name, x, width):
    inputs = [x, s.weight(name + ".weight", FLOAT, [width], ["u", 0.8, 1.2]), s.weight(name + ".bias", FLOAT, [width], ["n", 0, 0.05])]
    return s.node("LayerNormalization", inputs, [name + "/out"], axis=-1, epsilon=1e-5)


def encoder(layers=6, width=384, heads=12, inner=1536, words=30522):
    s = Skeleton()
    size = width // heads
    split, merged = s.constant("split", np.array([0, 0, heads, size], np.int64)), s.constant("merged", np.array([0, 0, width], np.int64))
    rows = s.node("Gather", [s.weight("words", FLOAT, [words, width], ["n", 0, 1]), "input_ids"], ["rows"])
    x = norm(s, "embedding_norm", rows, width)
    factor = s.constant("factor", np.float32(size ** -0.5))
    for layer in range(layers):
        at = f"layer.{layer}."
        xq = codes(s, x, 4 / 127)
        q, k, v = (dense(s, at + part, xq, width, width, 4 / 127) for part in "qkv")
        q, k, v = (s.node("Transpose", [s.node("Reshape", [part, split], [part + "/split"])], [part + "/heads"], perm=perm)
                   for part, perm in ((q, [0, 2, 1, 3]), (k, [0, 2, 3, 1]), (v, [0, 2, 1, 3])))
        scores = codes(s, s.node("MatMul", [q, k], [at + "scores"]), 25 / 127)
        weights = s.node("Softmax", [s.node("Mul", [scores, factor], [at + "scaled"])], [at + "weights"], axis=-1)
        y = codes(s, s.node("MatMul", [codes(s, weights, 1 / 255, 0), v], [at + "mixed"]), 2 / 127)
        y = s.node("Reshape", [s.node("Transpose", [y], [at + "mixed/rows"], perm=[0, 2, 1, 3]), merged], [at + "mixed/merged"])
        x = norm(s, at + "norm1", s.node("Add", [x, dense(s, at + "o", y, width, width, 2 / 127)], [at + "sum1"]), width)
        hidden = s.node("Gelu", [dense(s, at + "up", codes(s, x, 4 / 127), width, inner, 4 / 127)], [at + "gelu"])
        change = dense(s, at + "down", codes(s, hidden, 4 / 127), inner, width, 4 / 127)
        x = norm(s, at + "norm2", s.node("Add", [x, change], [at + "sum2"]), width)
    s.nodes[-1].output[0] = "hidden"
    return s.model([port("input_ids", TensorProto.INT64, "batch", "sequence")], [port("hidden", FLOAT, "batch", "sequence", width)]), s.fill


def recurrent(inputs=80, hidden=512, classes=29):
    s = Skeleton()
    x = s.node("Transpose", ["features"], ["steps"], perm=[1, 0, 2])
    axis = s.constant("axis", np.array([1], np.int64))
    for layer, width in enumerate((inputs, hidden)):
        at = f"lstm.{layer}"
        w = s.weight(at + ".W", INT8, [1, width, 4 * hidden], ["q", 0, 40])
        r = s.weight(at + ".R", INT8, [1, hidden, 4 * hidden], ["q", 0, 40])
        bias = s.weight(at + ".B", FLOAT, [1, 8 * hidden], ["n", 0, 0.05])
        parameters = []
        for name, rows in (("W", width), ("R", hidden)):
            parameters += [s.constant(f"{at}.{name}.scale", np.array([1 / 40 / rows ** 0.5], np.float32)),
                           s.constant(f"{at}.{name}.zero", np.zeros(1, np.int8))]
        y = s.node("DynamicQuantizeLSTM", [x, w, r, bias, "", "", "", "", *parameters], [at + "/out"], MICROSOFT, hidden_size=hidden)
        x = s.node("Squeeze", [y, axis], [at + "/squeezed"])
    logits = s.node("MatMul", [x, s.weight("head", FLOAT, [hidden, classes], ["n", 0, 0.2])], ["logits"])
    s.node("LogSoftmax", [logits], ["probabilities"], axis=-1)
    return s.model([port("features", FLOAT, "batch", "steps_", inputs)], [port("probabilities", FLOAT, "steps_", "batch", classes)]), s.fill


def models(recipes):
    """Yields (name, model, recipe)."""
    base, recipe = onnx.load(os.path.join(HERE, "skeletons", "llama_genai_int4.onnx")), recipes["llama_genai_int4"]
    decoder = {"kind": "decoder", "dynamic": recipe["dynamic"]}
    model, fill = two_bits(base, recipe)
    yield "llama_genai_int2", model, entry(model, fill, recipe["scenarios"], precision="int2", tolerance=0.4, packing={"qweight": 4}, **decoder)
    model, fill = by_dequantizing(base, recipe)
    scenarios = {name: recipe["scenarios"][name] for name in ("prefill128", "decode_p127")}
    yield "llama_genai_qdq4", model, entry(model, fill, scenarios, precision="int4", tolerance=0.15, **decoder)
    model, fill = experts(base, recipe)
    yield "moe_genai_int4", model, entry(model, fill, recipe["scenarios"], precision="int4", tolerance=0.15, packing={"qweight": 2}, **decoder)
    model, fill = encoder()
    scenarios = {f"b{b}s{n}": [{"name": "input_ids", "type": "int64", "shape": [b, n], "gen": ["i", 0, 30522]}] for b, n in ((1, 128), (8, 128))}
    yield "minilm_like_qdq", model, entry(model, fill, scenarios, kind="encoder", precision="int8", tolerance=0.3,
                                          dynamic={"input_ids": {"0": "batch", "1": "sequence"}})
    model, fill = recurrent()
    scenarios = {f"b{b}t100": [{"name": "features", "type": "float32", "shape": [b, 100, 80], "gen": ["n", 0, 1]}] for b in (1, 4)}
    yield "lstm_int8", model, entry(model, fill, scenarios, kind="recurrent", precision="int8", tolerance=0.1,
                                    dynamic={"features": {"0": "batch", "1": "steps_"}})


def main():
    with open(RECIPES, encoding="utf-8") as f:
        text = f.read()
    recipes = json.loads(text)["models"]
    lines = []
    for name, model, recipe in models(recipes):
        onnx.save(model, os.path.join(HERE, "skeletons", name + ".onnx"))
        if name not in recipes:
            lines.append(f",\n{json.dumps(name)}: {json.dumps(recipe)}")
    at = text.rindex("}}")
    with open(RECIPES, "w", encoding="utf-8") as f:
        f.write(text[:at].rstrip() + "".join(lines) + "\n" + text[at:])


if __name__ == "__main__":
    main()
