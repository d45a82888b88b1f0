#!/usr/bin/env python3
"""retort convert and devices."""
import json
import os
import stat
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tool import DIGITS, ToolTest, retort


class Convert(ToolTest):
    def wide(self):
        """y = x · W with 64 KiB of weights, for opset 12."""
        weights = numpy_helper.from_array(np.random.default_rng(5).random((128, 128), np.float32), "W")
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 128]) for n in "xy"]
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "W"], ["y"], name="mm")], "wide", ports[:1], ports[1:], [weights])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7, producer_name="test"), self.path("wide.onnx"))
        return self.path("wide.onnx")

    def output(self, model):
        code, _, err = retort("run", model, "--save", self.path("out"), "--shape", "x=3x128")
        self.assertEqual(code, 0, err)
        return np.load(self.path("out/y.npy"))

    def test_weights_beside_and_inside(self):
        model = self.wide()
        expected = self.output(model)
        told = json.loads(retort("convert", model, self.path("small.onnx"), "--external", "w.bin", "--json")[1])
        self.assertLess(told["bytes"], 1000)
        self.assertEqual(told["external_bytes"], 128 * 128 * 4)
        beside = onnx.load(self.path("small.onnx"), load_external_data=False).graph.initializer[0]
        self.assertEqual([(e.key, e.value) for e in beside.external_data if e.key == "location"], [("location", "w.bin")])
        np.testing.assert_array_equal(self.output(self.path("small.onnx")), expected)
        self.assertEqual(retort("convert", self.path("small.onnx"), self.path("whole.onnx"))[0], 0)
        os.remove(self.path("w.bin"))
        np.testing.assert_array_equal(self.output(self.path("whole.onnx")), expected)
        whole = onnx.load(self.path("whole.onnx"))
        onnx.checker.check_model(whole)
        self.assertEqual((whole.producer_name, whole.opset_import[0].version, whole.graph.node[0].name), ("test", 12, "mm"))

    def test_threshold(self):
        out = retort("convert", self.wide(), self.path("small.onnx"), "--external", "w.bin", "--threshold", 1 << 20)[1]
        self.assertIn("all are inside", out)
        self.assertFalse(os.path.exists(self.path("w.bin")))
        with open(self.path("w.bin"), "wb") as f:
            f.write(b"an older file")
        self.assertEqual(retort("convert", self.wide(), self.path("small.onnx"), "--external", "w.bin", "--threshold", 1 << 20)[1], out)

    def test_optimize(self):
        self.assertEqual(retort("convert", DIGITS, self.path("fast.onnx"), "--optimize", "all")[0], 0)
        onnx.checker.check_model(self.path("fast.onnx"))
        before, after = (json.loads(retort("run", m, "--json")[1])["outputs"]["probabilities"]["values"] for m in (DIGITS, self.path("fast.onnx")))
        np.testing.assert_allclose(before, after, rtol=1e-5, atol=1e-7)

    def test_optimize_with_another_engine(self):
        official = self.official()
        code, _, err = retort("convert", self.wide(), self.path("fast.onnx"), "--optimize", "basic", "--library", official)
        self.assertEqual(code, 0, err)
        self.assertIn("mm", [n.name for n in onnx.load(self.path("fast.onnx")).graph.node])

    def test_report(self):
        told = json.loads(retort("convert", self.wide(), "--json")[1])
        self.assertEqual(told["opsets"]["ai.onnx"]["imported"], 12)
        self.assertEqual(told["operators"], [{"domain": "ai.onnx", "name": "MatMul", "nodes": 1, "known": True, "definition": 9, "newest": 13}])
        self.assertRegex(retort("convert", self.wide())[1], r"MatMul +1 +9 \(newest: 13, converted while loading\)")

    def test_report_names_what_is_not_known(self):
        value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1]), helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
        graph = helper.make_graph([helper.make_node("Frob", ["x"], ["y"], domain="my.domain")], "g", value[:1], value[1:])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("my.domain", 1)], ir_version=10)
        onnx.save(model, self.path("m.onnx"))
        self.assertRegex(retort("convert", self.path("m.onnx"))[1], r"my\.domain\.Frob +1 +unknown")

    def test_failures(self):
        self.fails(2, ["convert", self.wide(), self.path("a.onnx"), "--external", "../w.bin"], "../w.bin")
        self.fails(1, ["convert", self.wide(), "/nowhere/a.onnx"], "cannot write '/nowhere/a.onnx'")
        self.fails(2, ["convert", self.wide(), self.path("a.onnx"), "--optimize", "more"], "more")
        self.fails(2, ["convert", self.wide(), self.path("a.ort"), "--external", "w.bin"], "always inside", "--external")
        self.fails(2, ["convert", self.wide(), self.path("a.ort"), "--format", "onnx", "--external", "../w.bin"], "../w.bin")
        self.fails(2, ["convert", self.wide(), self.path("a.ort"), "--format", "tflite"], "tflite")
        self.assertFalse(os.path.exists(self.path("a.ort")))

    def test_ort_format(self):
        model = self.wide()
        expected = self.output(model)
        for words in ([self.path("a.ort")], [self.path("a.bin"), "--format", "ort"], [self.path("b.ort"), "--optimize", "all"]):
            self.assertEqual(retort("convert", model, *words)[0], 0)
            with open(words[0], "rb") as f:
                self.assertEqual(f.read(8)[4:], b"ORTM")
            np.testing.assert_array_equal(self.output(words[0]), expected)
        self.assertEqual(retort("convert", self.path("a.ort"), self.path("again.onnx"))[0], 0)
        again = onnx.load(self.path("again.onnx"))
        onnx.checker.check_model(again)
        self.assertEqual((again.producer_name, again.opset_import[0].version, again.graph.node[0].name), ("test", 12, "mm"))
        np.testing.assert_array_equal(self.output(self.path("again.onnx")), expected)

    def test_the_official_library_runs_what_was_written_in_ort_format(self):
        official = self.official()
        for made in (self.bodies(), self.words(), DIGITS):
            for optimize in ([], ["--optimize", "basic"]):
                file = self.path("made.ort")
                code, _, err = retort("convert", made, file, *optimize)
                self.assertEqual(code, 0, err)
                told = [json.loads(retort("run", *words, "--json", "--seed", 7)[1])["outputs"]
                        for words in ((made, "--library", official), (file, "--library", official), (file,))]
                for other in told[1:]:
                    self.assertEqual(list(other), list(told[0]))
                    for name, output in told[0].items():
                        self.assertEqual([other[name][k] for k in ("shape", "type")], [output[k] for k in ("shape", "type")])
                        if output["type"] == "string":
                            self.assertEqual(other[name]["values"], output["values"])
                        else:
                            np.testing.assert_allclose(other[name]["values"], output["values"], rtol=1e-4, atol=1e-6)

    def bodies(self):
        """A Loop with an If inside, captured values in both, an omitted input, and a Constant."""
        f, i, b = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
        vi = helper.make_tensor_value_info
        then = helper.make_graph([helper.make_node("Add", ["state", "x"], ["t"])], "then", [], [vi("t", f, None)])
        other = helper.make_graph([helper.make_node("Clip", ["state", "", "most"], ["e"])], "else", [], [vi("e", f, None)])
        body = helper.make_graph(
            [helper.make_node("Constant", [], ["two"], value_int=2), helper.make_node("Less", ["round", "two"], ["early"]),
             helper.make_node("If", ["early"], ["next"], then_branch=then, else_branch=other), helper.make_node("Identity", ["go"], ["go_on"])],
            "body", [vi("round", i, []), vi("go", b, []), vi("state", f, None)], [vi("go_on", b, []), vi("next", f, None)])
        graph = helper.make_graph(
            [helper.make_node("Loop", ["rounds", "", "x"], ["y"], body=body)], "bodies", [vi("x", f, ["n", 3])], [vi("y", f, ["n", 3])],
            [numpy_helper.from_array(np.array(4, np.int64), "rounds"), numpy_helper.from_array(np.array(1.5, np.float32), "most")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path("bodies.onnx"))
        return self.path("bodies.onnx")

    def words(self):
        """Strings chosen by number; a weight given as a sparse tensor; a sequence between two nodes."""
        vi = helper.make_tensor_value_info
        values = numpy_helper.from_array(np.array([3.0], np.float32), "sparse")
        sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(np.array([1], np.int64), "at"), [3])
        graph = helper.make_graph(
            [helper.make_node("Add", ["x", "sparse"], ["sum"]), helper.make_node("SequenceConstruct", ["sum", "x"], ["both"]),
             helper.make_node("ConcatFromSequence", ["both"], ["y"], axis=0), helper.make_node("ArgMax", ["y"], ["best"], axis=0, keepdims=1),
             helper.make_node("LabelEncoder", ["best"], ["word"], domain="ai.onnx.ml", keys_int64s=[0, 1], values_strings=["first", "other"])],
            "words", [vi("x", TensorProto.FLOAT, [3])], [vi("y", TensorProto.FLOAT, [6]), vi("word", TensorProto.STRING, [1])], sparse_initializer=[sparse])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), self.path("words.onnx"))
        return self.path("words.onnx")

    def test_links_are_followed(self):
        model = self.wide()
        os.mkdir(self.path("there"))
        with open(self.path("there/old.onnx"), "w", encoding="utf-8") as f:
            f.write("old")
        for link, target, file in (("a.onnx", "there/old.onnx", "there/old.onnx"), ("b.onnx", "a.onnx", "there/old.onnx"),
                                   ("c.onnx", "there/new.onnx", "there/new.onnx")):
            os.symlink(target, self.path(link))
            self.assertEqual(retort("convert", model, self.path(link))[0], 0)
            self.assertTrue(os.path.islink(self.path(link)))
            self.assertFalse(os.path.islink(self.path(file)))
            self.assertEqual(onnx.load(self.path(file)).producer_name, "test")
            os.remove(self.path(file))
        os.symlink("loop.onnx", self.path("loop.onnx"))
        self.fails(1, ["convert", model, self.path("loop.onnx")], "cannot write", "symbolic links")

    def test_only_regular_files_are_replaced(self):
        os.mkfifo(self.path("pipe"))
        os.symlink("pipe", self.path("link"))
        for words in ([self.path("pipe")], [self.path("link")], [self.path("a.onnx"), "--external", "pipe"], [self.folder]):
            self.fails(1, ["convert", self.wide(), *words], "it is not a regular file", "choose another name")
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe")).st_mode))
        self.assertFalse(os.path.exists(self.path("a.onnx")))


