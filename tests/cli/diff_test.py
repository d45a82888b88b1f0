#!/usr/bin/env python3
"""retort diff: models that are made wrong in one node."""
import json
import os
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tool import DIGITS, ToolTest, retort

WRONG = 3  # the exit code for "they differ"


class Diff(ToolTest):
    def chain(self, name, wrong=None, external=False):
        """20 layers x · W + b, relu; the weights of layer `wrong` differ."""
        rng = np.random.default_rng(7)
        nodes, constants, at = [], [], "x"
        for i in range(20):
            weights = (rng.random((16, 16)) / 8).astype(np.float32)
            if i == wrong:
                weights[3, 5] += 0.5
            constants += [numpy_helper.from_array(weights, f"W{i}"), numpy_helper.from_array(rng.random(16).astype(np.float32), f"b{i}")]
            nodes += [helper.make_node("MatMul", [at, f"W{i}"], [f"m{i}"], name=f"product{i}"),
                      helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"], name=f"bias{i}"),
                      helper.make_node("Relu", [f"a{i}"], [f"r{i}"], name=f"relu{i}")]
            at = f"r{i}"
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 16]) for n in ("x", at)]
        model = helper.make_model(helper.make_graph(nodes, "chain", ports[:1], ports[1:], constants),
                                  opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        os.makedirs(self.path(name), exist_ok=True)
        path = self.path(os.path.join(name, "m.onnx"))
        onnx.save(model, path, save_as_external_data=external, location="weights.bin", size_threshold=0)
        return path

    def first(self, *words):
        code, out, err = retort("diff", *words, "--json")
        self.assertEqual(code, WRONG, err)
        told = json.loads(out)
        self.assertFalse(told["agree"])
        return told["first"]

    def test_the_wrong_node_is_found(self):
        right = self.chain("right")
        for wrong in (0, 11, 19):
            first = self.first(right, "--against-model", self.chain("wrong", wrong), "--tolerance", 1e-5)  # the first is diluted by 19 layers
            self.assertEqual((first["node"], first["value"], first["op"]), (f"product{wrong}", f"m{wrong}", "MatMul"))
            self.assertEqual(first["agreeing"], [f"r{wrong - 1}"] if wrong else [])
            self.assertGreater(abs(first["values"][0] - first["values"][1]), 1e-3)
            self.assertRegex(first["at"], r"^\[0,5\]$")
            self.assertLess(first["looks"], 8)
            self.assertIn(f"product{wrong}", first["runs_within"]["origins"])  # fused with its bias and activation
            self.assertIn(f"relu{wrong}", first["runs_within"]["origins"])

    def test_text(self):
        code, out, _ = retort("diff", self.chain("right"), "--against-model", self.chain("wrong", 4))
        self.assertEqual(code, WRONG)
        self.assertRegex(out, r"they part first at node 'product4' \(MatMul\), value 'm4'")
        self.assertRegex(out, r"most at \[0,5\]: \S+ here, \S+ there")
        self.assertIn("what it is made from agrees: 'r3'", out)

    def test_external_data(self):
        first = self.first(self.chain("right", external=True), "--against-model", self.chain("wrong", 7, external=True))
        self.assertEqual(first["node"], "product7")

    def test_same_model(self):
        right = self.chain("right")
        code, out, err = retort("diff", right, "--against-model", right)
        self.assertEqual(code, 0, err)
        self.assertIn("agree", out)
        self.assertEqual(len(err.splitlines()), 1, err)

    def test_tells_its_steps(self):
        """Also where standard error is no terminal."""
        code, out, err = retort("diff", self.chain("right"), "--against-model", self.chain("wrong", 4), "--json")
        begin, *looks, again = err.splitlines()
        self.assertRegex(begin, r"^retort diff: running both: Retort [\d.]+ and Retort [\d.]+$")
        self.assertGreater(len(looks), 1)
        for i, line in enumerate(looks):
            self.assertRegex(line, rf"^retort diff: look {i + 1}: \d values from node '\w+' to '\w+'$")
        self.assertIn("'product4'", again)
        self.assertEqual(json.loads(out)["first"]["looks"], len(looks))

    def test_tolerance(self):
        right, wrong = self.chain("right"), self.chain("wrong", 4)
        self.assertEqual(retort("diff", right, "--against-model", wrong, "--tolerance", 10)[0], 0)

    def test_other_engine(self):
        official = os.environ.get("RETORT_ORACLE")
        if not official:
            self.skipTest("no official ONNX Runtime")
        right = self.chain("right")
        self.assertEqual(retort("diff", right, "--against", official)[0], 0)
        code, out, err = retort("diff", DIGITS, "--against", official, "--json")
        self.assertEqual(code, 0, err)
        ours, theirs = json.loads(out)["engines"]
        self.assertRegex(ours + theirs, r"^Retort \d+\.\d+\.\d+ONNX Runtime 1\.\d+\.\d+$")
        self.assertIn(f"running both: {ours} and {theirs}\n", err)
        first = self.first(right, "--against", official, "--against-model", self.chain("wrong", 13))
        self.assertEqual(first["node"], "product13")

    def test_outputs_of_other_shape(self):
        ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4]), helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
        paths = []
        for axes in ([0], [1]):
            graph = helper.make_graph([helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Unsqueeze", ["h", "axes"], ["y"], name="u")],
                                      "g", ports[:1], ports[1:], [helper.make_tensor("axes", TensorProto.INT64, [1], axes)])
            paths.append(self.path(f"{axes[0]}.onnx"))
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), paths[-1])
        first = self.first(paths[0], "--against-model", paths[1])
        self.assertEqual((first["node"], first["what"]), ("u", "shapes 1x4 and 4x1"))

    def test_wrong_usage(self):
        self.fails(2, ["diff", DIGITS], "--against")
        self.fails(1, ["diff", DIGITS, "--against", "/nowhere.so"], "/nowhere.so")


if __name__ == "__main__":
    sys.exit(unittest.main())
