"""Models whose graph itself is the attack: cycles, and endless nesting and calls. Written by hand where protobuf for
Python stops at 100 levels."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DEPTHS = [3, 20, 60, 100, 200, 500, 1000, 3000]
OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid("loc", 1)]


def cycle(r, base):
    model = base.parse()
    g, kind, n = model.graph, r.randrange(5), r.randint(2, 50)
    if kind == 0 and g.node and g.node[0].input and g.node[-1].output:
        g.node[0].input[r.randrange(len(g.node[0].input))] = g.node[-1].output[0]
    elif kind == 1:
        g.node.extend(helper.make_node("Add", [f"c{i}"] * 2, [f"c{(i + 1) % n}"], name=f"n{i}") for i in range(n))
        if r.random() < 0.5 and g.output:
            g.node.append(helper.make_node("Identity", ["c0"], ["leave"]))
            g.output.append(helper.make_tensor_value_info("leave", TensorProto.FLOAT, None))
    elif kind == 2:
        g.node.append(helper.make_node("Identity", ["self"], ["self"]))
    elif kind == 3:  # a body captures the output of the node that has it
        body = helper.make_graph([helper.make_node("Identity", ["ring"], ["inner"])], "s", [],
                                 [helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)])
        g.initializer.append(numpy_helper.from_array(np.array(True), "cond"))
        g.node.append(helper.make_node("If", ["cond"], ["ring"], then_branch=body, else_branch=body))
        g.output.append(helper.make_tensor_value_info("ring", TensorProto.FLOAT, None))
    else:
        o = g.node[0].output[0] if g.node and g.node[0].output else "z"
        g.node.extend(helper.make_node("Identity", [o], [o]) for _ in range(n))
    return model.SerializeToString(deterministic=True), f"kind {kind}, {n}"


def delimited(field, content):
    """A length-delimited field of protobuf."""
    out, size = bytes([field << 3 | 2]), len(content)
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return out + bytes([size]) + content


def raw_node(op, inputs, output, *bodies):
    attributes = (delimited(1, name.encode()) + delimited(6, body) + b"\xa0\x01\x05" for name, body in bodies)
    return (b"".join(delimited(1, i.encode()) for i in inputs) + delimited(2, output.encode()) + delimited(4, op.encode())
            + b"".join(delimited(5, a) for a in attributes))


def raw_info(name, element, *dims):
    return helper.make_tensor_value_info(name, element, list(dims)).SerializeToString()


def raw_model(graph):
    return bytes([8, 8]) + delimited(7, graph) + delimited(8, OPSETS[0].SerializeToString())


def nested_bodies(op, depth):
    node = raw_node("Identity", ["x"], "o0")
    for d in range(1, depth + 1):
        inner, name = f"o{d - 1}", delimited(2, b"g")
        out = delimited(12, raw_info(inner, 1, 2))
        if op == "If":
            other = delimited(1, raw_node("Identity", ["x"], inner)) + name + out
            node = raw_node("If", ["c"], f"o{d}", ("then_branch", delimited(1, node) + name + out), ("else_branch", other))
        else:
            body = (delimited(1, node) + delimited(1, raw_node("Identity", [f"k{d}"], f"q{d}")) + name
                    + delimited(11, raw_info(f"i{d}", 7)) + delimited(11, raw_info(f"k{d}", 9))
                    + delimited(11, raw_info(f"v{d}", 1, 2)) + delimited(12, raw_info(f"q{d}", 9)) + out)
            node = raw_node("Loop", ["n", "c", "x"], f"o{d}", ("body", body))
    constants = [numpy_helper.from_array(np.array(True), "c"), numpy_helper.from_array(np.array(1), "n")]
    return raw_model(delimited(1, node) + delimited(1, raw_node("Identity", [f"o{depth}"], "y")) + delimited(2, b"top")
                     + b"".join(delimited(5, t.SerializeToString()) for t in constants)
                     + delimited(11, raw_info("x", 1, 2)) + delimited(12, raw_info("y", 1, 2)))


def nested_type(depth):
    t = onnx.TypeProto()
    t.tensor_type.elem_type = TensorProto.FLOAT
    raw = t.SerializeToString()
    for _ in range(depth):
        raw = delimited(4, delimited(1, raw))  # sequence_type { elem_type { … } }
    top = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "top", [], []).SerializeToString()
    return raw_model(top + delimited(11, delimited(1, b"x") + delimited(2, raw)) + delimited(12, delimited(1, b"y") + delimited(2, raw)))


def function(i, nodes):
    return helper.make_function("loc", f"F{i}", ["a"], ["b"], nodes, OPSETS)


def call(i, source, target):
    return helper.make_node(f"F{i}", [source], [target], domain="loc")


def calling(functions, first):
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    graph = helper.make_graph([call(first, "x", "y")], "top", [x], [y])
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=8, functions=functions).SerializeToString(deterministic=True)


def recursion(r, _):
    kind, depth = r.randrange(7), r.choice(DEPTHS)
    if kind <= 1:
        op = ("If", "Loop")[kind]
        return nested_bodies(op, depth), f"nested {op} {depth}"
    if kind <= 3:  # functions that call themselves, directly or through others
        n = r.randint(2, 9) if kind == 3 else 1
        return calling([function(i, [call((i + 1) % n, "a", "b")]) for i in range(n)], 0), f"ring of {n} functions"
    if kind == 4:
        chain = [function(i, [call(i + 1, "a", "b")]) for i in range(depth - 1)]
        return calling([*chain, function(depth - 1, [helper.make_node("Identity", ["a"], ["b"])])], 0), f"chain of {depth} functions"
    if kind == 5:  # each calls the previous one twice: 2**n nodes once inlined
        n = r.choice([4, 8, 12, 16, 20, 24, 30, 40])
        twice = [function(i, [call(i - 1, "a", "t"), call(i - 1, "t", "b")]) for i in range(1, n)]
        return calling([function(0, [helper.make_node("Neg", ["a"], ["b"])]), *twice], n - 1), f"doubling {n}"
    return nested_type(depth), f"nested type {depth}"
