"""Schemas of operators in the form that new_op needs. Those of ONNX come from the package onnx. Those of other domains,
and of operators that exporters put into ai.onnx though ONNX does not have them, come from the package onnxruntime."""
import dataclasses
import os
import re

from onnx import AttributeProto, defs

MARKS = {"Optional": "?", "Variadic": "..."}


@dataclasses.dataclass
class Port:
    name: str
    type: str  # the name of a constraint, or a type like tensor(float)
    mark: str  # "", "?" or "..."


@dataclasses.dataclass
class Attribute:
    name: str
    kind: str  # INT, FLOATS, ...
    required: bool
    default: AttributeProto  # of type UNDEFINED if the attribute has no default


@dataclasses.dataclass
class Schema:
    domain: str
    name: str
    version: int
    since: list  # every version, deprecated ones too
    inputs: list
    outputs: list
    constraints: dict  # name -> set of types
    attributes: list
    min_input: int
    max_input: int
    folder: str  # its folder in ONNX: math, nn, tensor, ...; "" for onnxruntime's

    def is_variadic(self):
        return any(p.mark == "..." for p in (*self.inputs, *self.outputs))


def ports(formal, type_of):
    return [Port(p.name, type_of(p), MARKS.get(str(p.option).rsplit(".", 1)[-1], "")) for p in formal]


def schema(revisions, type_of, default_of, folder):
    newest = [s for s in revisions if not s.deprecated][-1]
    return Schema(newest.domain, newest.name, newest.since_version, sorted({s.since_version for s in revisions}),
                  ports(newest.inputs, type_of), ports(newest.outputs, type_of),
                  {c.type_param_str: set(c.allowed_type_strs) for c in newest.type_constraints},
                  [Attribute(n, str(a.type).rsplit(".", 1)[-1], a.required, default_of(a)) for n, a in sorted(newest.attributes.items())],
                  newest.min_input, newest.max_input, folder)


def revisions_of(schemas, name, domain):
    found = sorted((s for s in schemas if s.name == name and s.domain == domain), key=lambda s: s.since_version)
    return found if any(not s.deprecated for s in found) else []


def onnx_schema(name, domain):
    found = revisions_of(defs.get_all_schemas_with_history(), name, domain)
    if not found:
        return None
    return schema(found, lambda p: p.type_str, lambda a: a.default_value, os.path.basename(os.path.dirname(found[-1].file)))


def onnxruntime_schemas():
    from onnxruntime.capi import onnxruntime_pybind11_state as ort
    return ort.get_all_operator_schema()


def onnxruntime_schema(name, domain):
    def default(a):
        value = AttributeProto()
        value.ParseFromString(a._default_value)
        return value
    found = revisions_of(onnxruntime_schemas(), name, domain)
    return schema(found, lambda p: p.typeStr, default, "") if found else None


def find(name, domain=""):
    """The newest schema of an operator; None if neither package has one."""
    return onnx_schema(name, domain) or onnxruntime_schema(name, domain)


def tensor_type(text):
    """"float" for "tensor(float)"; None for a sequence, an optional or a map."""
    found = re.fullmatch(r"tensor\((\w+)\)", text)
    return found and found.group(1)
