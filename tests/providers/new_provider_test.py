#!/usr/bin/env python3
"""tools/new_provider: its output builds outside of the checkout, has equal results in both engines, and its test finds
errors.

RETORT_OUT: an installed Retort; RETORT_ORACLE: official ONNX Runtime, or empty.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import onnx
from onnx import TensorProto, helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "tools", "new_provider")
OUT = os.path.abspath(os.environ.get("RETORT_OUT", os.path.join(ROOT, "out")))
ORACLE = os.environ.get("RETORT_ORACLE", "")
ENGINES = 1 + bool(ORACLE)
QUESTIONS = 6  # number of queries that the template's test sends to each engine


class NewProvider(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.prefix = os.path.join(cls.folder, "retort")  # in another folder, as for a user
        shutil.copytree(OUT, cls.prefix, symlinks=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_tool(self, *words, **env):
        env = {**{k: v for k, v in os.environ.items() if k != "RETORT_LIBRARY"}, **env}
        done = subprocess.run([sys.executable, TOOL, *words], capture_output=True, encoding="utf-8", cwd=self.folder, env=env)
        return done.returncode, done.stdout + done.stderr

    def make(self, name, *words):
        engine = ["--engine", ORACLE] if ORACLE else []
        code, out = self.run_tool(name, "--prefix", self.prefix, *engine, *words)
        self.assertEqual(code, 0, out)
        self.assertIn(f"{ENGINES * QUESTIONS} passed, 0 failed", out)
        self.assertNotIn("warning:", out)
        return out

    def placement(self, name, library):
        """Which provider runs which node of y = relu(a + b) · erf(a), from retort inspect."""
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 3]) for n in "aby"]
        nodes = [helper.make_node("Add", ["a", "b"], ["s"], name="plus"), helper.make_node("Relu", ["s"], ["r"], name="positive"),
                 helper.make_node("Erf", ["a"], ["e"], name="error"), helper.make_node("Mul", ["r", "e"], ["y"], name="product")]
        model = os.path.join(self.folder, "m.onnx")
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", ports[:2], ports[2:]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        plugin = os.path.join(self.folder, library, "build", f"lib{library}.so")
        done = subprocess.run([os.path.join(self.prefix, "bin", "retort"), "inspect", model, "--json", "--plugin", f"{library}={plugin}"], capture_output=True, encoding="utf-8")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)["placement"]
        self.assertEqual(told["providers"], [name + "ExecutionProvider"])
        self.assertEqual({n["name"] for n in told["nodes"] if n["provider"] == told["providers"][0]}, {"plus", "positive", "product"})
        return told

    def test_compiled(self):
        self.make("AcmeNpu")
        self.assertEqual(self.placement("AcmeNpu", "acme_npu")["copies"], [])
        self.mistakes(os.path.join(self.folder, "acme_npu"))

    def mistakes(self, folder):
        """Typical errors of a new author are found."""
        for file, right, wrong, says in (("operators.cc", "std::multiplies<float>()", "std::plus<float>()", "wanted:"),
                                         ("graph.cc", "|| same_shape(type, first)", "|| same_shape(first, first)", "broadcast"),
                                         ("options.cc", "claim_.empty() ||", "true ||", "claimed:")):
            path = os.path.join(folder, file)
            with open(path, encoding="utf-8") as f:
                text = f.read()
            self.assertIn(right, text)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text.replace(right, wrong))
            build = os.path.join(folder, "build")
            subprocess.run(["cmake", "--build", build], check=True, capture_output=True)
            done = subprocess.run(["ctest", "--test-dir", build, "--output-on-failure"], capture_output=True, encoding="utf-8")
            self.assertNotEqual(done.returncode, 0, wrong)
            self.assertIn("FAIL", done.stdout)
            self.assertIn(says, done.stdout)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)

    def test_kernels_and_memory(self):
        self.make("Zed", "--style", "kernels", "--memory", "device")
        copies = self.placement("Zed", "zed")["copies"]
        self.assertEqual([c["tensor"] for c in copies], ["e"])
        self.assertIn("GPU 0 (vendor 0x5a3e)", copies[0]["to"])

    def test_compiled_in_memory_of_its_own(self):
        self.make("CardAndCable", "--memory", "device")
        self.assertEqual(self.placement("CardAndCable", "card_and_cable")["outputs"][0]["memory"], ["GPU 0 (vendor 0x5a3e)"])

    def test_headers_alone(self):
        library = os.path.join(self.prefix, "lib", "libretort.so.1")
        code, out = self.run_tool("Plain", "--style", "kernels", "--headers", os.path.join(self.prefix, "include", "retort"), RETORT_LIBRARY=library)
        self.assertEqual(code, 0, out)
        self.assertIn(f"{QUESTIONS} passed, 0 failed", out)

    def test_wrong_usage(self):
        os.makedirs(os.path.join(self.folder, "full", "of"), exist_ok=True)
        for words, says in ((["acme"], "begin with a capital"), (["AcmeProvider"], "leave 'Provider' off"), (["Acme", "--engine", "/nowhere.so"], "no library /nowhere.so"),
                            (["Acme", "--prefix", "/nowhere"], "no Retort is installed in /nowhere"), (["Acme", "--directory", "full", "--no-build"], "is not empty")):
            code, out = self.run_tool(*words)
            self.assertEqual(code, 2, out)
            self.assertIn(says, out)

    def test_nothing_of_the_template_is_left(self):
        code, out = self.run_tool("Fresh", "--no-build")
        self.assertEqual(code, 0, out)
        for folder, _, files in os.walk(os.path.join(self.folder, "fresh")):
            for file in files:
                with open(os.path.join(folder, file), encoding="utf-8") as f:
                    self.assertNotIn("sample", f.read().lower(), file)


if __name__ == "__main__":
    unittest.main()
