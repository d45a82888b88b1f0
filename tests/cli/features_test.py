#!/usr/bin/env python3
"""Values and tables as inputs, what run shows of outputs, throughput, weights, trees."""
import json
import os
import re
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tool import DIGITS, TOOL, ToolTest, retort
import subprocess

F32, I64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


class Features(ToolTest):
    def identity(self, dtype, shape):
        return self.model([helper.make_node("Identity", ["x"], ["y"])], [value("x", dtype, shape)], [value("y", dtype, shape)])

    def told(self, *words, code=0):
        got, out, err = retort(*words, "--json")
        self.assertEqual(got, code, err)
        return json.loads(out)

    def received(self, dtype, shape, text):
        """The tensor that the model gets for a value."""
        code, _, err = retort("run", self.identity(dtype, shape), "-i", text, "--save", self.path("out"))
        self.assertEqual(code, 0, err)
        return np.load(self.path("out/y.npy"))

    def test_numbers(self):
        for dtype, shape, text, expected in (
                (I64, [], "x=16000", np.array(16000)), (I64, ["n"], "x=1,2,3", np.array([1, 2, 3])), (F32, [1], "0.5", np.array([0.5], np.float32)),
                (F32, ["b", 2], "x=1,2,3,4", np.array([[1, 2], [3, 4]], np.float32)), (F32, ["b", "n"], "x=[[1,2,3]]", np.array([[1, 2, 3]], np.float32)),
                (TensorProto.BOOL, [2], "x=true,false", np.array([True, False])), (I64, [1], "x=-9223372036854775808", np.array([-2**63])),
                (TensorProto.UINT64, [1], "x=18446744073709551615", np.array([2**64 - 1], np.uint64)), (F32, [2], "x=nan,-inf", np.array([np.nan, -np.inf], np.float32)),
                (TensorProto.FLOAT16, [1], "x=0.1", np.array([0.1], np.float16))):
            got = self.received(dtype, shape, text)
            np.testing.assert_array_equal(got, expected)
            self.assertEqual((got.dtype, got.shape), (expected.dtype, expected.shape), text)

    def test_texts(self):
        for text, expected in (("x=hello", ["hello"]), ('x=["a","b c"]', ["a", "b c"]), ('x="[1]"', ["[1]"]), ("x=a=b", ["a=b"]), ("a=b", ["a=b"])):
            self.assertEqual(self.told("run", self.identity(STRING, ["n"]), "-i", text)["outputs"]["y"]["values"], expected)

    def test_extents_by_name(self):
        told = self.told("run", DIGITS, "--shape", "batch=3")
        self.assertEqual(told["inputs"]["image"]["shape"], [3, 1, 8, 8])
        one, four = (self.told("inspect", DIGITS, *words) for words in ([], ["--shape", "batch=4"]))
        work = [sum(n["operations"] for n in m["graph"]["nodes"]) for m in (one, four)]
        self.assertEqual(work[1], 4 * work[0])
        self.assertEqual(four["assumed"], {})

    def test_tables_in_and_out(self):
        table = np.random.default_rng(2).random((3, 4)).astype(np.float32)
        np.savetxt(self.path("x.csv"), table, delimiter=";", header="a;b;c;d", comments="", fmt="%.9g")
        model = self.identity(F32, ["n", 4])
        code, _, err = retort("run", model, "-i", self.path("x.csv"), "--save", self.path("y.csv"))
        self.assertEqual(code, 0, err)
        np.testing.assert_array_equal(np.loadtxt(self.path("y.csv"), delimiter=",").astype(np.float32), table)
        self.assertEqual(retort("run", model, "-i", self.path("y.csv"), "--save", self.path("out"), "--csv")[0], 0)
        self.assertEqual(os.listdir(self.path("out")), ["y.csv"])
        with open(self.path("t.csv"), "w", encoding="utf-8") as f:
            f.write('one,"a ""b"", c"\ntwo,x\n')
        words = self.identity(STRING, ["n", "m"])
        told = self.told("run", words, "-i", self.path("t.csv"), "--save", self.path("t2.csv"))
        self.assertEqual(told["outputs"]["y"]["values"], ["one", 'a "b", c', "two", "x"])
        with open(self.path("t2.csv"), encoding="utf-8") as f:
            self.assertEqual(f.read(), '"one","a ""b"", c"\n"two","x"\n')
        big = self.identity(I64, ["n"])
        self.assertEqual(retort("run", big, "-i", "x=9007199254740993", "--save", self.path("big.csv"))[0], 0)
        with open(self.path("big.csv"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "9007199254740993\n")

    def test_top(self):
        with open(self.path("labels.txt"), "w", encoding="utf-8") as f:
            f.write("\n".join("zero one two three four five six seven eight nine".split()))
        words = ["run", DIGITS, "-i", self.npy("a.npy", self.image), "--top", 3, "--labels", self.path("labels.txt")]
        rows = self.told(*words)["outputs"]["probabilities"]["top"]
        retort("run", DIGITS, "-i", self.path("a.npy"), "--save", self.path("out"))
        right = np.load(self.path("out/probabilities.npy"))
        self.assertEqual([[c["class"] for c in r] for r in rows], np.argsort(-right, 1)[:, :3].tolist())
        self.assertEqual(rows[0][0]["label"], "zero one two three four five six seven eight nine".split()[rows[0][0]["class"]])
        self.assertRegex(retort(*words)[1], r"row 1 +class \d")

    def test_expected(self):
        image = self.npy("input_0.npy", self.image)
        retort("run", DIGITS, "-i", image, "--save", self.path("out"))
        right = np.load(self.path("out/probabilities.npy"))
        self.npy("output_0.npy", right)
        self.assertTrue(self.told("run", DIGITS, "--inputs", self.folder, "--expected", self.folder)["expected"]["agree"])
        wrong = right.copy()
        wrong[1, 2] += 0.01
        for place in (self.npy("w.npy", wrong), "probabilities=" + self.path("w.npy")):
            told = self.told("run", DIGITS, "-i", image, "--expected", place, code=3)["expected"]["outputs"]["probabilities"]
            self.assertEqual((told["agree"], told["outside"], told["elements"]), (False, 1, 20))
            self.assertAlmostEqual(told["largest"], 0.01, delta=1e-6)
        self.assertEqual(retort("run", DIGITS, "-i", image, "--expected", self.path("w.npy"), "--atol", "0.011")[0], 0)
        code, out, _ = retort("run", DIGITS, "-i", image, "--expected", self.npy("s.npy", right[:1]))
        self.assertEqual(code, 3)
        self.assertIn("shape 2x10 instead of 1x10", out)

    def test_expected_is_what_was_saved(self):
        """The folder that --save wrote, also as tables."""
        image = self.npy("image.npy", self.image)
        for name, form in (("arrays", []), ("tables", ["--csv"])):
            words = ["run", DIGITS, "-i", image]
            self.assertEqual(retort(*words, "--save", self.path(name), *form)[0], 0)
            code, out, err = retort(*words, "--expected", self.path(name))
            self.assertEqual(code, 0, out + err)
        self.assertEqual(retort("run", DIGITS, "--shape", "batch=2", "--expected", self.path("arrays"))[0], 3)

    def test_texts_are_shown_without_what_a_terminal_acts_upon(self):
        ports = [helper.make_tensor_value_info(n, TensorProto.STRING, ["n"]) for n in "xy"]
        words = ["run", self.model([helper.make_node("Identity", ["x"], ["y"])], ports[:1], ports[1:]), "-i", r'["a\u001b[31m","\u202eb\n","c"]']
        code, out, _ = retort(*words, "--expected", '["a","b","c"]')
        self.assertEqual(code, 3)
        self.assertIn(r'"a\x1b[31m" "\u202eb\n" "c"' + "\n", out)
        self.assertIn("not as expected: y: 2 of 3 texts differ\n", out)
        self.assertEqual(self.told(*words)["outputs"]["y"]["values"], ["a\x1b[31m", "\u202eb\n", "c"])

    def test_layers_of_a_long_model(self):
        """Several runs, each of which keeps more values than the one before, give each value once and in order."""
        steps = [helper.make_node("Add", [f"v{i}", "one"], [f"v{i + 1}"]) for i in range(300)]
        model = self.model(steps, [value("v0", F32, [2]), value("one", F32, [2])], [value("v300", F32, [2])])
        layers = self.told("run", model, "-i", "v0=0,0", "-i", "one=1,1", "--layers")["layers"]
        self.assertEqual([(row["value"], row["min"], row["max"]) for row in layers], [(f"v{i}", i, i) for i in range(1, 301)])

    def test_layers(self):
        image = self.npy("a.npy", self.image)
        layers = {row["value"]: row for row in self.told("run", DIGITS, "-i", image, "--layers")["layers"]}
        self.assertEqual(list(layers)[0], "c1")
        self.assertEqual(len(layers), 9)
        self.assertEqual(layers["r1"]["min"], 0)
        self.assertGreater(layers["r1"]["zeros"], 0)
        self.assertEqual(sum(layers["r1"]["histogram"]), 2 * 16 * 8 * 8)
        retort("run", DIGITS, "-i", image, "--save", self.path("out"))
        right = np.load(self.path("out/probabilities.npy"))
        for key, number in (("mean", right.mean()), ("max", right.max()), ("deviation", right.std())):
            self.assertAlmostEqual(layers["probabilities"][key], number, delta=1e-6)
        self.assertRegex(retort("run", DIGITS, "-i", image, "--layers")[1], r"\nlogits +Gemm +float32\[2,10\]")

    def test_several_runs(self):
        with open(self.path("list.txt"), "w", encoding="utf-8") as f:
            f.write(f"# two runs\nx=1,2\n\n'x={self.npy('a b.npy', np.array([3, 4], np.float32))}'\n")
        words = ["run", self.identity(F32, [2]), "--list", self.path("list.txt"), "--save", self.path("out")]
        self.assertEqual([r["outputs"]["y"]["values"] for r in self.told(*words)["runs"]], [[1, 2], [3, 4]])
        np.testing.assert_array_equal(np.load(self.path("out/1/y.npy")), [3, 4])

    def test_names_with_an_equals_sign(self):
        ports = [helper.make_tensor_value_info(n, F32, [1]) for n in ("a", "a=b", "y")]
        model = self.model([helper.make_node("Sub", ["a", "a=b"], ["y"])], ports[:2], ports[2:])
        self.assertEqual(self.told("run", model, "-i", "a=b=1", "-i", "a=5")["outputs"]["y"]["values"], [4])

    def test_tables_for_inputs_of_a_higher_rank(self):
        """Rows and columns are the last two extents where these fit."""
        with open(self.path("t.csv"), "w", encoding="utf-8") as f:
            f.write("1,2,3\n4,5,6\n")
        for shape, made in ((["n", "r", "c"], [1, 2, 3]), ([1, 2, "c"], [1, 2, 3]), (["n", 2, 3], [1, 2, 3]), (["n", 1, 3], [2, 1, 3]), (["a", "b", "c", "d"], [1, 1, 2, 3])):
            self.assertEqual(self.told("run", self.identity(F32, shape), "-i", self.path("t.csv"))["outputs"]["y"]["shape"], made, shape)

    def test_a_run_of_a_list_that_fails(self):
        """What was done before is told, and the failure in its place."""
        for last, code, part in (("x=nowhere.npy", 1, "nowhere.npy"), ("x=1,2 --bogus", 1, "--bogus"), ("x=1,2,3", 1, "run 2: ")):
            with open(self.path("list.txt"), "w", encoding="utf-8") as f:
                f.write(f"x=1,2\nx=3,4\n{last}\nx=5,6\n")
            words = ["run", self.identity(F32, [2]), "--list", self.path("list.txt")]
            got, out, err = retort(*words, "--json")
            told = json.loads(out)
            self.assertEqual((got, told["exit_code"]), (code, code), err)
            self.assertEqual([r["outputs"]["y"]["values"] for r in told["runs"][:2]], [[1, 2], [3, 4]])
            self.assertEqual((len(told["runs"]), list(told["runs"][2])), (3, ["error"]))
            self.assertIn(part, told["error"])
            self.assertEqual(told["error"], "run 2: " + told["runs"][2]["error"])
            self.assertRegex(err, r"^retort run: run 2: ")
            got, out, err = retort(*words)
            self.assertEqual(got, code)
            self.assertIn("run 1", out)
            self.assertIn("run 2: ", err)

    def test_model_from_standard_input(self):
        with open(DIGITS, "rb") as f:
            whole = f.read()
        right = self.told("run", DIGITS)["outputs"]
        for words in (["run"], ["inspect"], ["bench", "--runs", "5", "--starts", "1"], ["profile", "--repeat", "2"], ["convert"]):
            done = subprocess.run([TOOL, words[0], "-", *words[1:], "--json"], input=whole, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            if words == ["run"]:
                self.assertEqual(json.loads(done.stdout)["outputs"], right)
                self.assertEqual(json.loads(done.stdout)["model"], "standard input")
        done = subprocess.run([TOOL, "run", "-"], input=b"", capture_output=True, encoding=None)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard input is empty", done.stderr)

    def test_numbers_of_runs(self):
        row = self.told("bench", DIGITS, "--runs", 23, "--warmup", 5, "--starts", 1, "--percentiles", "50,99.9")[0]["sides"][0]
        self.assertEqual(row["runs"], 23)
        self.assertEqual(list(row["percentiles"]), ["50", "99.9"])
        self.assertLessEqual(row["percentiles"]["50"], row["percentiles"]["99.9"])
        self.assertRegex(retort("bench", DIGITS, "--runs", 5, "--starts", 1, "--percentiles", "99.9")[1], r"p99\.9 ms\n")

    def test_throughput(self):
        told = self.told("bench", DIGITS, "--runs", 5, "--starts", 1, "--concurrency", 3)[0]["concurrent"]
        self.assertEqual(told["callers"], 3)
        side = told["sides"][0]
        self.assertEqual(side["runs"], 3 * 5)
        self.assertEqual(list(side["percentiles"]), ["50", "90", "95", "99"])
        self.assertGreater(side["runs_per_second"], 0)
        self.assertLessEqual(side["median_ms"], side["p99_ms"])
        self.assertRegex(retort("bench", DIGITS, "--runs", 5, "--starts", 1, "--concurrency", 2, "--percentiles", "99.9")[1], r"p99\.9 ms\nRetort .*\n.* callers .* p99\.9 ms\n")
        self.assertRegex(retort("bench", DIGITS, "--runs", 5, "--starts", 1, "--seconds", 1)[2], "exclude")

    def test_outputs_that_are_no_tensors(self):
        """A classifier of LightGBM ends in a sequence of maps; NonZero's size depends on data."""
        nodes = [helper.make_node("ZipMap", ["x"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[5, 6]), helper.make_node("NonZero", ["x"], ["places"])]
        maps = helper.make_value_info("maps", helper.make_sequence_type_proto(helper.make_map_type_proto(I64, helper.make_tensor_type_proto(F32, []))))
        graph = helper.make_graph(nodes, "g", [value("x", F32, ["n", 2])], [maps, value("places", I64, [2, "k"])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8), self.path("zip.onnx"))
        engines = [[]] + ([["--against", os.environ["RETORT_ORACLE"]]] if os.environ.get("RETORT_ORACLE") else [])
        for words in (["bench", "--runs", "10", "--starts", "1", "--concurrency", "2"], ["profile", "--repeat", "3"], ["run", "--repeat", "3", "--copies"]):
            for against in engines if words[0] == "bench" else engines[:1]:
                code, _, err = retort(words[0], self.path("zip.onnx"), *words[1:], *against)
                self.assertEqual(code, 0, err)

    def test_parameters_and_weights(self):
        told = self.told("inspect", DIGITS, "--weights")
        weights = {w.name: numpy_helper.to_array(w) for w in onnx.load(DIGITS).graph.initializer}
        self.assertEqual(told["parameters"]["count"], sum(w.size for w in weights.values()))
        for w in told["weights"]:
            right = weights[w["name"]]
            self.assertEqual(w["shape"], list(right.shape))
            for key, number in (("min", right.min()), ("max", right.max()), ("mean", right.mean()), ("deviation", right.std())):
                self.assertAlmostEqual(w[key], number, delta=1e-5)
            self.assertEqual(sum(w["histogram"]), right.size)
            np.testing.assert_allclose(w["histogram"], np.histogram(right.astype(np.float64), 16)[0], atol=1)
        self.assertRegex(retort("inspect", DIGITS)[1], r"\nparameters +\d+ \(float32 \d+\)\n")
        self.assertRegex(retort("inspect", DIGITS, "--weights")[1], r"conv1.weight +float32\[16,1,3,3\]")
        self.assertEqual(retort("convert", DIGITS, self.path("d.ort"))[0], 0)
        self.assertEqual({w["name"]: w["max"] for w in self.told("inspect", self.path("d.ort"), "--weights")["weights"]}, {w["name"]: w["max"] for w in told["weights"]})

    def test_nodes_have_names_and_attributes(self):
        model = self.model([helper.make_node("Softmax", ["x"], ["y"], name="last one", axis=0)], [value("x", F32, [2])], [value("y", F32, [2])])
        self.assertRegex(retort("inspect", model, "--nodes")[1], r"last one +y: float32\[2\] = Softmax\(x: float32\[2\]\) \{axis: 0\}")

    def test_sizes_of_trees(self):
        tree = dict(nodes_treeids=[0, 0, 0, 0, 0, 1], nodes_nodeids=[0, 1, 2, 3, 4, 0], nodes_featureids=[0, 0, 1, 0, 0, 0], nodes_values=[.5, 0, .5, 0, 0, 0],
                    nodes_modes=["BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 3, 0, 0, 0], nodes_falsenodeids=[2, 0, 4, 0, 0, 0],
                    target_treeids=[0, 0, 0, 1], target_nodeids=[1, 3, 4, 0], target_ids=[0] * 4, target_weights=[1., 2., 3., 4.], n_targets=1)
        node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], name="forest", domain="ai.onnx.ml", **tree)
        graph = helper.make_graph([node], "g", [value("x", F32, ["n", 2])], [value("y", F32, ["n", 1])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8), self.path("t.onnx"))
        self.assertEqual(self.told("inspect", self.path("t.onnx"))["trees"], {"forest": {"trees": 2, "nodes": 6, "leaves": 4, "depth": 2}})
        self.assertRegex(retort("inspect", self.path("t.onnx"))[1], r"forest +2 +6 +4 +2\n")

    def test_unused_outputs_go_into_ort_format(self):
        """No node reads Dropout's mask, so no type is inferred for it. The official engine loads the result."""
        nodes = [helper.make_node("Dropout", ["x"], ["d", "mask"]), helper.make_node("Relu", ["d"], ["y"])]
        model = self.model(nodes, [value("x", F32, [2])], [value("y", F32, [2])])
        code, _, err = retort("convert", model, self.path("u.ort"))
        self.assertEqual(code, 0, err)
        self.assertEqual([n["op"] for n in self.told("inspect", self.path("u.ort"))["graph"]["nodes"]], ["Dropout", "Relu"])
        engines = [[]] + ([["--library", os.environ["RETORT_ORACLE"]]] if os.environ.get("RETORT_ORACLE") else [])
        for engine in engines:
            self.assertEqual(self.told("run", self.path("u.ort"), "-i", "x=-1,2", *engine)["outputs"]["y"]["values"], [0, 2])


if __name__ == "__main__":
    sys.exit(unittest.main())
