#!/usr/bin/env python3
"""retort ops, and docs/operators.md."""
import json
import os
import sys
import unittest

import onnx
from onnx import TensorProto, helper

from tool import DIGITS, ROOT, ToolTest, retort

sys.path.insert(0, os.path.join(ROOT, "tools"))


class Ops(ToolTest):
    def test_list(self):
        told = {(o["domain"], o["name"]): o for o in json.loads(retort("ops", "--json")[1])}
        self.assertGreater(len(told), 150)
        conv = told["ai.onnx", "Conv"]
        self.assertEqual((conv["versions"], conv["providers"]), ([1, 11, 22], ["CPUExecutionProvider"]))
        self.assertIn("float32", conv["types"])
        self.assertIn("float16", conv["types"] + conv["converted"])
        for o in told.values():
            if not o.get("rewritten"):
                kinds = o["types"], o["reference"], o["converted"]
                self.assertEqual(sum(map(len, kinds)), len(set().union(*kinds)), f"{o['name']}: a type runs in one way")
        fused = told["com.microsoft", "FusedConv"]
        self.assertEqual((fused["rewritten"], fused["versions"]), (True, [1]))
        schemas = {(s.domain or "ai.onnx", s.name) for s in onnx.defs.get_all_schemas()}
        unknown = {key for key in told if key[0].startswith("ai.onnx")} - schemas
        # ONNX Runtime's, in the standard domain: experiments of the first opsets, copies between devices, a norm
        names = "Affine Crop DynamicSlice ImageScaler ParametricSoftplus Scale ScaledTanh MemcpyFromHost MemcpyToHost SimplifiedLayerNormalization"
        self.assertEqual(unknown, {("ai.onnx", name) for name in names.split()})

    def test_filter(self):
        out = retort("ops", "Gemm")[1]
        self.assertRegex(out, r"Gemm +1,6,7,9,11,13 +.*float32")
        self.assertTrue(out.endswith("5 operators\n"), out)  # FusedGemm and three others of com.microsoft have it in their names
        self.assertRegex(retort("ops", "FusedGemm")[1], r"FusedGemm +1 +of the operators that replace it\n")
        self.assertRegex(retort("ops", "ai.onnx")[1], r"ai\.onnx\.ml\n")  # a domain, though it ends like the name of a model
        self.fails(1, ["ops", "frobnicate"], "no operator has 'frobnicate' in its name")

    def test_of_a_model(self):
        code, out, err = retort("ops", DIGITS)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"\n  Conv +11 +float32 +2  kernel\n")
        told = {o["name"]: o for o in json.loads(retort("ops", DIGITS, "--json")[1])["operators"]}
        self.assertEqual({k: told["Conv"][k] for k in ("domain", "version", "type", "nodes", "known", "runs")},
                         {"domain": "ai.onnx", "version": 11, "type": "float32", "nodes": 2, "known": True, "runs": ["kernel"]})
        self.fails(1, ["ops", self.path("nowhere.onnx")], "nowhere.onnx")

    def test_slow_types(self):
        """The plain loop, in the type itself and in a wider one; and a node that is only another view of its input."""
        ports = [helper.make_tensor_value_info(*p) for p in (("a", TensorProto.DOUBLE, [2]), ("b", TensorProto.INT16, [2]), ("c", TensorProto.DOUBLE, None),
                                                             ("d", TensorProto.INT16, None), ("e", TensorProto.DOUBLE, None))]
        nodes = [helper.make_node("Acosh", ["a"], ["c"]), helper.make_node("Mod", ["b", "b"], ["d"]), helper.make_node("Identity", ["a"], ["e"])]
        told = {o["name"]: o for o in json.loads(retort("ops", self.model(nodes, ports[:2], ports[2:]), "--json")[1])["operators"]}
        kinds = {o["name"]: o for o in json.loads(retort("ops", "--json")[1])}
        for name, of in ("Acosh", "float64"), ("Mod", "int16"):
            expected = next(way for way, key in (("kernel", "types"), ("reference", "reference"), ("converted", "converted")) if of in kinds[name][key])
            self.assertEqual((told[name]["type"], told[name]["runs"]), (of, [expected]))
        self.assertEqual(told["Identity"]["runs"], [])

    def test_all_that_is_missing_at_once(self):
        """Unknown operators, a type that has no kernel and an operator of a newer version: in ops, inspect and run."""
        names = {"x": TensorProto.FLOAT, "i": TensorProto.INT32, "s": TensorProto.STRING, "a": TensorProto.FLOAT, "b": TensorProto.INT32,
                 "c": TensorProto.STRING, "d": TensorProto.FLOAT}
        ports = {n: helper.make_tensor_value_info(n, t, [2]) for n, t in names.items()}
        nodes = [helper.make_node("Frob", ["x"], ["a"], name="frob", domain="my"), helper.make_node("LpNormalization", ["i"], ["b"], name="norm"),
                 helper.make_node("Exp", ["s"], ["c"], name="exp"), helper.make_node("Nix", ["x"], ["d"], name="nix")]
        model = self.model(nodes, [ports[n] for n in "xis"], [ports[n] for n in "abcd"])
        for words in (["ops", model], ["inspect", model]):
            code, out, err = retort(*words)
            self.assertEqual((code, err), (0, ""))
            self.missing(out)
        code, _, err = retort("run", model)
        self.assertEqual(code, 1)
        self.missing(err)
        out = retort("ops", model)[1]
        self.assertRegex(out, r"\n  my\.Frob +- +float32 +1  unknown: Retort cannot run it\n")
        self.assertIn("4 nodes cannot run here", json.loads(retort("ops", model, "--json")[1])["problem"])

    def missing(self, text):
        self.assertIn("4 nodes cannot run here:", text)
        for name in ("'frob' (my.Frob)", "'norm' (LpNormalization)", "'exp' (Exp)", "'nix' (Nix)"):
            self.assertIn("node " + name, text)


class OperatorsPage(ToolTest):
    def test_the_committed_page(self):
        import operators_page
        changed = operators_page.differences(os.environ.get("RETORT_LIBRARY") or os.path.join(ROOT, "out", "lib", "libretort.so.1"))
        self.assertEqual(changed[:40], [], "run tools/operators_page.py --update")


if __name__ == "__main__":
    unittest.main()
