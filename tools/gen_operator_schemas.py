#!/usr/bin/env python3
"""Writes src/onnx/operator_schemas.tsv. For each version of every operator that ONNX Runtime or onnx knows, it lists
the inputs and outputs, the type parameter of each, and the types that each parameter allows.

    gen_operator_schemas.py src/onnx/operator_schemas.tsv    (needs the packages onnx and onnxruntime)

The file begins with a line that lists all types, and one line for each set of types (indices into the first line, from
0). Then each version of an operator has a line: domain, name, version, inputs, outputs, parameters. Ports are
`name:parameter`, or `name:#type` (an index into the first line) if the type is not a parameter. After an input, `?`
means that it may be missing, `+` that more of its type may follow, and `*` that more of any types may follow.
Parameters are `T=set`. `-` is an empty list, and an empty cell repeats the line above. Versions that onnxruntime does
not know come from onnx; all others come from onnxruntime.
"""
import sys

import onnx
from onnxruntime.capi import onnxruntime_pybind11_state as ort


def marks(schema, i, homogeneous):
    """What follows an input's type in the file."""
    kind = str(schema.inputs[i].option).rsplit(".", 1)[-1]
    if kind != "Variadic":
        return "?" if kind == "Optional" else ""
    return ("?" if i >= schema.min_input else "") + ("+" if homogeneous(schema.inputs[i]) else "*")


def schemas():
    """(domain, name, version) -> inputs, outputs, [(parameter, types)]; a port is (name, type or parameter, marks)"""
    found = {}
    told = [(s, lambda p: p.type_str, lambda p: p.is_homogeneous) for s in onnx.defs.get_all_schemas_with_history()]
    told += [(s, lambda p: p.typeStr, lambda p: p.isHomogeneous) for s in ort.get_all_operator_schema()]
    for schema, type_of, homogeneous in told:
        constraints = [(c.type_param_str, tuple(c.allowed_type_strs)) for c in schema.type_constraints]
        outputs = [(p.name, type_of(p), "") for p in schema.outputs]
        inputs = [(p.name, type_of(p), marks(schema, i, homogeneous)) for i, p in enumerate(schema.inputs)]
        found[schema.domain, schema.name, schema.since_version] = inputs, outputs, constraints
    return found


def numbered(values):
    """value -> number; the most frequent values come first, because their numbers are the shortest"""
    count = {}
    for v in values:
        count[v] = count.get(v, 0) + 1
    return {v: i for i, v in enumerate(sorted(count, key=lambda v: (-count[v], v)))}


def text_of(ports, constraints, types):
    parameters = {name for name, _ in constraints}
    return " ".join(f"{name}:{of if of in parameters else f'#{types[of]}'}{more}" for name, of, more in ports) or "-"


def lines(found):
    sets = numbered(types for *_, constraints in found.values() for _, types in constraints)
    fixed = [(of,) for inputs, outputs, constraints in found.values() for _, of, _ in (*inputs, *outputs) if of not in dict(constraints)]
    types = numbered(t for types in (*sets, *fixed) for t in types)
    yield list(types)
    for one in sets:
        yield [" ".join(str(types[t]) for t in one)]
    above = [""] * 6
    for (domain, name, version), (inputs, outputs, constraints) in sorted(found.items()):
        allowed = " ".join(f"{parameter}={sets[types]}" for parameter, types in constraints) or "-"
        row = [domain or "ai.onnx", name, str(version), text_of(inputs, constraints, types), text_of(outputs, constraints, types), allowed]
        yield ["" if cell == before else cell for cell, before in zip(row, above)]
        above = row


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        for line in lines(schemas()):
            out.write("\t".join(line) + "\n")


if __name__ == "__main__":
    main()
