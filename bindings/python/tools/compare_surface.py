"""Compares the public names of this package with those of onnxruntime, name by name.

    compare_surface.py TABLE [PACKAGE]      TABLE: what surface.py wrote about onnxruntime

A name is "equal" if kind and signature are, "extended" if every call that the official one accepts means the same here
and ours accepts more, "different" or "missing" otherwise.
"""

import inspect
import re
import sys
from typing import NamedTuple

import surface


# Signatures that accept more than the official ones, each with what for.
_AWAITED = "without a callback, the run can be awaited"
_OMITTED = "the last argument may be left out"
_DLPACK = "the newer protocol of DLPack has more arguments"
EXTENDED = {
    "InferenceSession.run_async": _AWAITED,
    "capi.onnxruntime_inference_collection.Session.run_async": _AWAITED,
    "OrtValue.__dlpack__": _DLPACK,
    "capi._pybind_state.OrtValue.__dlpack__": _DLPACK,
    "capi._pybind_state.InferenceSession.run": _OMITTED,
    "capi._pybind_state.InferenceSession.run_async": _OMITTED,
    "capi._pybind_state.InferenceSession.run_with_iobinding": _OMITTED,
    "capi._pybind_state.InferenceSession.run_with_ort_values": _OMITTED,
    "capi._pybind_state.ModelCompiler.compile_to_file": _OMITTED,
}


class Verdict(NamedTuple):
    name: str
    kind: str
    verdict: str  # "equal", "extended", "different" or "missing"
    official: str
    ours: str


def read_table(path: str) -> list[surface.Row]:
    with open(path, encoding="utf-8") as file:
        return [surface.Row(*line.rstrip("\n").split("\t")) for line in file]


def overloads(text: str) -> list[list[inspect.Parameter]]:
    return [surface.parameters_of_text(part) for part in text.split(" | ")]


def is_placeholder(name: str) -> bool:
    """Names that pybind11 gives to parameters that have none; they can be given by position only."""
    return re.fullmatch(r"arg\d+", name) is not None


def same_parameter(theirs: inspect.Parameter, ours: inspect.Parameter) -> bool:
    """Whether ours can be given as theirs can, with the same default."""
    by_position = (
        is_placeholder(theirs.name) or theirs.name == "self" or theirs.kind == inspect.Parameter.POSITIONAL_ONLY
    )
    if not by_position and theirs.name != ours.name:
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if theirs.kind != ours.kind and not (by_position and ours.kind in positional):
        return False
    if theirs.default is inspect.Parameter.empty:
        return True
    return repr(theirs.default) == repr(ours.default)


def optional(parameter: inspect.Parameter) -> bool:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return parameter.kind in variadic or parameter.default is not inspect.Parameter.empty


def compare_parameters(theirs: list[inspect.Parameter], ours: list[inspect.Parameter]) -> str:
    if len(ours) < len(theirs) or not all(map(same_parameter, theirs, ours)):
        return "different"
    added = ours[len(theirs) :]
    if not all(map(optional, added)):
        return "different"
    relaxed = any(optional(b) and not optional(a) for a, b in zip(theirs, ours))
    return "extended" if added or relaxed else "equal"


def compare_signatures(theirs: str, ours: str) -> str:
    """The worst of the best matches of their overloads."""
    order = ("equal", "extended", "different")
    results = [min((compare_parameters(a, b) for b in overloads(ours)), key=order.index) for a in overloads(theirs)]
    return max(results, key=order.index)


def compare_rows(theirs: surface.Row, ours: surface.Row | None) -> str:
    if ours is None:
        return "missing"
    if theirs.kind != ours.kind:
        return "different"
    if theirs.kind in ("method", "staticmethod", "classmethod", "function"):
        return compare_signatures(theirs.signature, ours.signature)
    if theirs.kind == "property":
        extended = theirs.signature == "read" and ours.signature != "read"
        return "equal" if theirs.signature == ours.signature else "extended" if extended else "different"
    return "equal" if theirs.signature == ours.signature else "different"


def compare(table: list[surface.Row], rows: list[surface.Row]) -> list[Verdict]:
    ours = {row.name: row for row in rows}
    return [
        Verdict(row.name, row.kind, compare_rows(row, ours.get(row.name)), row.signature, found.signature if found else "")
        for row in table
        for found in [ours.get(row.name)]
    ]


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    verdicts = compare(read_table(sys.argv[1]), surface.collect(sys.argv[2] if len(sys.argv) > 2 else "retort"))
    for verdict in verdicts:
        if verdict.verdict != "equal":
            print(f"{verdict.verdict}: {verdict.name} ({verdict.kind}): {verdict.official!r}, here {verdict.ours!r}")
    bad = sum(verdict.verdict in ("missing", "different") for verdict in verdicts)
    print(f"{len(verdicts) - bad} of {len(verdicts)} names are equal or extended")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
