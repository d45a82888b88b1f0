"""Nodes with bodies: If, Loop and Scan, whose bodies are drawn like the graph and see its values."""
import numpy as np
from onnx import helper

import model
import numbers_of
from case import Refused

from .graph import Graph, info_of
from .values import Value

DEEPEST = 2
STEPS = (1, 2, 3, 5)


def depth(graph):
    return 0 if not graph.parent else 1 + depth(graph.parent)


def formal(body, wires, error=0.0):
    """An input of a body. Its value is the one of the first iteration."""
    value = Value(body.world.name("b"), wires, "input", error, owner=body)
    body.own.append(value)
    body.formals.append(value)
    return value


def closed(body, outputs, name):
    """(GraphProto of a body, Values that it captures). An output that no node of the body makes goes through an
    Identity."""
    results = {v for n in body.nodes for v in n.outputs}
    taken = set()
    for i, value in enumerate(outputs):
        if value not in results or value in taken:
            outputs[i] = body.add("Identity", [value])
        taken.add(outputs[i])
    own = set(body.own)
    constants = [model.tensor_proto(v.name, v.array) for v in body.own if v.source == "constant"]
    proto = helper.make_graph([n.proto for n in body.nodes], name, [info_of(v, "ranks", {}) for v in body.formals],
                              [info_of(v, "ranks", {}) for v in outputs], constants)
    return proto, list(dict.fromkeys(v for n in body.nodes for v in n.reads() if v not in own))


def results_of(body):
    """Tensors that the nodes of a body make, if their error is small."""
    return [v for n in body.nodes for v in n.outputs if v and v.is_tensor and v.usable() and v.of != numbers_of.STRING]


def loosest(*bodies):
    """The least error of the outputs of a node with these bodies: it has the roundings of several steps."""
    return 4 * max((v.error for body in bodies for v in body.own if v.error < np.inf), default=0.0)


def condition(graph):
    known = [v for v in graph.tensors() if v.of == numbers_of.BOOL and v.array.size == 1 and not v.error]
    if known and graph.r.random() < 0.3:
        return graph.r.choice(known)
    if graph.r.random() < 0.4 and not graph.parent:
        return graph.input([np.asarray(graph.r.random() < 0.5) for _ in range(graph.world.runs)])
    if graph.r.random() < 0.3:
        return graph.constant(np.asarray(graph.r.random() < 0.5))
    size = graph.add("Size", [graph.r.choice(graph.tensors())])
    return graph.add("Less", [size, graph.constant(np.asarray(graph.r.choice((10, 100, 300)), np.int64))])


def if_node(graph, grow):
    test = condition(graph)
    then = Graph(graph.world, graph)
    grow(then, graph.r.choice(STEPS))
    found = results_of(then)
    if not found:
        raise Refused("an empty branch")
    outputs = graph.r.sample(found, min(len(found), graph.r.choice((1, 1, 2))))
    other = Graph(graph.world, graph)
    grow(other, graph.r.choice((0, *STEPS)))
    matching = []
    for value in outputs:
        same = [v for v in other.visible() if v.is_tensor and v.usable() and v.of == value.of and len(v.shape) == len(value.shape)]
        if not same:
            raise Refused("nothing of this type in the other branch")
        matching.append(graph.r.choice(same[-4:]))
    branches = [closed(then, list(outputs), "then"), closed(other, matching, "else")]
    attributes = {f"{name}_branch": branch[0] for name, branch in zip(("then", "else"), branches)}
    return graph.add("If", [test], attributes, len(outputs), captures=list(dict.fromkeys(branches[0][1] + branches[1][1])),
                     least=loosest(then, other))


