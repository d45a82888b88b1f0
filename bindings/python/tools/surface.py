"""Lists the public names of an installed package and the signatures of its functions.

    surface.py PACKAGE > FILE        one row per name: name, kind, signature (tab-separated)

It reads ordinary functions with inspect, and functions of extensions from what pybind11 and nanobind keep about them.
Annotations are left out: only names, order, kinds and defaults of parameters are compared.
"""

import importlib
import inspect
import re
import sys
import types
from typing import Any, NamedTuple

MODULES = (
    "",
    "capi._pybind_state",
    "capi.onnxruntime_pybind11_state",
    "capi.onnxruntime_inference_collection",
    "capi.onnxruntime_validation",
    "capi.build_and_package_info",
    "capi.onnxruntime_collect_build_info",
    "capi.convert_npz_to_onnx_adapter",
    "backend",
    "backend.backend",
    "backend.backend_rep",
    "datasets",
)
# Special methods that are part of what a class offers; the others come with Python or with the binding tool.
SPECIAL = {
    "__init__", "__len__", "__iter__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__bool__",
    "__array__", "__dlpack__", "__dlpack_device__", "__index__", "__int__", "__call__",
}


class Row(NamedTuple):
    name: str
    kind: str
    signature: str


class NoSignature(Exception):
    """A callable does not tell its parameters."""


def parameters_of_text(text: str) -> list[inspect.Parameter]:
    """Parameters of "(self: X, a: int = 2, *args)", whose defaults may be any text."""
    parameters = []
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for piece in split_at_commas(text.strip()[1:-1]):
        if piece == "/":
            parameters = [p.replace(kind=inspect.Parameter.POSITIONAL_ONLY) for p in parameters]
        elif piece == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        elif piece.startswith("**"):
            parameters.append(inspect.Parameter(piece[2:].split(":")[0], inspect.Parameter.VAR_KEYWORD))
        elif piece.startswith("*"):
            parameters.append(inspect.Parameter(piece[1:].split(":")[0], inspect.Parameter.VAR_POSITIONAL))
            kind = inspect.Parameter.KEYWORD_ONLY
        else:
            head, separator, default = piece.partition(" = ") if " = " in piece else piece.partition("=")
            name = head.split(":")[0].strip()
            value = Text(default.strip()) if separator else inspect.Parameter.empty
            parameters.append(inspect.Parameter(name, kind, default=value))
    return parameters


