#!/usr/bin/env python3
"""Plug-in providers on the command line: which provider runs which node (retort inspect), and runs with them."""
import json
import os
import subprocess
import sys
import unittest

from onnx import TensorProto, helper

from tool import ROOT, TOOL, ToolTest, retort

LOOPBACK = os.environ.get("RETORT_LOOPBACK", os.path.join(ROOT, "build", "release", "examples", "providers", "loopback", "libloopback.so"))
PLUGIN = ["--plugin", "loop=" + LOOPBACK]


@unittest.skipUnless(os.path.exists(LOOPBACK), f"{LOOPBACK} is not built")
class Placement(ToolTest):
    def border(self, rows=2):
        """Erf between operators of the loopback provider, and a product that is constant."""
        nodes = [("Mul", ["two", "two"], "four", "known"), ("Add", ["a", "two"], "c", "first"), ("Erf", ["c"], "d", "middle"), ("Mul", ["d", "four"], "y", "last")]
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [rows, 3]) for n in "ay"]
        two = helper.make_node("Constant", [], ["two"], value=helper.make_tensor("", TensorProto.FLOAT, [1], [2]))
        return self.model([two] + [helper.make_node(op, i, [o], name=n) for op, i, o, n in nodes], ports[:1], ports[1:])

    def told(self, *words):
        code, out, err = retort("inspect", self.border(), "--json", *PLUGIN, *words)
        self.assertEqual(code, 0, err)
        return json.loads(out)["placement"]

    def test_table(self):
        code, out, err = retort("inspect", self.border(), *PLUGIN, "--provider", "loopback")
        self.assertEqual(code, 0, err)
        self.assertIn("4 nodes: 2 on loopback in 2 parts, 1 on the CPU, 1 gone after optimisation; 2 copies at the borders\n", out)
        self.assertRegex(out, r"\n  known +Mul +- +gone after optimisation; loopback: not asked: its value is known before any run\n")
        self.assertRegex(out, r"\n  first +Add +loopback +loopback_0\n")
        self.assertRegex(out, r"\n  middle +Erf +CPUExecutionProvider +loopback: asked, did not claim it; it reads 'c' float32\[2,3\]\n")
        self.assertRegex(out, r"\n  c: 24 B from GPU 0 \(vendor 0x\w+\) to the CPU for node 'middle' \(Erf\)\n")
        self.assertRegex(out, r"\n  a: read in GPU 0 .*; copied unless it is bound there\n")
        self.assertNotIn("placement", retort("inspect", self.path("m.onnx"))[1])

    def test_without_providers(self):
        out = retort("inspect", self.border(), "--placement")[1]
        self.assertIn("4 nodes: 3 on the CPU, 1 gone after optimisation\n", out)
        self.assertRegex(out, r"\n  known +Mul +- +gone after optimisation\n")

    def test_all_providers_of_a_plugin(self):
        told = self.told()
        self.assertEqual(told["providers"], ["loopback", "loopback2"])
        self.assertEqual(told["nodes"][1]["others"], [{"provider": "loopback2", "why": "not asked: loopback had it before"}])
        self.assertEqual([n["provider"] for n in told["nodes"]], ["CPUExecutionProvider", "loopback", "CPUExecutionProvider", "loopback"])
        self.assertEqual([(c["tensor"], c["bytes"]) for c in told["copies"]], [("c", 24), ("d", 24)])

    def test_options_are_lists(self):
        told = self.told("--provider", "loopback2:claim=Add,Sub", "--provider", "loopback:claim=Mul,rate=1000000000")
        self.assertEqual([n["provider"] for n in told["nodes"]], ["CPUExecutionProvider", "loopback2", "CPUExecutionProvider", "loopback"])

    def test_refused_sessions_are_told(self):
        told = self.told("--provider", "loopback:claim=Add", "--config", "session.disable_cpu_ep_fallback=1")
        self.assertIn("no provider takes node 'middle' (Erf), node 'last' (Mul), and session.disable_cpu_ep_fallback", told["problem"])
        self.assertTrue(told["nodes"][0]["gone"])
        everything = self.told("--provider", "loopback", "--config", "session.disallow_implicit_copies=1")
        self.assertIn("'c' is made in GPU 0", everything["problem"])

    def test_runs(self):
        self.npy("a.npy", self.image[:1, 0, :2, :3].reshape(2, 3))
        plain, there = ([retort("run", self.border(), "-i", self.path("a.npy"), *words, "--copies") for words in ([], PLUGIN)])
        self.assertEqual(plain[0], 0, plain[2])
        self.assertEqual(there[0], 0, there[2])
        self.assertEqual(plain[1].splitlines()[0], there[1].splitlines()[0])
        self.assertIn("c: ", there[1])  # copied at the border

    def test_held_against_the_cpu(self):
        code, out, err = retort("diff", self.border(), *PLUGIN)
        self.assertEqual(code, 0, err)
        self.assertIn("the outputs agree", out)
        code, out, err = retort("diff", self.border(), *PLUGIN, "--provider", "loopback:fail=Compute")
        self.assertEqual((code, out), (1, ""))  # only the first engine has it
        self.assertIn("Compute", err)

    def test_devices_are_declared_for_every_command(self):
        for command in ("inspect", "run", "profile", "bench"):
            self.fails(1, [command, self.border(), *PLUGIN, "--virtual", "gpu"], "virtual device 'gpu'")
        code, _, err = retort("run", self.border(), *PLUGIN, "--virtual", "gpu:0x1:0x2", "--vulkan")
        self.assertEqual(code, 0, err)

    def test_relative_paths_mean_the_folder_of_the_caller(self):
        folder, name = os.path.split(LOOPBACK)
        official = os.environ.get("RETORT_ORACLE")
        for library in ([], ["--library", official] if official else []):
            for plugin in (name, os.path.join("..", os.path.basename(folder), name)):
                words = ["--plugin", "loop=" + plugin, *library]
                done = subprocess.run([TOOL, "devices", *words], cwd=folder, capture_output=True, encoding="utf-8")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("through loopback ", done.stdout)
                done = subprocess.run([TOOL, "run", self.border(), *words, "--provider", "loopback2"], cwd=folder, capture_output=True, encoding="utf-8")
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_wrong_plugins(self):
        self.fails(1, ["inspect", self.border(), "--plugin", "loop=/nowhere/lib.so"], "'/nowhere/lib.so' cannot be opened")
        self.fails(1, ["inspect", self.border(), *PLUGIN, "--provider", "lopback"], "provider 'lopback' does not exist", "'loopback', 'loopback2'")
        self.fails(2, ["run", self.border(), "--plugin", "loop"], "NAME=FILE")
        self.fails(2, ["inspect", self.border(), *PLUGIN, "--provider", "loopback:claim"], "KEY=VALUE")


if __name__ == "__main__":
    sys.exit(unittest.main())
