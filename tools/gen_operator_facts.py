#!/usr/bin/env python3
"""Writes src/onnx/operator_facts.tsv. For every operator that ONNX Runtime knows, it lists the versions in which its
form changed, which inputs and outputs share a type, and its attributes.

    gen_operator_facts.py src/onnx/operator_facts.tsv    (needs the packages onnx and onnxruntime)

Types are `T:i0,v1,o0;X:i2`, by the names of type parameters (v: all inputs from that one on); if a type is not a
parameter, the name of the port stands for it. Defaults are `name=kind:value`, separated by tabs; commas separate the
items of a list. `name:kind` is an optional attribute without a default, `name!kind` a required one. Kinds are i, f, s, is,
fs, ss, and nothing for all others. `=` stands for the types, or for all attributes, of the version before.
"""
import sys

import onnx
from onnxruntime.capi import onnxruntime_pybind11_state as ort

DOMAINS = {"", "ai.onnx.ml", "com.microsoft"}
READ = {
    onnx.AttributeProto.INT: lambda a: f"i:{a.i}",
    onnx.AttributeProto.FLOAT: lambda a: f"f:{a.f!r}",
    onnx.AttributeProto.STRING: lambda a: f"s:{a.s.decode()}",
    onnx.AttributeProto.INTS: lambda a: "is:" + ",".join(map(str, a.ints)),
    onnx.AttributeProto.FLOATS: lambda a: "fs:" + ",".join(map(repr, a.floats)),
    onnx.AttributeProto.STRINGS: lambda a: "ss:" + ",".join(s.decode() for s in a.strings),
}
KINDS = {"INT": "i", "FLOAT": "f", "STRING": "s", "INTS": "is", "FLOATS": "fs", "STRINGS": "ss"}


def types(schema, type_of):
    ports = {}
    parameters = {c.type_param_str for c in schema.type_constraints}
    for side, all_of in (("i", schema.inputs), ("o", schema.outputs)):
        for i, port in enumerate(all_of):
            if side == "i" and str(port.option).endswith("Variadic"):
                side = "v"
            ports.setdefault(type_of(port) if type_of(port) in parameters else port.name, []).append(f"{side}{i}")
    return ";".join(f"{name}:{','.join(of)}" for name, of in sorted(ports.items()))


def facts():
    """(domain, name, version) -> types and attributes; the facts of onnx override those of onnxruntime."""
    found = {}
    schemas = [(s, lambda a: a._default_value, lambda p: p.typeStr) for s in ort.get_all_operator_schema()]
    schemas += [(s, lambda a: a.default_value.SerializeToString(), lambda p: p.type_str) for s in onnx.defs.get_all_schemas_with_history()]
    for schema, default_of, type_of in schemas:
        if schema.domain not in DOMAINS:
            continue
        attributes = []
        for name, attribute in sorted(schema.attributes.items()):
            default = onnx.AttributeProto()
            default.ParseFromString(default_of(attribute))
            if default.type in READ:
                attributes.append(f"{name}={READ[default.type](default)}")
            else:
                kind = KINDS.get(str(attribute.type).rsplit(".", 1)[-1], "")
                attributes.append(f"{name}{'!' if attribute.required else ':'}{kind}")
        found[schema.domain, schema.name, schema.since_version] = types(schema, type_of), attributes
    return found


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        before = None, "", []
        for (domain, name, version), (ports, attributes) in sorted(facts().items()):
            same = before[0] == (domain, name)
            told = ["=" if same and ports and ports == before[1] else ports]
            told += ["="] if same and attributes and attributes == before[2] else attributes
            out.write("\t".join([domain, name, str(version), *told]) + "\n")
            before = (domain, name), ports, attributes


if __name__ == "__main__":
    main()
