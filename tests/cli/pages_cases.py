"""Models and reports of which pages_test.py makes pages."""

import json

from onnx import TensorProto, helper, save


def long_names(path):
    """Names, types and an operator that no box can hold."""
    shape = ["batch", "past_sequence_length + sequence_length", "num_key_value_heads", "hidden_size_of_each_head"]
    names = ["/model/layers.0/self_attn/" + "a_very_long_name/" * 6 + end for end in ("input", "middle", "output")]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in names]
    nodes = [
        helper.make_node("Relu", [names[0]], [names[1]], name=names[1]),
        helper.make_node(
            "AnOperatorWhoseNameIsLongerThanAnyBoxCouldBeOnAScreen",
            [names[1]],
            [names[2]],
            name=names[2],
            domain="my.domain",
        ),
    ]
    graph = helper.make_graph(nodes, "long", [ports[0]], [ports[2]])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("my.domain", 1)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def large(path, count=700):
    """Nodes of twenty operators; of more than 700, every seventh reads an earlier value, too, and the last the input."""
    ops = (
        "Abs Neg Exp Relu Sin Cos Tan Tanh Sigmoid Floor Ceil Round Sign Erf Elu Selu Softsign Softplus Identity "
        "Reciprocal"
    ).split()
    nodes = []
    for i in range(count):
        second = ["v0"] if count > 700 and i == count - 1 else [f"v{i - 2}"] if count > 700 and i % 7 == 2 else []
        op = "Add" if second else ops[i % 20]
        nodes.append(helper.make_node(op, [f"v{i}", *second], [f"v{i + 1}"], name=f"n{i + 1}"))
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 7]) for name in ("v0", f"v{count}")]
    save(
        helper.make_model(
            helper.make_graph(nodes, "g", ports[:1], ports[1:]),
            opset_imports=[helper.make_opsetid("", 21)],
            ir_version=10,
        ),
        path,
    )
    return path


def bodies(path):
    """The name of the choice of a body is wider than a phone."""
    ports = [helper.make_tensor_value_info(name, kind, []) for name, kind in (("c", 9), ("x", 1), ("y", 1))]
    branches = {
        f"{which}_branch": helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], which, [], ports[2:])
        for which in ("then", "else")
    }
    node = helper.make_node("If", ["c"], ["y"], name="a_choice_with_a_long_name/" * 3, **branches)
    graph = helper.make_graph([node], "", ports[:2], ports[2:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def report(path, scenarios, engines, threads):
    machine = {
        "processor": "A processor with a name",
        "cores": 2,
        "caches": {"L2": "1 MiB"},
        "memory_bytes": 8e9,
        "system": "Linux 6",
        "load": 0.5,
        "isa": ["avx2", "fma", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16"],
    }
    figures = {"peak_gflops": {"1": 10.0, "2": 20.0}, "read_gbs": {"1": 7.0, "2": 9.0}}
    with open(path, "w", encoding="utf-8") as f:
        json.dump(
            {
                "format": 2,
                "date": "2026-01-02 03:04 UTC",
                "machine": machine,
                "engines": engines,
                "threads": threads,
                **figures,
                "scenarios": scenarios,
                "means": [],
            },
            f,
        )
    return path


def alone(row):
    """Without peers, a kind, operations and comparisons."""
    for entry in row["report"]:
        entry["peers"], entry["sides"] = [], entry["sides"][:1]
        for key in ("disagreement", "ratio", "gflops", "peak_share"):
            entry.pop(key)
    return {**row, "kind": "", "precision": ""}
