#!/usr/bin/env python3
"""retort bench with several engines, including those with another interface."""
import glob
import importlib.util
import json
import os
import shutil
import sys
from unittest import mock

import numpy as np
import onnx
from onnx import TensorProto, helper

from tool import DIGITS, TOOL, ToolTest, retort

QUICK = ["--seconds", 0.05, "--starts", 1]
OURS = os.path.abspath(os.environ.get("RETORT_LIBRARY") or os.path.join(os.path.dirname(TOOL), "..", "lib", "libretort.so.1"))


def openvino():
    """The path of its C library, from RETORT_OPENVINO or the Python package; "" if there is none."""
    package = importlib.util.find_spec("openvino")
    found = glob.glob(os.path.join(os.path.dirname(package.origin), "libs", "libopenvino_c.so*")) if package and package.origin else []
    return os.environ.get("RETORT_OPENVINO") or (found[0] if found else "")


def official():
    """The path of ONNX Runtime's library in its Python package; "" if that is not installed."""
    package = importlib.util.find_spec("onnxruntime")
    found = glob.glob(os.path.join(os.path.dirname(package.origin), "capi", "libonnxruntime.so.*")) if package and package.origin else []
    return found[0] if found else ""


class BenchTest(ToolTest):
    def rows(self, *words):
        code, out, err = retort("bench", *words, *QUICK, "--json")
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)

    def openvino(self):
        library = openvino()
        if not library:
            self.skipTest("no OpenVINO: tools/setup.sh bench .venv installs it")
        return library

    def test_every_peer_has_its_ratios(self):
        """The ratios of the first peer are also the row's."""
        shutil.copy(OURS, self.path("libother.so"))
        rows = self.rows(DIGITS, "--against", OURS, "--against", self.path("libother.so"), "--threads", "1,2")
        self.assertEqual([r["threads"] for r in rows], [1, 2])
        for row in rows:
            self.assertEqual(len(row["sides"]), 3)
            self.assertEqual([p["library"] for p in row["peers"]], [OURS, self.path("libother.so")])
            ours, *peers = row["sides"]
            for side, peer in zip(peers, row["peers"]):
                self.assertAlmostEqual(peer["ratio"], side["median_ms"] / ours["median_ms"])
                self.assertEqual(peer["disagreement"], 0)
                self.assertEqual(side["runs"], ours["runs"])
            for key in ("ratio", "start_ratio", "disagreement"):
                self.assertEqual(row[key], row["peers"][0][key])

    def test_an_output_of_another_rank_than_the_model_declares(self):
        """ONNX Runtime only warns of it, but refuses to write into such a value, even its own of the run before."""
        if not official():
            self.skipTest("no ONNX Runtime: tools/setup.sh bench .venv installs it")
        float_type, int_type = TensorProto.FLOAT, TensorProto.INT64
        graph = helper.make_graph(
            [helper.make_node("Reshape", ["x", "shape"], ["y"])], "g",
            [helper.make_tensor_value_info("x", float_type, [4]), helper.make_tensor_value_info("shape", int_type, ["n"])],
            [helper.make_tensor_value_info("y", float_type, ["one"])])
        model = self.path("rank.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        np.save(self.path("shape.npy"), np.array([2, 2]))
        row = self.rows(model, "--input", "shape=" + self.path("shape.npy"), "--against", official())[0]
        self.assertEqual((len(row["sides"]), row["disagreement"]), (2, 0))
        self.assertGreater(row["sides"][1]["runs"], 1)

    def test_a_line_for_each_peer(self):
        shutil.copy(OURS, self.path("libother.so"))
        code, out, err = retort("bench", DIGITS, "--against", OURS, "--against", self.path("libother.so"), *QUICK)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(len([line for line in out.splitlines() if " / Retort " in line]), 2, out)

    def test_without_a_peer(self):
        row, = self.rows(DIGITS)
        self.assertEqual((len(row["sides"]), row["peers"]), (1, []))
        self.assertNotIn("ratio", row)

    def test_libraries_that_are_no_peers(self):
        self.fails(1, ["bench", DIGITS, "--against", OURS, "--against", "/nowhere.so"], "cannot open the engine '/nowhere.so'")
        self.fails(1, ["bench", DIGITS, "--against", OURS + ":default"], "a mode of OpenVINO's C library", "leave :default out")

    def test_time_per_operator(self):
        rows = self.rows(DIGITS, "--against", OURS, "--threads", "1,2", "--ops")
        self.assertNotIn("ops", rows[1])
        ops = rows[0]["ops"]
        self.assertEqual(ops["threads"], 1)
        ours, theirs = ops["engines"]
        self.assertNotIn("ratio", ours)
        self.assertAlmostEqual(theirs["ratio"], theirs["run_ms"] / ours["run_ms"])
        for e, engine in enumerate(ops["engines"]):
            cells = [row["engines"][e] for row in ops["operators"]]
            self.assertAlmostEqual(sum(c["ms"] for c in cells), engine["nodes_ms"])
            self.assertTrue(0 <= engine["outside_ms"] < engine["run_ms"])
            self.assertGreaterEqual(engine["runs"], 10)
            for cell in cells:
                self.assertAlmostEqual(cell["share"], 100 * cell["ms"] / engine["run_ms"])
        slowest = [max(c["ms"] for c in row["engines"]) for row in ops["operators"]]
        self.assertEqual(slowest, sorted(slowest, reverse=True))
        ran = json.loads(retort("profile", DIGITS, "--repeat", 2, "--json")[1])["nodes"]
        for e in range(2):
            self.assertEqual(sum(row["engines"][e]["nodes"] for row in ops["operators"]), len(ran))

    def test_time_per_operator_beside_another_engine(self):
        """An engine's variant of an operator is in the operator's row; the cell is empty if the engine does not have
        it."""
        official = self.official()
        self.fails(2, ["bench", DIGITS, "--strict", "--library", official], "--strict is not used with ONNX Runtime")
        row, = self.rows(DIGITS, "--against", official, "--ops")
        by_name = {r["op"]: r["engines"] for r in row["ops"]["operators"]}
        for name in ("Conv", "MatMul, Gemm"):
            ours, theirs = by_name[name]
            self.assertAlmostEqual(theirs["ratio"], theirs["ms"] / ours["ms"])
        self.assertFalse([name for name in by_name if "Fused" in name or name in ("MatMul", "Gemm", "Linear")])
        out = retort("bench", DIGITS, "--against", official, "--ops", *QUICK)[1]
        self.assertRegex(out, r"\nConv +\d+ +[\d.e-]+ +[\d.]+% +\d+ +[\d.e-]+ +[\d.]+% +[\d.]+ +[\d.]+ +\d+%\n")
        self.assertRegex(out, r"\na run, profiled +[\d.e-]+ 100.0% +[\d.e-]+ 100.0% +[\d.]+\n")

    def test_arithmetic_per_operator(self):
        row, = self.rows(DIGITS, "--ops")
        by_name = {r["op"]: r for r in row["ops"]["operators"]}
        profiled = {r["op"]: r for r in json.loads(retort("profile", DIGITS, "--repeat", 5, "--json")[1])["operators"]}
        self.assertAlmostEqual(by_name["Conv"]["gflops"] * by_name["Conv"]["engines"][0]["ms"] * 1e6, profiled["Conv+Relu"]["operations"], delta=1)
        self.assertGreater(by_name["Conv"]["peak_share"], 0)

    def test_the_strict_mode(self):
        """A convolution with Winograd's filters has other last bits without them."""
        rng = np.random.default_rng(1)
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [1, 64, 56, 56]), ("y", [1, 64, 56, 56]))]
        w = helper.make_tensor("w", TensorProto.FLOAT, [64, 64, 3, 3], rng.standard_normal(64 * 64 * 9).astype(np.float32))
        nodes = [helper.make_node("Constant", [], ["w"], value=w), helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])]
        model = self.model(nodes, ports[:1], ports[1:])
        rows = self.rows(model, "--strict", "--against", OURS, "--threads", "1,2")
        self.assertNotIn("strict", rows[1])
        strict = rows[0]["strict"]
        self.assertGreater(strict["ratio"], 0)
        self.assertGreater(strict["median_ms"], 0)
        self.assertGreater(strict["from_default"], 0)
        self.assertLess(strict["from_default"], 1e-5)
        self.assertEqual(strict["disagreement"], strict["from_default"])  # the peer is the same engine
        row, = self.rows(model, "--strict", "--config", "session.strict=1")
        self.assertEqual(row["strict"]["from_default"], 0)
        self.assertRegex(retort("bench", model, "--strict", *QUICK)[1], r"\nsession\.strict=1 takes [\d.]+ times as long; outputs differ by [\d.e-]+ of their scale\n")

    def test_right_outputs(self):
        inputs = ["--input", self.npy("image.npy", self.image)]
        retort("run", DIGITS, *inputs, "--save", self.path("right"))
        os.rename(self.path("right/probabilities.npy"), self.path("right/output_0.npy"))
        words = [DIGITS, *inputs, "--expected", self.path("right"), "--strict", "--against", OURS]
        row, = self.rows(*words)
        self.assertEqual([s["deviation"] for s in row["sides"]], [0, 0])
        right = np.load(self.path("right/output_0.npy"))
        right[0, 0] += np.abs(right).max() * 4
        self.npy("right/output_0.npy", right)
        row, = self.rows(*words)
        for side in (*row["sides"], row["strict"]):
            self.assertAlmostEqual(side["deviation"], 0.8, delta=0.2)
        self.assertRegex(retort("bench", *words, *QUICK)[1], r"\nRetort \S+: outputs are within 0\.\d+ of their scale of the expected ones\n")
        os.remove(self.path("right/output_0.npy"))
        self.fails(1, ["bench", *words], "has no output_0.pb or .npy")

    def test_which_engine_refused_a_model(self):
        bad = self.model([helper.make_node("Abs", ["z"], ["y"])], *[[helper.make_tensor_value_info(n, TensorProto.FLOAT, [2])] for n in "xy"])
        self.fails(1, ["bench", bad, "--against", OURS, *QUICK], "retort: Retort ", " rejected the model: ")
        official = self.official()
        ports = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, s) for n, s in (("x", [1, 1, 4, 4]), ("w", [1, 1, 2, 2]), ("y", [1, 1, 3, 3]))]
        model = self.model([helper.make_node("Conv", ["x", "w"], ["y"])], ports[:2], ports[2:])
        self.fails(1, ["bench", model, "--against", official, *QUICK], "retort: ONNX Runtime ", " rejected the model: ")

    @mock.patch.dict(os.environ)
    def test_openvino_in_both_precisions(self):
        library = self.openvino()
        # OpenVINO chooses its precision by the processor's instructions, and then finds no kernel below this limit.
        os.environ.pop("ONEDNN_MAX_CPU_ISA", None)
        inputs = ["--input", self.npy("image.npy", self.image)]
        row, = self.rows(DIGITS, *inputs, "--against", OURS, "--against", library, "--against", library + ":default", "--ops")
        self.assertEqual(len(row["ops"]["engines"]), 2)  # OpenVINO writes no such profile
        names = [side["engine"] for side in row["sides"]]
        self.assertRegex(names[2], r"^OpenVINO \d+\.\d+\.\d+ f32$")
        self.assertEqual(names[3], names[2].replace("f32", "default"))
        for side in row["sides"]:
            for key in ("median_ms", "load_ms", "first_run_ms", "peak_mib", "steady_mib", "runs"):
                self.assertGreater(side[key], 0, side)
        exact, default = (p["disagreement"] for p in row["peers"][1:])
        self.assertLess(exact, 1e-5)
        self.assertLess(default, 0.1)

    def test_openvino_reads_inputs_of_every_shape(self):
        """A scalar, an empty tensor, integers, bools."""
        library = self.openvino()
        ports = [helper.make_tensor_value_info(*p) for p in (("s", TensorProto.FLOAT, []), ("x", TensorProto.FLOAT, ["n", 2]),
                                                             ("i", TensorProto.INT64, [3]), ("b", TensorProto.BOOL, [3]))]
        outs = [helper.make_tensor_value_info(*p) for p in (("y", TensorProto.FLOAT, ["n", 2]), ("j", TensorProto.INT64, [3]), ("c", TensorProto.BOOL, [3]))]
        nodes = [helper.make_node("Mul", ["s", "x"], ["y"]), helper.make_node("Add", ["i", "i"], ["j"]), helper.make_node("Not", ["b"], ["c"])]
        model = self.model(nodes, ports, outs)
        for n in (0, 5):
            words = ["--input", "s=" + self.npy("s.npy", np.float32(3)), "--input", "x=" + self.npy("x.npy", np.ones((n, 2), np.float32)),
                     "--input", "i=" + self.npy("i.npy", np.arange(3)), "--input", "b=" + self.npy("b.npy", np.array([True, False, True]))]
            row, = self.rows(model, *words, "--against", library)
            self.assertEqual(row["disagreement"], 0)

    def test_a_later_peer_that_does_not_take_the_model_is_left_out(self):
        library = self.openvino()
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
        y = helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)
        model = self.model([helper.make_node("SequenceConstruct", ["x", "x"], ["y"])], [x], [y])
        row, = self.rows(model, "--against", OURS, "--against", library)
        self.assertEqual(len(row["sides"]), 2)
        self.assertEqual(row["peers"][0]["disagreement"], 0)
        self.assertIn("OpenVINO: ", row["peers"][1]["error"])
        out = retort("bench", model, "--against", OURS, "--against", library, *QUICK)[1]
        self.assertRegex(out, r"OpenVINO \S+ f32 is left out: OpenVINO: ")
        self.fails(1, ["bench", model, "--against", library, *QUICK], "OpenVINO: ")


if __name__ == "__main__":
    import unittest
    sys.exit(unittest.main())
