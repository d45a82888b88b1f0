"""Operators: formal parameters, attributes and types of each version, and the kernels that the oracle has for them."""
import dataclasses
import re

import onnx

CURRENT = 2147483647  # the last version of a kernel that has no end
LAST_OPSET = {"": 28, "ai.onnx.ml": 5, "com.microsoft": 1, "com.microsoft.nchwc": 1}
EVERY_OPSET = {**LAST_OPSET, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}  # those that are not fuzzed, too
ELEMENTS = {"float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9, "float16": 10, "double": 11,
            "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16, "float8e4m3fn": 17, "float8e4m3fnuz": 18, "float8e5m2": 19,
            "float8e5m2fnuz": 20, "uint4": 21, "int4": 22, "float4e2m1": 23, "float8e8m0": 24, "uint2": 25, "int2": 26}
NAMES = {number: name for name, number in ELEMENTS.items()}


def element_of(text):
    """The element type of "tensor(float)" or "optional(tensor(float))"; 0 if it is not a tensor."""
    found = re.search(r"tensor\((\w+)\)", text)
    return ELEMENTS.get(found.group(1), 0) if found else 0


@dataclasses.dataclass(frozen=True)
class Parameter:
    name: str
    type: str  # a variable of the version's types, or a type
    option: str  # single, optional, variadic
    homogeneous: bool


@dataclasses.dataclass(frozen=True)
class Version:
    since: int
    until: int  # the last opset that has it
    inputs: tuple
    outputs: tuple
    attributes: dict  # name: (type, required)
    types: dict  # variable: types
    min_inputs: int
    max_inputs: int
    min_outputs: int
    max_outputs: int
    deprecated: bool


@dataclasses.dataclass
class Operator:
    name: str
    domain: str
    versions: list = dataclasses.field(default_factory=list)
    kernels: list = dataclasses.field(default_factory=list)  # (first version, last, {variable: types}) of the oracle's

    @property
    def label(self):
        return f"{self.domain}:{self.name}" if self.domain else self.name

    def kernels_of(self, version):
        """Types of the kernels that the oracle takes for a version. One whose versions have no end is for its first version alone."""
        return [types for first, last, types in self.kernels if first == version.since or first < version.since <= last != CURRENT]


def last_word(value):
    return str(value).rsplit(".", 1)[-1]


def of_onnx(schema):
    def parameters(formal):
        return tuple(Parameter(p.name, p.type_str, last_word(p.option).lower(), p.is_homogeneous) for p in formal)
    attributes = {name: (last_word(a.type), a.required) for name, a in schema.attributes.items()}
    types = {t.type_param_str: sorted(t.allowed_type_strs) for t in schema.type_constraints}
    return Version(schema.since_version, 0, parameters(schema.inputs), parameters(schema.outputs), attributes, types,
                   schema.min_input, schema.max_input, schema.min_output, schema.max_output, schema.deprecated)


def of_oracle(schema):
    def parameters(formal):
        return tuple(Parameter(p.name, p.typeStr, last_word(p.option).lower(), p.isHomogeneous) for p in formal)
    attributes = {name: (last_word(a.type), a.required) for name, a in schema.attributes.items()}
    types = {t.type_param_str: sorted(t.allowed_type_strs) for t in schema.type_constraints}
    return Version(schema.since_version, 0, parameters(schema.inputs), parameters(schema.outputs), attributes, types,
                   schema.min_input, schema.max_input, schema.min_output, schema.max_output, schema.deprecated)


def add_versions(operators, domain, name, versions, last_opset):
    """Adds an operator with its versions in order, each with the last opset in which it is valid."""
    versions = sorted(versions, key=lambda v: v.since)
    ends = [v.since - 1 for v in versions[1:]] + [last_opset[domain]]
    found = [dataclasses.replace(v, until=end) for v, end in zip(versions, ends) if end >= v.since and not v.deprecated]
    if found:
        operators[domain, name] = Operator(name, domain, found)


def load(oracle, last_opset=LAST_OPSET):
    """{(domain, name): Operator}. `oracle`: the module onnxruntime.capi.onnxruntime_pybind11_state. `last_opset`: the domains."""
    histories = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in last_opset:
            histories.setdefault((schema.domain, schema.name), []).append(of_onnx(schema))
    for schema in oracle.get_all_operator_schema():
        versions = histories.setdefault((schema.domain, schema.name), [])
        experimental = schema.domain == "" and all(v.since != schema.since_version for v in versions)  # what onnx forgot
        if experimental or schema.domain in ("com.microsoft", "com.microsoft.nchwc"):
            versions.append(of_oracle(schema))
    operators = {}
    for (domain, name), versions in sorted(histories.items()):
        if domain in last_opset:
            add_versions(operators, domain, name, versions, last_opset)
    for kernel in oracle.get_all_opkernel_def():
        operator = operators.get((kernel.domain, kernel.op_name))
        if operator and kernel.provider == "CPUExecutionProvider":
            operator.kernels.append((*kernel.version_range, {v: list(t) for v, t in kernel.type_constraints.items()}))
    return operators