def next_state(body, state):
    """A value of the type and shape of a state, mostly computed from the state; it stays moderate."""
    same = [v for v in results_of(body) if v.of == state.of and all(a.shape == b.shape for a, b in zip(v.arrays, state.arrays))]
    if not same or state.of not in (1, 10, 11):
        return body.r.choice(same) if same else state
    mixed = body.add("Add", [body.add("Mul", [state, body.constant(np.asarray(0.5, state.array.dtype))]), body.r.choice(same)])
    return body.add("Tanh", [mixed]) if body.r.random() < 0.6 else mixed


def states_of(graph, count):
    found = [v for v in graph.tensors() if v.of in (1, 7, 6, 11) and v.array.size <= 2000]
    if not found:
        raise Refused("no state")
    return [graph.r.choice(found) for _ in range(count)]


def loop_node(graph, grow):
    world, r = graph.world, graph.r
    states = states_of(graph, r.choice((0, 1, 1, 2)))
    body = Graph(world, graph)
    step = formal(body, [numbers_of.to_wire(np.asarray(0, np.int64))] * world.runs)
    going = formal(body, [numbers_of.to_wire(np.asarray(True))] * world.runs)
    inner = [formal(body, v.wires, v.error) for v in states]
    grow(body, r.choice(STEPS))
    outputs = [next_state(body, v) for v in inner]
    found = [v for v in results_of(body) if v.array.size <= 2000]
    scans = [r.choice(found) for _ in range(r.choice((0, 1, 1)) if states else 1)] if found else []
    if not states and not scans:
        raise Refused("a loop without results")
    least = 1 if scans else 0  # without a step, the extents of scan outputs depend on what is known about the body
    trips = np.asarray(r.choice((least, 1, 2, 3, 4)), np.int64)
    if r.random() < 0.3:
        going = body.add("Less", [step, body.constant(np.asarray(r.choice((0, 1, 9)), np.int64))])
    proto, captures = closed(body, [going, *outputs, *scans], "body")
    start = None if r.random() < 0.4 else graph.constant(np.asarray(True)) if scans or r.random() < 0.7 else condition(graph)
    count = graph.constant(trips) if r.random() < 0.6 or graph.parent else graph.input([trips] * world.runs)
    return graph.add("Loop", [count, start, *states], {"body": proto}, len(outputs) + len(scans), captures=captures, least=loosest(body))


def scan_node(graph, grow):
    world, r = graph.world, graph.r
    rows = [v for v in graph.tensors() if v.of in (1, 7, 11) and v.shape and v.array.size <= 2000]
    rows = [v for v in rows if all(a.size and a.shape[0] <= 12 for a in v.arrays)]
    if not rows:
        raise Refused("nothing to scan")
    first = r.choice(rows)
    scanned = [first] + [v for v in rows if [a.shape[0] for a in v.arrays] == [a.shape[0] for a in first.arrays]][:r.choice((0, 1))]
    states = states_of(graph, r.choice((0, 1, 1)))
    body = Graph(world, graph)
    inner = [formal(body, v.wires, v.error) for v in states]
    for value in scanned:
        formal(body, [numbers_of.to_wire(np.ascontiguousarray(a[0])) for a in value.arrays], value.error)
    grow(body, r.choice(STEPS))
    outputs = [next_state(body, v) for v in inner]
    scans = [r.choice(results_of(body) or body.formals) for _ in range(r.choice((1, 1, 2)))]
    proto, captures = closed(body, [*outputs, *scans], "body")
    attributes = {"body": proto, "num_scan_inputs": len(scanned)}
    if r.random() < 0.3:
        attributes["scan_input_directions"] = [r.randint(0, 1) for _ in scanned]
        attributes["scan_output_directions"] = [r.randint(0, 1) for _ in scans]
    return graph.add("Scan", [*states, *scanned], attributes, len(outputs) + len(scans), captures=captures, least=loosest(body))


def node_with_body(graph, grow):
    if depth(graph) >= DEEPEST or not graph.tensors():
        raise Refused("deep enough")
    return graph.r.choice((if_node, if_node, loop_node, scan_node))(graph, grow)