class Text:
    """A default of which only the text is known."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def split_at_commas(text: str) -> list[str]:
    """The pieces between commas that are in no bracket and no quotation."""
    pieces, depth, start, quote = [], 0, 0, ""
    for index, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{<":
            depth += 1
        elif letter in ")]}" or (letter == ">" and text[index - 1] != "-"):
            depth -= 1
        elif letter == "," and depth == 0:
            pieces.append(text[start:index].strip())
            start = index + 1
    return [piece for piece in [*pieces, text[start:].strip()] if piece]


def matching_bracket(text: str) -> int:
    """The place of the bracket that closes the first one of a text."""
    depth, quote = 0, ""
    for index, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "(":
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth == 0:
                return index
    raise NoSignature(f"{text!r} has a bracket that is not closed")


def texts_of_pybind(function: Any) -> list[str]:
    """The signatures of a pybind11 function, which are the first lines of its text."""
    name = re.escape(function.__name__)
    texts = []
    for line in (function.__doc__ or "").splitlines():
        match = re.match(rf"(?:\d+\. )?{name}(\(.*)", line)
        if match and "Overloaded" not in line:
            texts.append(match[1][: matching_bracket(match[1]) + 1])
    return texts[1:] if len(texts) > 1 and texts[0] == "(*args, **kwargs)" else texts


def texts_of_nanobind(function: Any) -> list[str]:
    """The signatures of a nanobind function; it keeps defaults apart and marks their places by \\0, \\1 and so on."""
    texts = []
    for signature, _, *defaults in function.__nb_signature__:
        text = signature[signature.index("(") :]
        text = text[: matching_bracket(text) + 1]
        for index, value in enumerate((defaults[0] if defaults else None) or ()):
            text = text.replace(f"\\{index}", repr(value))
        texts.append(text)
    return texts


def parameters_of(function: Any) -> list[list[inspect.Parameter]]:
    """For each overload of a callable its parameters."""
    if hasattr(function, "__nb_signature__"):
        return [parameters_of_text(text) for text in texts_of_nanobind(function)]
    try:
        return [list(inspect.signature(function).parameters.values())]
    except (ValueError, TypeError):
        texts = texts_of_pybind(function)
        if not texts:
            raise NoSignature(f"{function!r} does not tell its parameters") from None
        return [parameters_of_text(text) for text in texts]


def text_of(parameters: list[inspect.Parameter]) -> str:
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return str(inspect.Signature(bare, __validate_parameters__=False))


def signature_text(function: Any) -> str:
    """The overloads of a callable, without annotations, separated by " | "."""
    return " | ".join(text_of(parameters) for parameters in parameters_of(function))


def is_enumeration(cls: type) -> bool:
    return hasattr(cls, "__entries") or (hasattr(cls, "_member_map_") and bool(cls.__members__))


def members_of_enumeration(cls: Any) -> dict[str, int]:
    return {name: int(getattr(value, "value", value)) for name, value in dict(cls.__members__).items()}


def raw_members(cls: type, package: str) -> dict[str, Any]:
    """What a class and its bases of the same package define."""
    members: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if (getattr(base, "__module__", "") or "").split(".")[0] == package:
            members.update(vars(base))
    return members


def has_constructor(cls: type) -> bool:
    """Whether programs can make objects of a class: pybind11 and nanobind leave a refusing one where none is bound."""
    init = cls.__init__
    return init is not object.__init__ and type(init) is not types.WrapperDescriptorType


def member_row(name: str, member: str, raw: Any, cls: type) -> Row | None:
    full = f"{name}.{member}"
    if member == "__init__":
        return Row(full, "method", signature_text(cls.__init__)) if has_constructor(cls) else None
    if isinstance(raw, property) or type(raw).__name__ in ("pybind11_static_property", "nb_static_property"):
        writable = raw.fset is not None
        return Row(full, "property", "read and write" if writable else "read")
    if isinstance(raw, (staticmethod, classmethod)):
        return Row(full, type(raw).__name__, signature_text(raw.__func__))
    if type(raw).__name__ == "nb_func":  # nanobind's methods are nb_method
        return Row(full, "staticmethod", signature_text(raw))
    if callable(raw):
        return Row(full, "method", signature_text(raw))
    return Row(full, "value", repr(raw))


def class_rows(name: str, cls: type, package: str) -> list[Row]:
    if issubclass(cls, BaseException):
        bases = ", ".join(base.__name__ for base in cls.__mro__[1:-2])
        return [Row(name, "exception", bases)]
    if is_enumeration(cls):
        return [Row(name, "enumeration", "")] + [
            Row(f"{name}.{member}", "member", str(value)) for member, value in members_of_enumeration(cls).items()
        ]
    rows = [Row(name, "class", "")]
    for member, raw in sorted(raw_members(cls, package).items()):
        if (not member.startswith("_") or member in SPECIAL) and raw is not None:
            row = member_row(name, member, raw, cls)
            if row:
                rows.append(row)
    return rows


def belongs(value: Any, package: str) -> bool:
    """Whether a value was made by the package, and not imported from elsewhere."""
    if isinstance(value, types.ModuleType):
        return False
    module = getattr(value, "__module__", None)
    return module is None or module.split(".")[0] in (package, "_native")


def public_names(module: types.ModuleType, package: str) -> dict[str, Any]:
    # dir() has names that a module imports at their first use.
    values = {name: getattr(module, name) for name in sorted(dir(module)) if not name.startswith("_")}
    return {name: value for name, value in values.items() if belongs(value, package)}


def rows_of_value(full: str, value: Any, package: str) -> list[Row]:
    if isinstance(value, type):
        return class_rows(full, value, package)
    if callable(value) and hasattr(value, "__name__"):
        return [Row(full, "function", signature_text(value))]
    return [Row(full, "value", type(value).__name__)]


def collect(package: str) -> list[Row]:
    """All rows of an importable package; a name that stands for an object listed before is an alias of it."""
    rows: list[Row] = []
    seen: dict[int, str] = {}
    for module_name in MODULES:
        full_name = f"{package}.{module_name}" if module_name else package
        module = importlib.import_module(full_name)
        for name, value in public_names(module, package).items():
            full = f"{module_name}.{name}" if module_name else name
            known = seen.get(id(value))
            if known and (isinstance(value, type) or callable(value)):
                rows.append(Row(full, "alias", known))
                continue
            seen.setdefault(id(value), full)
            rows.extend(rows_of_value(full, value, package))
    return rows


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    for row in collect(sys.argv[1]):
        print("\t".join(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
