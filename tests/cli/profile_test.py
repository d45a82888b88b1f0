#!/usr/bin/env python3
"""retort profile."""
import json
import os
import re
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from tool import DIGITS, ToolTest, retort


class Profile(ToolTest):
    def test_report(self):
        code, out, err = retort("profile", DIGITS, "--shape", "image=64x1x8x8", "--repeat", 5, "--json")
        self.assertEqual((code, err), (0, ""))
        told = json.loads(out)
        nodes = {n["name"]: n for n in told["nodes"]}
        self.assertGreater(told["peak_gflops"], 1)
        self.assertGreater(told["median_ms"], 0)
        conv = next(n for n in told["nodes"] if n["op"].split("+")[0] == "Conv")
        self.assertGreater(conv["gflops"], 0)
        self.assertAlmostEqual(conv["peak_share"], 100 * conv["gflops"] / told["peak_gflops"], delta=0.01 * conv["peak_share"])
        self.assertAlmostEqual(conv["gflops"], conv["operations"] / conv["milliseconds"] / 1e6, delta=0.01 * conv["gflops"])
        self.assertEqual(conv["operations"] % 64, 0)  # for the actual shapes
        self.assertEqual(sum(o["nodes"] for o in told["operators"]), len(nodes))
        self.assertAlmostEqual(sum(o["milliseconds"] for o in told["operators"]), sum(n["milliseconds"] for n in told["nodes"]), places=6)

    def test_times_add_up_to_the_run(self):
        """Also if bodies run: their nodes count once."""
        ports = [helper.make_tensor_value_info(*p) for p in (("n", TensorProto.INT64, []), ("x", TensorProto.FLOAT, [64, 64]), ("y", TensorProto.FLOAT, [64, 64]),
                                                             ("i", TensorProto.INT64, []), ("c", TensorProto.BOOL, []), ("v", TensorProto.FLOAT, [64, 64]),
                                                             ("d", TensorProto.BOOL, []), ("w", TensorProto.FLOAT, [64, 64]))]
        body = helper.make_graph([helper.make_node("Identity", ["c"], ["d"]), helper.make_node("MatMul", ["v", "v"], ["w"], name="square")],
                                 "body", ports[3:6], ports[6:])
        model = self.model([helper.make_node("Loop", ["n", "", "x"], ["z"], name="loop", body=body), helper.make_node("Softmax", ["z"], ["y"])],
                           ports[:2], ports[2:3])
        words = ["profile", model, "--repeat", 6, "--input", "n=" + self.npy("n.npy", np.array(30)),
                 "--input", "x=" + self.npy("x.npy", np.eye(64, dtype=np.float32))]
        official = os.environ.get("RETORT_ORACLE")
        for engine in ([], ["--library", official])[:2 if official else 1]:
            code, out, err = retort(*words, "--json", "--trace", self.path("t.json"), *engine)
            self.assertEqual((code, err), (0, ""))
            told = json.loads(out)
            for rows in (told["operators"], told["nodes"]):
                self.assertTrue(all(r["milliseconds"] >= 0 for r in rows))
            with open(self.path("t.json"), encoding="utf-8") as f:
                run, *nodes = json.load(f)["traceEvents"]
            names = {n["name"] for n in told["nodes"] if "within" not in n}
            inside = sum(n["dur"] for n in nodes if n["name"] in names)  # of that run; nodes of bodies run within these
            self.assertLessEqual(inside, run["dur"] + 1)
            self.assertLessEqual(told["outside_ms"], told["median_ms"])
            self.assertEqual({n["op"]: n.get("within") for n in told["nodes"] if n["op"] in ("Loop", "MatMul", "Softmax")},
                             {"Loop": None, "MatMul": "loop", "Softmax": None})

    def test_text(self):
        out = retort("profile", DIGITS, "--repeat", 3, "--nodes", 1)[1]
        self.assertRegex(out, r"ms per run \(median of 3, 1 thread\)")
        self.assertRegex(out, r"\nConv[+\w]* +2 +[\d.]+ +[\d.]+% +[\d.]+ +[\d.]+%\n")
        self.assertIn("more; --nodes", out)

    def test_one_element_for_a_scalar(self):
        """Runs accept it, as in ONNX Runtime."""
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, []) for n in "xy"]
        model = self.model([helper.make_node("Abs", ["x"], ["y"])], ports[:1], ports[1:])
        code, out, err = retort("profile", model, "--input", self.npy("x.npy", np.ones(1, np.float32)), "--repeat", 1, "--json")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([n["operations"] for n in json.loads(out)["nodes"]], [1])
        self.fails(1, ["inspect", model, "--shape", "x=2"], "input 'x' is float32[], the shape [2] was given")

    def test_other_engine(self):
        official = os.environ.get("RETORT_ORACLE")
        if not official:
            self.skipTest("no official ONNX Runtime")
        code, out, err = retort("profile", DIGITS, "--library", official, "--repeat", 3, "--json")
        self.assertEqual(code, 0, err)
        self.assertGreaterEqual(len(json.loads(out)["nodes"]), 4)

    def test_trace(self):
        retort("profile", DIGITS, "--repeat", 3, "--trace", self.path("t.json"))
        with open(self.path("t.json"), encoding="utf-8") as f:
            events = json.load(f)["traceEvents"]
        run, *nodes = events
        self.assertEqual((run["name"], run["ph"]), ("run", "X"))
        self.assertIn("Conv", [n["args"]["operator"].split("+")[0] for n in nodes])
        for n in nodes:
            self.assertGreaterEqual(n["ts"], run["ts"])
            self.assertLessEqual(n["ts"] + n["dur"], run["ts"] + run["dur"] + 1)

    def test_page(self):
        code, _, err = retort("profile", DIGITS, "--repeat", 3, "--html", self.path("p.html"))
        self.assertEqual(code, 0, err)
        document = self.browse(self.path("p.html"))
        ran = len(re.findall(r'class="bar operator"', document))
        self.assertGreaterEqual(ran, 5)
        self.assertIn("One run over time", document)
        self.assertIn(">of peak<", document)
        shares = set(re.findall(r'style="--hue: \d+; --share: ([\d.]+)', document[:document.index('id="details"')]))
        self.assertGreater(len(shares), 2)  # nodes differ in colour by time
        self.assertNotIn("NaN", document)


if __name__ == "__main__":
    sys.exit(unittest.main())
