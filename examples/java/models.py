#!/usr/bin/env python3
"""Makes the models of these examples, beside this file (needs the onnx package)."""
import os

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh

HERE = os.path.dirname(os.path.abspath(__file__))
DIGITS = os.path.join(HERE, "..", "digits")


def save(name, graph, *domains):
    opsets = [h.make_opsetid("", 17)] + [h.make_opsetid(d, 1) for d in domains]
    onnx.save(h.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="retort examples"), os.path.join(HERE, name))


def tensor(name, *shape, of=T.FLOAT):
    return h.make_tensor_value_info(name, of, shape)


def templates():
    """Finds the digit whose mean picture is nearest, by a product and Softmax, which every device supports."""
    images = np.load(os.path.join(DIGITS, "heldout_images.npy")).reshape(-1, 64) / np.float32(16)
    labels = np.load(os.path.join(DIGITS, "heldout_labels.npy"))
    means = np.stack([images[labels == digit].mean(0) for digit in range(10)])
    weights = [nh.from_array((2 * means.T).astype(np.float32), "weights"), nh.from_array((-(means**2).sum(1)).astype(np.float32), "bias")]
    nodes = [h.make_node("Gemm", ["image", "weights", "bias"], ["nearness"]), h.make_node("Softmax", ["nearness"], ["probabilities"], axis=-1)]
    save("templates.onnx", h.make_graph(nodes, "templates", [tensor("image", 1, 64)], [tensor("probabilities", 1, 10)], weights))


def decoder(layers=2, heads=4, width=32, vocabulary=50):
    """A small decoder with random weights, with one token per step; its caches have a fixed capacity."""
    made = np.random.default_rng(11)
    weights, nodes = [], [h.make_node("Gather", ["embedding", "token"], ["x0"])]

    def weight(name, *shape):
        weights.append(nh.from_array((made.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32), name))
        return name

    weight("embedding", vocabulary, width)
    cache = (1, heads, "room", width // heads)
    inputs = [tensor("token", 1, 1, of=T.INT64), tensor("last", 1, of=T.INT32), tensor("total", 1, of=T.INT32)]
    outputs = [tensor("logits", 1, 1, vocabulary)]
    for i in range(layers):
        for kind in "qkv":
            nodes.append(h.make_node("MatMul", [f"x{i}", weight(f"w{kind}{i}", width, width)], [f"{kind}{i}"]))
        nodes.append(h.make_node("GroupQueryAttention", [f"q{i}", f"k{i}", f"v{i}", f"past_key.{i}", f"past_value.{i}", "last", "total"],
                                 [f"mixed{i}", f"present_key.{i}", f"present_value.{i}"], domain="com.microsoft", num_heads=heads, kv_num_heads=heads, do_rotary=0))
        nodes.append(h.make_node("MatMul", [f"mixed{i}", weight(f"wo{i}", width, width)], [f"o{i}"]))
        nodes.append(h.make_node("Add", [f"x{i}", f"o{i}"], [f"x{i + 1}"]))
        inputs += [tensor(f"past_{kind}.{i}", *cache) for kind in ("key", "value")]
        outputs += [tensor(f"present_{kind}.{i}", *cache) for kind in ("key", "value")]
    nodes.append(h.make_node("MatMul", [f"x{layers}", weight("head", width, vocabulary)], ["logits"]))
    save("decoder.onnx", h.make_graph(nodes, "decoder", inputs, outputs, weights), "com.microsoft")


templates()
decoder()
