#!/usr/bin/env python3
"""bench/zoo/exact.py: outputs in float64, which errors are measured from."""
import json
import os
import subprocess
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tool import ROOT, TOOL, ToolTest

EXACT = os.path.join(ROOT, "bench", "zoo", "exact.py")
FLOAT = TensorProto.FLOAT


def infos(*ports):
    return [helper.make_tensor_value_info(*p) for p in ports]


class Exact(ToolTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        self.x, self.w = rng.standard_normal((4, 300)).astype(np.float32), rng.standard_normal((300, 5)).astype(np.float32)

    def place(self, folder, nodes, inputs, outputs, weights=(), arrays=()):
        """A folder with model.onnx and its inputs."""
        os.makedirs(self.path(folder))
        graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(a, n) for n, a in weights])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), self.path(f"{folder}/model.onnx"))
        for i, array in enumerate(arrays):
            self.pb(f"{folder}/input_{i}.pb", array)

    def product(self, folder):
        """A product in a body, after a cast to float, multiplied by a constant."""
        branch = lambda name, nodes: helper.make_graph(nodes, name, [], infos((name, FLOAT, None)))
        then = branch("a", [helper.make_node("MatMul", ["x32", "w"], ["m"]), helper.make_node("Mul", ["m", "c"], ["a"])])
        other = branch("b", [helper.make_node("Identity", ["x32"], ["b"])])
        nodes = [helper.make_node("Constant", [], ["c"], value_float=0.1), helper.make_node("Cast", ["x"], ["x32"], to=FLOAT),
                 helper.make_node("If", ["yes"], ["y"], then_branch=then, else_branch=other)]
        self.place(folder, nodes, infos(("x", FLOAT, [4, 300])), infos(("y", FLOAT, [4, 5])), [("w", self.w), ("yes", np.array(True))], [self.x])

    def exact(self, rows, *words):
        os.makedirs(self.path("zoo"), exist_ok=True)
        with open(self.path("zoo/index.json"), "w", encoding="utf-8") as f:
            json.dump(rows, f)
        done = subprocess.run([sys.executable, EXACT, self.path("zoo"), "--retort", TOOL, *words], capture_output=True, encoding="utf-8")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.path("zoo/index.json"), encoding="utf-8") as f:
            return json.load(f), done.stdout

    def row(self, model, **more):
        return {"model": model, "scenario": "b1", "path": f"../{model}/model.onnx", "inputs": f"../{model}", "precision": "float32", **more}

    def output(self, path):
        with open(self.path(path), "rb") as f:
            return numpy_helper.to_array(TensorProto.FromString(f.read()))

    def test_the_rounded_result(self):
        self.product("m")
        rows, out = self.exact([self.row("m")])
        self.assertEqual((rows[0]["expected"], rows[0]["expected_from"], out), ("expected/m/b1", "float64", "m/b1 done\n"))
        got = self.output("zoo/expected/m/b1/output_0.pb")
        wanted = (self.x.astype(np.float64) @ self.w.astype(np.float64) * np.float64(np.float32(0.1))).astype(np.float32)
        np.testing.assert_array_equal(got, wanted)
        self.assertEqual(got.dtype, np.float32)
        # So the test distinguishes doubles from floats.
        self.assertFalse(np.array_equal(wanted, self.x @ self.w * np.float32(0.1)))

    def test_operators_that_take_floats_only(self):
        nodes = [helper.make_node("Sqrt", ["x"], ["s"]), helper.make_node("Resize", ["s", "", "scales"], ["r"], mode="nearest"),
                 helper.make_node("DynamicQuantizeLinear", ["r"], ["q", "scale", "zero"]), helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
                 helper.make_node("Sub", ["r", "d"], ["y"])]
        x = np.abs(self.x[:1, :4]).reshape(1, 1, 2, 2)
        self.place("m", nodes, infos(("x", FLOAT, [1, 1, 2, 2])), infos(("y", FLOAT, None)), [("scales", np.array([1, 1, 2, 2], np.float32))], [x])
        self.exact([self.row("m")])
        got = self.output("zoo/expected/m/b1/output_0.pb")
        self.assertEqual(got.shape, (1, 1, 4, 4))
        self.assertLess(np.abs(got).max(), np.sqrt(x).max() / 255)  # the error of quantising

    def test_what_is_made_and_what_is_not(self):
        self.product("m")
        self.place("unknown", [helper.make_node("Zzz", ["x"], ["y"])], infos(("x", FLOAT, [2])), infos(("y", FLOAT, [2])), arrays=[np.ones(2, np.float32)])
        rows = [self.row("m"), self.row("m", scenario="b2"), self.row("m", scenario="b3", precision="int8"), self.row("unknown")]
        rows, out = self.exact(rows, "m/b1", "unk*")
        self.assertEqual(["expected" in r for r in rows], [True, False, False, False])
        self.assertRegex(out, r"^m/b1 done\nunknown/b1 does not run in doubles: .*Zzz")
        rows, out = self.exact(rows[:3])
        self.assertEqual(["expected" in r for r in rows], [True, True, False])
        self.assertEqual(out, "m/b2 done\n")  # the other one exists already

    def test_real_models(self):
        self.product("real/good")
        self.place("real/bad", [helper.make_node("Zzz", ["x"], ["y"])], infos(("x", FLOAT, [2])), infos(("y", FLOAT, [2])), arrays=[np.ones(2, np.float32)])
        self.exact([], "--real", self.path("real"), self.path("out"))
        with open(self.path("out/index.json"), encoding="utf-8") as f:
            bad, good = json.load(f)
        self.assertEqual((good["model"], good["expected_from"], good["expected"]), ("good", "float64", "expected/good"))
        self.assertTrue(os.path.exists(self.path("out/expected/good/output_0.pb")))
        self.assertEqual((bad["expected_from"], bad["expected"]), ("stored outputs", self.path("real/bad")))


if __name__ == "__main__":
    sys.exit(unittest.main())
