"""Models of a few nodes, made with the package onnx."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import ModelProto, TensorProto, helper

FLOAT = int(TensorProto.FLOAT)


def model(nodes: Sequence[Any], inputs: dict[str, Any], outputs: dict[str, Any], **more: Any) -> bytes:
    """The bytes of a model. Inputs and outputs: name -> shape of a float tensor, or (element type, shape)."""
    return bytes(made(nodes, inputs, outputs, **more).SerializeToString())


def made(
    nodes: Sequence[Any], inputs: dict[str, Any], outputs: dict[str, Any], *, opset: int = 21, weights: Sequence[Any] = ()
) -> ModelProto:
    graph = helper.make_graph(list(nodes), "test", _values(inputs), _values(outputs), list(weights))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _values(values: dict[str, Any]) -> list[Any]:
    result = []
    for name, form in values.items():
        kind, shape = form if isinstance(form, tuple) and isinstance(form[1], list) else (FLOAT, form)
        result.append(helper.make_tensor_value_info(name, kind, shape))
    return result


def add() -> bytes:
    """z = x + y, of any shape."""
    return model([helper.make_node("Add", ["x", "y"], ["z"], "sum")], {"x": ["n"], "y": ["n"]}, {"z": ["n"]})


def decoder(rooms: int) -> bytes:
    """A step of a decoder: writes `row` at `position` of the cache `past`, and sums all rows."""
    nodes = [
        helper.make_node("TensorScatter", ["past", "row", "position"], ["present"], "write", axis=1),
        helper.make_node("ReduceSum", ["present", "axis"], ["sum"], "sum", keepdims=0),
    ]
    int64 = int(TensorProto.INT64)
    axis = helper.make_tensor("axis", int64, [1], [1])
    inputs: dict[str, Any] = {"past": [1, rooms, 4], "row": [1, 1, 4], "position": (int64, [1])}
    return model(nodes, inputs, {"present": [1, rooms, 4], "sum": [1, 4]}, opset=24, weights=[axis])


def endless() -> bytes:
    """A loop that counts for minutes; its input `steps` says how far."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["goes"]), helper.make_node("Add", ["value", "one"], ["next"])],
        "body",
        [
            helper.make_tensor_value_info("step", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            helper.make_tensor_value_info("value", FLOAT, [256]),
        ],
        [helper.make_tensor_value_info("goes", TensorProto.BOOL, []), helper.make_tensor_value_info("next", FLOAT, [256])],
    )
    nodes = [helper.make_node("Loop", ["steps", "", "start"], ["end"], "loop", body=body)]
    one = helper.make_tensor("one", FLOAT, [1], [1.0])
    inputs: dict[str, Any] = {"steps": (int(TensorProto.INT64), []), "start": [256]}
    return model(nodes, inputs, {"end": [256]}, weights=[one])
