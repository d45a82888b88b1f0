"""Operators whose attributes became inputs, or inputs attributes, in a later opset."""
import numpy as np


def ints(graph, values):
    return graph.constant(np.array(values, np.int64))


def number(graph, like, value):
    """A scalar constant of the type of another value."""
    return graph.constant(np.asarray(value).astype(like.array.dtype))


def with_axes(graph, name, value, axes, since, **attributes):
    if graph.world.onnx_opset < since:
        return graph.add(name, [value], {**attributes, "axes": axes})
    return graph.add(name, [value, ints(graph, axes)], attributes)


def reduce(graph, name, value, axes, keep=1):
    return with_axes(graph, name, value, axes, 13 if name == "ReduceSum" else 18, keepdims=keep)


def squeeze(graph, value, axes):
    return with_axes(graph, "Squeeze", value, axes, 13)


def unsqueeze(graph, value, axes):
    return with_axes(graph, "Unsqueeze", value, axes, 13)


def split(graph, value, axis, sizes):
    if graph.world.onnx_opset < 13:
        return graph.add("Split", [value], {"axis": axis, "split": sizes}, len(sizes))
    return graph.add("Split", [value, ints(graph, sizes)], {"axis": axis}, len(sizes))


def slices(graph, value, start, end, axis, step=1):
    given = [value, ints(graph, [start]), ints(graph, [end]), ints(graph, [axis])]
    return graph.add("Slice", given + ([ints(graph, [step])] if step != 1 else []))


def transpose(graph, value, order):
    return graph.add("Transpose", [value], {"perm": list(order)})


def reshape(graph, value, shape):
    return graph.add("Reshape", [value, ints(graph, shape)])


def weight(graph, shape, of=1, fan_in=None):
    """A new constant of weights, scaled so that products are about as large as their factors."""
    world = graph.world
    array = world.numbers.generator.standard_normal(shape) / np.sqrt(fan_in or max(1, shape[0] if shape else 1))
    return graph.constant(array.astype({1: np.float32, 10: np.float16, 11: np.float64}[of]))
