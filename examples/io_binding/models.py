#!/usr/bin/env python3
"""Makes the tiny models of these examples, beside this file (needs the onnx package)."""
import os

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh

HERE = os.path.dirname(os.path.abspath(__file__))


def save(name, graph, *domains):
    opsets = [h.make_opsetid("", 17)] + [h.make_opsetid(d, 1) for d in domains]
    onnx.save(h.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="retort examples"), os.path.join(HERE, name))


def tensor(name, *shape, of=T.FLOAT):
    return h.make_tensor_value_info(name, of, shape)


def places():
    """Finds the pixels above a half; their number is known only after they are found."""
    half = nh.from_array(np.array(0.5, np.float32), "half")
    nodes = [h.make_node("Greater", ["image", "half"], ["dark"]), h.make_node("NonZero", ["dark"], ["places"])]
    save("places.onnx", h.make_graph(nodes, "places", [tensor("image", 8, 8)], [tensor("places", 2, "found", of=T.INT64)], [half]))


def decoder(width=16, heads=2):
    """One layer of attention with a cache of fixed capacity, as in decoders that are exported for
    GroupQueryAttention."""
    made = np.random.default_rng(6)
    weights = [nh.from_array((made.standard_normal((width, width)) / np.sqrt(width)).astype(np.float32), name) for name in ("wq", "wk", "wv")]
    nodes = [h.make_node("MatMul", ["x", w.name], [w.name[1]]) for w in weights]
    nodes.append(h.make_node("GroupQueryAttention", ["q", "k", "v", "past_key", "past_value", "last", "total"], ["y", "present_key", "present_value"],
                             domain="com.microsoft", num_heads=heads, kv_num_heads=heads))
    cache = (1, heads, "room", width // heads)
    inputs = [tensor("x", 1, 1, width), tensor("past_key", *cache), tensor("past_value", *cache), tensor("last", 1, of=T.INT32), tensor("total", 1, of=T.INT32)]
    outputs = [tensor("y", 1, 1, width), tensor("present_key", *cache), tensor("present_value", *cache)]
    save("decoder.onnx", h.make_graph(nodes, "decoder", inputs, outputs, weights), "com.microsoft")


places()
decoder()
