"""Which operators the engine has: schemas and kernels, as the official extension lists them.

The facts are those that `retort ops` prints. What it does not tell (texts of documentation, attributes) is empty.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from types import ModuleType
from typing import Any

from . import _native as C

# ONNX writes the standard domain as an empty text.
_STANDARD = "ai.onnx"
# An input or output that may be repeated.
_MANY = 2147483647


class FormalParameterOption(IntEnum):
    """How often an input or output may be given."""

    Single = 0
    Optional = 1
    Variadic = 2


class AttrType(IntEnum):
    """Types of attributes, with the numbers of onnx.AttributeProto."""

    FLOAT = 1
    INT = 2
    STRING = 3
    TENSOR = 4
    GRAPH = 5
    FLOATS = 6
    INTS = 7
    STRINGS = 8
    TENSORS = 9
    GRAPHS = 10
    SPARSE_TENSOR = 11
    SPARSE_TENSORS = 12


class SupportType(IntEnum):
    """Whether an operator may change."""

    COMMON = 0
    EXPERIMENTAL = 1


@dataclass(frozen=True)
class FormalParameter:
    """An input or output of an operator."""

    name: str
    typeStr: str
    option: FormalParameterOption = FormalParameterOption.Single
    types: tuple[str, ...] = ()
    description: str = ""
    isHomogeneous: bool = True


@dataclass(frozen=True)
class Attribute:
    """An attribute of an operator."""

    name: str
    type: AttrType
    description: str = ""
    required: bool = False


@dataclass(frozen=True)
class TypeConstraintParam:
    """The types that a type variable of an operator stands for."""

    type_param_str: str
    allowed_type_strs: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True)
class OpSchema:
    """One version of the definition of an operator."""

    name: str
    domain: str
    since_version: int
    inputs: tuple[FormalParameter, ...] = ()
    outputs: tuple[FormalParameter, ...] = ()
    type_constraints: tuple[TypeConstraintParam, ...] = ()
    attributes: dict[str, Attribute] = field(default_factory=dict)
    doc: str = ""
    file: str = ""
    line: int = 0
    deprecated: bool = False
    has_type_and_shape_inference_function: bool = True
    support_level: SupportType = SupportType.COMMON

    @property
    def min_input(self) -> int:
        """How many inputs must be given."""
        return _at_least(self.inputs)

    @property
    def max_input(self) -> int:
        """How many inputs may be given."""
        return _at_most(self.inputs)

    @property
    def min_output(self) -> int:
        """How many outputs must be named."""
        return _at_least(self.outputs)

    @property
    def max_output(self) -> int:
        """How many outputs may be named."""
        return _at_most(self.outputs)

    @staticmethod
    def is_infinite(number: int) -> bool:
        """Whether `max_input` or `max_output` means that there is no limit."""
        return number == _MANY


@dataclass(frozen=True)
class KernelDef:
    """What a provider runs: versions of an operator, and element types."""

    op_name: str
    domain: str
    version_range: tuple[int, int]
    provider: str
    type_constraints: dict[str, list[str]] = field(default_factory=dict)


def _at_least(parameters: tuple[FormalParameter, ...]) -> int:
    return sum(parameter.option == FormalParameterOption.Single for parameter in parameters)


def _at_most(parameters: tuple[FormalParameter, ...]) -> int:
    variadic = any(parameter.option == FormalParameterOption.Variadic for parameter in parameters)
    return _MANY if variadic else len(parameters)


def _parameter(text: str) -> FormalParameter:
    """A parameter from "name: T", "name: T?" (may be missing) or "name: T*" (may be repeated)."""
    name, _, kind = text.partition(": ")
    options = {"?": FormalParameterOption.Optional, "*": FormalParameterOption.Variadic}
    option = options.get(kind[-1:], FormalParameterOption.Single)
    return FormalParameter(name, kind.rstrip("?*"), option)


@lru_cache(maxsize=1)
def _operators() -> list[dict[str, Any]]:
    return [row for row in json.loads(C.list_operators()) if not row.get("rewritten")]


def _domain(row: dict[str, Any]) -> str:
    return "" if row["domain"] == _STANDARD else row["domain"]


def get_all_operator_schema() -> list[OpSchema]:
    """The schema of each operator that the engine has, in each version.

    Raises:
        NotImplemented: the library is not Retort's.
    """
    schemas = []
    for row in _operators():
        inputs, outputs = (tuple(_parameter(text) for text in row[side]) for side in ("inputs", "outputs"))
        allowed = tuple(f"tensor({element})" for element in row["types"])
        variables = dict.fromkeys(parameter.typeStr for parameter in (*inputs, *outputs))
        constraints = tuple(TypeConstraintParam(name, allowed) for name in variables)
        schemas += [
            OpSchema(row["name"], _domain(row), version, inputs, outputs, constraints) for version in row["versions"]
        ]
    return schemas


def get_all_opkernel_def() -> list[KernelDef]:
    """What each provider that is built in runs.

    Raises:
        NotImplemented: the library is not Retort's.
    """
    return [
        KernelDef(row["name"], _domain(row), (min(row["versions"]), _MANY), provider, {"T": list(row["types"])})
        for row in _operators()
        for provider in row["providers"]
    ]


def get_registered_ep_kernel_defs(ep_name: str) -> list[KernelDef]:
    """What one provider runs.

    Args:
        ep_name: the name of a provider that is built in.

    Raises:
        NotImplemented: the library is not Retort's.
    """
    return [kernel for kernel in get_all_opkernel_def() if kernel.provider == ep_name]


schemadef = ModuleType(f"{__package__}.capi.onnxruntime_pybind11_state.schemadef", "Schemas of operators.")
opkernel = ModuleType(f"{__package__}.capi.onnxruntime_pybind11_state.opkernel", "Kernels of providers.")
for _class in (AttrType, Attribute, FormalParameter, FormalParameterOption, SupportType, TypeConstraintParam):
    setattr(OpSchema, _class.__name__, _class)
schemadef.OpSchema = OpSchema  # type: ignore[attr-defined]
opkernel.KernelDef = KernelDef  # type: ignore[attr-defined]
