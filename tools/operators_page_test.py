#!/usr/bin/env python3
"""Tests how tools/operators_page.py writes what it found. tests/cli/ops_test.py compares the page with the library."""
import unittest

import operator_probe as probing
import operators_page as op
import schemas
from schemas import Operator, Parameter, Version


def version(since, types, inputs=("T",), outputs=("T",)):
    def parameters(variables):
        return tuple(Parameter(v.lower(), v, "single", True) for v in variables)
    return Version(since, since, parameters(inputs), parameters(outputs), {}, types, 1, 1, 1, 1, False)


class FakeProbe:
    """`ways`: {(version, variable, type): a way, maybe with " partly"}; a kernel if there is none."""

    def __init__(self, ways):
        self.ways = ways

    def way(self, _operator, version, types):
        (variable, element), = types.items() or (("", 0),)
        way = self.ways.get((version.since, variable, schemas.NAMES.get(element, "")), "kernel")
        return way.removesuffix(" partly"), way.endswith(" partly")


def entry(versions, ways):
    return op.Entry(Operator("Thing", "", versions), FakeProbe(ways))


class Cells(unittest.TestCase):
    def test_families(self):
        self.assertEqual(op.shortened(["float16", "float32", "float64", "bfloat16", "bool"]), "*floats* bool")
        self.assertEqual(op.shortened(["float32", "bool"]), "bool float32")

    def test_each_type_is_in_one_column(self):
        texts = ["tensor(float)", "tensor(double)", "tensor(int8)", "tensor(string)"]
        e = entry([version(1, {"T": texts})], {(1, "T", "double"): "reference", (1, "T", "int8"): "converted", (1, "T", "string"): probing.REFUSED})
        self.assertEqual(e.row([]), "| Thing | 1 | float32 | float64 int8 | string |  |\n")
        self.assertEqual(op.counted("", [e]), "| ai.onnx | 1 | 1 | 4 | 1 | 2 | 1 |")

    def test_a_version_that_differs(self):
        e = entry([version(1, {"T": ["tensor(float)"]}), version(7, {"T": ["tensor(float)", "tensor(int8)"]})], {(7, "T", "float"): "reference"})
        self.assertEqual((e.cell("kernel"), e.cell("reference")), ("int8", "float32 (version 7)"))

    def test_attributes_that_exclude_a_type(self):
        e = entry([version(1, {"T": ["tensor(float)", "tensor(string)"]})], {(1, "T", "string"): "kernel partly"})
        self.assertEqual(e.cell("kernel"), "float32 string (partly)")

    def test_what_was_not_drawn_is_not_claimed(self):
        e = entry([version(1, {"T": ["tensor(float)", "tensor(int8)"]})], {(1, "T", "int8"): ""})
        self.assertEqual((e.cell("kernel"), e.cell(probing.REFUSED)), ("float32", ""))
        none = entry([version(1, {"T": ["tensor(float)"]})], {(1, "T", "float"): ""})
        self.assertIn("depends on the nodes around it", none.row([]))

    def test_variables(self):
        types = {"T": ["tensor(float)"], "Tind": ["tensor(int32)", "tensor(int64)"], "Out": ["tensor(bool)"]}
        e = entry([version(1, types, ("T", "Tind"), ("Out",))], {})
        self.assertEqual(e.variables(), ["T"])  # indices and outputs tell nothing
        self.assertEqual(e.row(["Add"]), "| Thing | 1 | float32 |  |  | Add |\n")
        two = entry([version(1, {"A": ["tensor(float)"], "B": ["tensor(bool)"]}, ("A", "B"), ("A",))], {})
        self.assertEqual(two.cell("kernel"), "A: float32; B: bool")
        fixed = entry([version(1, {}, ("tensor(float)",), ("tensor(float)",))], {})
        self.assertEqual(fixed.cell("kernel"), op.FIXED)


if __name__ == "__main__":
    unittest.main()