class Devices(ToolTest):
    def test_processor(self):
        told = json.loads(retort("devices", "--json")[1])
        self.assertGreaterEqual(told["processor"]["threads"], 1)
        self.assertGreater(told["processor"]["memory_bytes"], 1e8)
        self.assertIn("CPUExecutionProvider", told["providers"])
        self.assertRegex(retort("devices")[1], r"providers \(engine: Retort [\d.]+\)\n +CPUExecutionProvider")

    def test_hardware(self):
        told = json.loads(retort("devices", "--json")[1])["hardware"]
        self.assertEqual(told[-1]["kind"], "CPU")
        declared = json.loads(retort("devices", "--json", "--vulkan", "--virtual", "npu:0x8086:0x7d1d")[1])["hardware"]
        self.assertEqual([d for d in declared if d not in told and "vulkan_name" not in d["details"]],
                         [{"kind": "NPU", "vendor": "", "vendor_id": 0x8086, "device_id": 0x7d1d,
                           "details": {"is_virtual": "1"}}])
        self.assertRegex(retort("devices", "--virtual", "gpu:0x10de:0x1eb8")[1],
                         r"hardware\n(.*\n)*  GPU 10de:1eb8\n    is_virtual: 1\n  CPU ")
        self.fails(1, ["devices", "--virtual", "gpu"], "virtual device 'gpu'")

    def test_official_engine_finds_its_devices(self):
        official = self.official()
        for words in (["devices"], ["run", DIGITS], ["bench", DIGITS, "--runs", 5], ["inspect", DIGITS, "--placement"]):
            for option in (["--vulkan"], ["--virtual", "gpu:0x10de:0x1eb8"]):
                self.fails(1, [*words, "--library", official, *option], "supports neither --vulkan nor --virtual")
        told = json.loads(retort("devices", "--library", official, "--json")[1])
        self.assertIn("CPU", [d["kind"] for d in told["devices"]])
        # In the order of a hash table, before the processor.
        self.assertCountEqual(told["hardware"], json.loads(retort("devices", "--json")[1])["hardware"])
        self.assertTrue(told["engine"].startswith("ONNX Runtime 1."), told["engine"])

    def test_plugin_that_is_none(self):
        self.fails(1, ["devices", "--plugin", "x=/nowhere.so"])
        self.fails(2, ["devices", "--plugin", "x"], "NAME=FILE")


if __name__ == "__main__":
    sys.exit(unittest.main())
