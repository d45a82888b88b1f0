#!/usr/bin/env python3
"""retort diff, on models that are wrong in one node."""
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
        self.assertRegex(out, r"they first differ at node 'product4' \(MatMul\), value 'm4'")
        self.assertRegex(out, r"the largest difference is at \[0,5\]: \S+ in the first, \S+ in the second")
        self.assertIn("its inputs agree: 'r3'", out)

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
        """Also if standard error is not a terminal."""
        code, out, err = retort("diff", self.chain("right"), "--against-model", self.chain("wrong", 4), "--json")
        begin, *looks, again = err.splitlines()
        self.assertRegex(begin, r"^retort diff: running both: Retort [\d.]+ and Retort [\d.]+$")
        self.assertGreater(len(looks), 1)
        for i, line in enumerate(looks):
            self.assertRegex(line, rf"^retort diff: run {i + 1}: \d values from node '\w+' to '\w+'$")
        self.assertIn("'product4'", again)
        self.assertEqual(json.loads(out)["first"]["looks"], len(looks))

    def test_arbiter(self):
        """A run in float64 says which side is right, at the outputs and at the first difference."""
        right, wrong = self.chain("right"), self.chain("wrong", 11)
        code, out, err = retort("diff", right, "--against-model", wrong, "--tolerance", 1e-5, "--arbiter", "--json")
        self.assertEqual(code, WRONG, err)
        told = json.loads(out)
        for judged in (told["outputs"][0]["arbiter"], told["first"]["arbiter"]):
            self.assertEqual(judged["closer"], "first")
            self.assertLess(judged["first"], 1e-5)
            self.assertGreater(judged["second"], 1e-5)
        x = np.random.default_rng(1).random((2, 16)).astype(np.float32)
        self.npy("x.npy", x)
        model = onnx.load(right)
        weights = {w.name: numpy_helper.to_array(w).astype(np.float64) for w in model.graph.initializer}
        exact = x.astype(np.float64)
        for i in range(20):
            exact = np.maximum(exact @ weights[f"W{i}"] + weights[f"b{i}"], 0)
        self.assertEqual(retort("run", right, "-i", self.path("x.npy"), "--save", self.path("out"))[0], 0)
        own = np.load(self.path("out/r19.npy"))
        code, out, _ = retort("diff", right, "--against-model", right, "-i", self.path("x.npy"), "--arbiter", "--json")
        judged = json.loads(out)["outputs"][0]["arbiter"]
        self.assertEqual((code, judged["closer"]), (0, "both"))
        self.assertAlmostEqual(judged["first"], np.abs(own - exact).max() / np.abs(exact).max(), delta=1e-9)
        self.assertIn("the first is right", retort("diff", right, "--against-model", wrong, "--arbiter")[1])

    def test_arbiter_of_other_operators(self):
        """Constants, bodies, casts, 16-bit floats, and operators that only have float32."""
        f32 = TensorProto.FLOAT
        body = [helper.make_graph([helper.make_node(op, ["h"], ["b"])], op, [], [helper.make_tensor_value_info("b", f32, None)]) for op in ("Relu", "Neg")]
        nodes = [helper.make_node("Constant", [], ["two"], value_float=2.0), helper.make_node("Mul", ["x", "two"], ["m"]),
                 helper.make_node("Cast", ["m"], ["half"], to=TensorProto.FLOAT16), helper.make_node("Cast", ["half"], ["h"], to=f32),
                 helper.make_node("If", ["c"], ["i"], then_branch=body[0], else_branch=body[1]),
                 helper.make_node("QuantizeLinear", ["i", "scale"], ["q"]), helper.make_node("DequantizeLinear", ["q", "scale"], ["y"])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", f32, [4]), helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
                                  [helper.make_tensor_value_info("y", f32, [4])], [numpy_helper.from_array(np.array(0.1, np.float32), "scale")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path("m.onnx"))
        code, out, err = retort("diff", self.path("m.onnx"), "--against-model", self.path("m.onnx"), "-i", "x=1,2.04,3,-4", "-i", "c=true", "--arbiter", "--json")
        self.assertEqual(code, 0, err)
        self.assertLess(json.loads(out)["outputs"][0]["arbiter"]["first"], 1e-6)

    def test_an_arbiter_that_cannot_run(self):
        """An operator has no float64: every output says so."""
        f32 = TensorProto.FLOAT
        nodes = [helper.make_node("MatMulNBits", ["x", "w", "s"], [y], domain="com.microsoft", K=16, N=1, bits=4, block_size=16) for y in "yz"]
        weights = [numpy_helper.from_array(np.zeros((1, 1, 8), np.uint8), "w"), numpy_helper.from_array(np.ones(1, np.float32), "s")]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", f32, [1, 16])],
                                  [helper.make_tensor_value_info(y, f32, [1, 1]) for y in "yz"], weights)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), self.path("m.onnx"))
        code, out, err = retort("diff", self.path("m.onnx"), "--against-model", self.path("m.onnx"), "--arbiter", "--json")
        self.assertEqual(code, 0, err)
        self.assertEqual([list(o["arbiter"]) for o in json.loads(out)["outputs"]], [["unknown"]] * 2)
        self.assertEqual(err.count("running the arbiter"), 1)

    def test_cut(self):
        """The nodes of the difference as a model that differs alone."""
        right, wrong = self.chain("right", external=True), self.chain("wrong", 11)
        code, out, err = retort("diff", right, "--against-model", wrong, "--tolerance", 1e-5, "--cut", self.path("cut"), "--json")
        self.assertEqual(code, WRONG, err)
        told = json.loads(out)
        cut = told["cut"]
        self.assertEqual((cut["differs"], cut["inputs"], cut["nodes"]), (True, ["r10"], 1), cut)
        model = onnx.load(self.path("cut/model.onnx"))
        onnx.checker.check_model(model, full_check=True)
        self.assertEqual([n.name for n in model.graph.node], ["product11"])
        self.assertEqual(retort("run", self.path("cut/model.onnx"), "--inputs", self.path("cut"), "--save", self.path("out"))[0], 0)
        with open(self.path("cut/input_0.pb"), "rb") as f:
            given = numpy_helper.to_array(onnx.TensorProto.FromString(f.read()))
        np.testing.assert_allclose(np.load(self.path("out/m11.npy")), given @ numpy_helper.to_array(model.graph.initializer[0]), rtol=1e-5)
        again = json.loads(retort("diff", self.path("cut/model.onnx"), "--against-model", self.path("cut/second_model.onnx"), "--inputs", self.path("cut"),
                                  "--tolerance", 1e-5, "--json")[1])
        self.assertEqual(again["first"]["value"], "m11")
        self.assertRegex(retort("diff", right, "--against-model", wrong, "--tolerance", 1e-5, "--cut", self.path("cut2"))[1], r"cut out: .*model.onnx with 1 node and 1 input; run alone, it differs ")

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

    def test_one_element_for_a_scalar(self):
        """Engines treat it differently, so it is made a scalar."""
        def model(name, factor):
            nodes = [helper.make_node("Exp", ["x"], ["h"], name="begin"), helper.make_node("Mul", ["h", "k"], ["y"], name="times")]
            return self.graph_model(name, nodes, [("x", TensorProto.FLOAT, [])], [("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(np.float32(factor), "k")])
        given = "-i", self.npy("x.npy", np.ones(1, np.float32))
        official = os.environ.get("RETORT_ORACLE")
        for words in ([], ["--against", official]) if official else ([],):
            first = self.first(model("right.onnx", 2), "--against-model", model("wrong.onnx", 3), *given, *words)
            self.assertEqual((first["node"], first["at"], first["ours"]["shape"]), ("times", "[]", []))

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

    def graph_model(self, name, nodes, inputs, outputs, constants, **more):
        ports = [[helper.make_tensor_value_info(*p) if isinstance(p, tuple) else p for p in side] for side in (inputs, outputs)]
        graph = helper.make_graph(nodes, "g", *ports, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("my", 1)], ir_version=8, **more)
        onnx.save(model, self.path(name))
        return self.path(name)

    def with_bodies(self, name, factors, unused=()):
        """Scan over rows, backwards; a Loop in each step, whose condition stays inside; inside that an If, whose
        branch multiplies by factors[turn]. The sums of the Loop are not read."""
        def body(name, nodes, inputs, outputs, constants=()):
            return helper.make_graph(nodes, name, *[[helper.make_tensor_value_info(n, t, s) for n, t, s in side] for side in (inputs, outputs)], constants)
        number, none = TensorProto.FLOAT, None
        row, yes, turn = ("row", number, [2]), ("yes", TensorProto.BOOL, []), ("turn", TensorProto.INT64, [])
        then = body("then", [helper.make_node("Gather", ["factors", "turn"], ["f"], name="pick"), helper.make_node("Mul", ["sum", "f"], ["same"], name="times")],
                    [], [("same", number, none)], [numpy_helper.from_array(np.array(factors, np.float32), "factors")])
        other = body("other", [helper.make_node("Neg", ["sum"], ["same"], name="minus")], [], [("same", number, none)])
        loop = body("loop", [helper.make_node("Add", ["at", "row"], ["sum"], name="plus"), helper.make_node("Identity", ["yes"], ["still"]),
                             helper.make_node("If", ["true"], ["next"], name="choice", then_branch=then, else_branch=other)],
                    [turn, yes, ("at", number, [2])], [("still", TensorProto.BOOL, []), ("next", number, [2]), ("sum", number, [2])])
        scan = body("scan", [helper.make_node("Abs", ["row"], ["size"], name="size"), helper.make_node("Loop", ["four", "", "size"], ["end", *unused], name="turns", body=loop),
                             helper.make_node("Add", ["state", "end"], ["total"], name="total")],
                    [("state", number, [2]), row], [("total", number, [2]), ("end", number, [2])])
        nodes = [helper.make_node("Scan", ["zero", "x"], ["last", "all"], name="rows", body=scan, num_scan_inputs=1, scan_input_directions=[1],
                                  scan_output_directions=[1], scan_output_axes=[1])]
        constants = [numpy_helper.from_array(np.array(v, t), n) for n, v, t in
                     (("zero", [0, 0], np.float32), ("four", 4, np.int64), ("true", True, bool))]
        return self.graph_model(name, nodes, [("x", number, [3, 2])], [("last", number, [2]), ("all", number, [2, 3])], constants)

    def test_inside_bodies(self):
        """The node inside If inside Loop inside Scan is found, and the iterations."""
        official = os.environ.get("RETORT_ORACLE")
        for unused, words in [((), [])] + [(("sums",), ["--against", official])] * bool(official):  # ONNX Runtime needs names for all of them
            right, wrong = (self.with_bodies(name, [1, 0.5, third, 1], unused) for name, third in (("right.onnx", 2), ("wrong.onnx", 2.5)))
            first = self.first(right, "--against-model", wrong, *words)
            self.assertEqual((first["node"], first["value"], first["values"]), ("pick", "f", [2, 2.5]))
            self.assertEqual([(s["node"], s["op"], s["body"], s.get("iteration")) for s in first["inside"]],
                             [("rows", "Scan", "body", 0), ("turns", "Loop", "body", 2), ("choice", "If", "then_branch", None)])
        code, out, err = retort("diff", right, "--against-model", wrong)
        self.assertEqual(code, WRONG, err)
        self.assertIn("they first differ at node 'pick' (Gather), value 'f'", out)
        self.assertIn("inside Loop 'turns', in its body, in iteration 2 (the first is 0)\n", out)

    def cut_of(self, right, wrong, *words):
        """The cut of a difference, its model and its inputs by name."""
        code, out, err = retort("diff", right, "--against-model", wrong, "--cut", self.path("cut"), "--json", *words)
        self.assertEqual(code, WRONG, err)
        cut = json.loads(out)["cut"]
        self.assertNotIn("failed", cut)
        model = onnx.load(self.path("cut/model.onnx"))
        onnx.checker.check_model(model, full_check=True)
        values = {}
        for i, port in enumerate(model.graph.input):
            with open(self.path(f"cut/input_{i}.pb"), "rb") as f:
                values[port.name] = numpy_helper.to_array(onnx.TensorProto.FromString(f.read()))
        return cut, model, values

    def test_cut_out_of_bodies(self):
        """The node inside If inside Loop inside Scan as a model of its own, with the values of that iteration."""
        right, wrong = (self.with_bodies(name, [1, 0.5, third, 1]) for name, third in (("right.onnx", 2), ("wrong.onnx", 2.5)))
        cut, model, values = self.cut_of(right, wrong)
        self.assertEqual((cut["differs"], cut["nodes"], cut["inputs"], [n.name for n in model.graph.node]), (True, 1, ["turn"], ["pick"]))
        self.assertEqual(values["turn"], 2)
        self.assertEqual(numpy_helper.to_array(model.graph.initializer[0]).tolist(), [1, 0.5, 2, 1])  # of the body
        self.assertEqual(json.loads(retort("run", self.path("cut/model.onnx"), "--inputs", self.path("cut"), "--json")[1])["outputs"]["f"]["values"], [2])
        again = json.loads(retort("diff", self.path("cut/model.onnx"), "--against-model", self.path("cut/second_model.onnx"), "--inputs", self.path("cut"), "--json")[1])
        self.assertEqual(again["first"]["values"], [2, 2.5])

    def test_cut_out_of_a_loop_whose_values_grow(self):
        right, wrong = self.growing("a.onnx", [1, 0, 2, 0]), self.growing("b.onnx", [1, 0, 3, 0])
        cut, model, values = self.cut_of(right, wrong)
        self.assertEqual((cut["differs"], [n.name for n in model.graph.node]), (True, ["pick"]))
        self.assertEqual(numpy_helper.to_array(model.graph.initializer[0]).tolist(), [1, 0, 2, 0])  # of the graph around it
        self.assertEqual(values["i"], 2)

    def test_cut_around_a_body_that_cannot_be_shown(self):
        right, wrong = (self.growing(name, [1, 0, third, 0], "Loop") for name, third in (("a.onnx", 2), ("b.onnx", 3)))
        cut, model, values = self.cut_of(right, wrong)
        self.assertEqual((cut["differs"], [n.name for n in model.graph.node], list(values)), (True, ["grow"], ["x"]))

    def growing(self, name, factors, around=None):
        """A Loop that appends x to its carried value, multiplies by factors[turn], and in odd iterations runs a
        branch; inside `around`, if given."""
        info, float_, int_, bool_ = helper.make_tensor_value_info, TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
        then = helper.make_graph([helper.make_node("Neg", ["longer"], ["t"], name="minus")], "then", [], [info("t", float_, None)])
        other = helper.make_graph([helper.make_node("Gather", ["factors", "i"], ["f"], name="pick"), helper.make_node("Mul", ["longer", "f"], ["o"], name="times")],
                                  "other", [], [info("o", float_, None)])
        body = helper.make_graph([helper.make_node("Concat", ["at", "x"], ["longer"], axis=0, name="longer"), helper.make_node("Mod", ["i", "two"], ["rest"]),
                                  helper.make_node("Cast", ["rest"], ["odd"], to=bool_), helper.make_node("If", ["odd"], ["next"], name="choice", then_branch=then, else_branch=other),
                                  helper.make_node("ReduceMax", ["next"], ["most"], name="most", keepdims=0), helper.make_node("Identity", ["go"], ["go_on"])],
                                 "b", [info("i", int_, []), info("go", bool_, []), info("at", float_, ["n"])],
                                 [info("go_on", bool_, []), info("next", float_, ["m"]), info("most", float_, [])])
        nodes = [helper.make_node("Loop", ["four", "", "x"], ["y", "all"], name="grow", body=body)]
        if around == "If":
            empty = helper.make_graph([helper.make_node("Identity", ["x"], ["none"])], "empty", [], [info("none", float_, None)])
            whole = helper.make_graph([*nodes, helper.make_node("Abs", ["y"], ["size"])], "whole", [], [info("size", float_, None)])
            nodes = [helper.make_node("If", ["true"], ["z"], name="maybe", then_branch=whole, else_branch=empty)]
        elif around == "Loop":
            outer = helper.make_graph([*nodes, helper.make_node("ReduceSum", ["y"], ["sum"], keepdims=0), helper.make_node("Identity", ["go_"], ["go_on_"])], "outer",
                                      [info("turn", int_, []), info("go_", bool_, []), info("last", float_, [])], [info("go_on_", bool_, []), info("sum", float_, [])])
            nodes = [helper.make_node("Loop", ["two", "", "zero"], ["z"], name="twice", body=outer)]
        ends = [("z", float_, None)] if around else [("y", float_, None), ("all", float_, None)]
        constants = {"four": np.array(4), "two": np.array(2), "true": np.array(True), "zero": np.float32(0), "factors": np.array(factors, np.float32)}
        return self.graph_model(name, nodes, [("x", float_, [2])], ends, [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()])

    def engines(self):
        """Arguments for each available pair of engines."""
        official = os.environ.get("RETORT_ORACLE")
        return [[], ["--against", official]] if official else [[]]

    def test_bodies_whose_values_change_shape(self):
        """Values that grow with each iteration, and values of one of two branches: the iteration is found if a Loop
        lists them."""
        for around in (None, "If"):
            right, wrong = self.growing("a.onnx", [1, 0, 2, 0], around), self.growing("b.onnx", [1, 0, 3, 0], around)
            for words in self.engines():
                self.assertEqual(retort("diff", right, "--against-model", right, *words)[0], 0)
                first = self.first(right, "--against-model", wrong, *words)
                self.assertEqual((first["node"], first["value"], first["values"]), ("pick", "f", [2, 3]), first)
                *outside, loop, choice = [(s["node"], s["op"], s["body"], s.get("iteration")) for s in first["inside"]]
                self.assertEqual((loop, choice), (("grow", "Loop", "body", 2), ("choice", "If", "else_branch", None)))
                self.assertEqual(outside, [("maybe", "If", "then_branch", None)] if around else [])
        out = retort("diff", right, "--against-model", wrong)[1]
        self.assertIn("inside Loop 'grow', in its body, in iteration 2 (the first is 0)\n", out)

    def test_bodies_that_cannot_be_shown(self):
        """For bodies in two nested loops, the report names the node around them, and the reason."""
        right, wrong = (self.growing(name, [1, 0, third, 0], "Loop") for name, third in (("a.onnx", 2), ("b.onnx", 3)))
        first = self.first(right, "--against-model", wrong)
        self.assertEqual((first["node"], first["op"], first["inside"][0]["iteration"]), ("grow", "Loop", 0))
        self.assertIn("values whose shape changes can only be shown inside a single Loop", first["inside_unseen"])
        self.assertIn("the place inside is unknown: values whose shape changes can only", retort("diff", right, "--against-model", wrong)[1])

    def test_loops_of_old_operator_sets(self):
        """Before opset 13 they only carry tensors; an engine's error about this is handled."""
        official = os.environ.get("RETORT_ORACLE")
        if not official:
            self.skipTest("no official ONNX Runtime")
        paths = [self.growing("a.onnx", [1, 0, 2, 0]), self.growing("b.onnx", [1, 0, 3, 0])]
        for path in paths:
            model = onnx.load(path)
            model.opset_import[0].version = 11
            onnx.save(model, path)
        first = self.first(paths[0], "--against-model", paths[1], "--against", official)
        self.assertEqual(first["node"], "grow")
        self.assertIn("only from opset 13 on; this model has 11", first["inside_unseen"])

    def test_sequences(self):
        """An output that is a sequence is compared item by item."""
        def model(name, factor, items):
            nodes = [helper.make_node("Mul", ["x", "k"], ["m"], name="times"), helper.make_node("SequenceConstruct", ["x", "m"] + ["m"] * (items - 2), ["s"], name="list")]
            return self.graph_model(name, nodes, [("x", TensorProto.FLOAT, [2])], [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)],
                                    [numpy_helper.from_array(np.float32(factor), "k")])
        right = model("right.onnx", 2, 2)
        self.assertEqual(retort("diff", right, "--against-model", right)[0], 0)
        first = self.first(right, "--against-model", model("wrong.onnx", 3, 2))
        self.assertEqual((first["node"], first["value"]), ("times", "m"))
        first = self.first(right, "--against-model", model("longer.onnx", 2, 3))
        self.assertEqual((first["node"], first["what"]), ("list", "a sequence of 2 and a sequence of 3"))

    def test_functions(self):
        """The file has the call; the function's nodes cannot be shown."""
        def model(name, factor):
            constant = helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(np.float32(factor)))
            twice = helper.make_function("my", "Twice", ["a"], ["c"], [constant, helper.make_node("Mul", ["a", "k"], ["b"]), helper.make_node("Abs", ["b"], ["c"], name="end")],
                                         [helper.make_opsetid("", 17)])
            nodes = [helper.make_node("Exp", ["x"], ["h"], name="begin"), helper.make_node("Twice", ["h"], ["y"], name="call", domain="my")]
            return self.graph_model(name, nodes, [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2])], [], functions=[twice])
        first = self.first(model("right.onnx", 2), "--against-model", model("wrong.onnx", 3))
        self.assertEqual((first["node"], first["op"], first["agreeing"]), ("call", "Twice", ["h"]))

    def test_nothing_in_common(self):
        right = self.chain("right")
        self.fails(1, ["diff", DIGITS, "--against-model", right], "image")  # the inputs are others
        renamed = onnx.load(right)
        renamed.graph.node[-1].output[0] = renamed.graph.output[0].name = "z"
        onnx.save(renamed, self.path("renamed.onnx"))
        self.fails(1, ["diff", right, "--against-model", self.path("renamed.onnx")], "output 'r19' is not compared", "no output in common")

    def test_without_a_pass(self):
        """The first engine leaves the pass out, so its nodes are no longer fused."""
        words = self.chain("right"), "--against-model", self.chain("wrong", 4)
        self.assertIn("runs_within", self.first(*words))
        self.assertNotIn("runs_within", self.first(*words, "--disable", "linear", "--disable", "epilogues"))

    def test_wrong_usage(self):
        self.fails(2, ["diff", DIGITS], "--against")
        self.fails(1, ["diff", DIGITS, "--against", "/nowhere.so"], "/nowhere.so")
        self.fails(2, ["diff", DIGITS, "--against-model", DIGITS, "--tolerance", "-1"], "--tolerance")


if __name__ == "__main__":
    sys.exit(unittest.main())
