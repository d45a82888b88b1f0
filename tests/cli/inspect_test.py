#!/usr/bin/env python3
"""retort inspect: text, JSON and the page, which is opened in Chromium."""
import json
import re
import sys
import unittest

import onnx
from onnx import TensorProto, helper

from tool import DIGITS, ToolTest, retort


class Inspect(ToolTest):
    def two_branches(self):
        """y = relu(x · w) or its negative, by the sign of a."""
        def branch(op):
            out = helper.make_tensor_value_info(op + "_out", TensorProto.FLOAT, None)
            return helper.make_graph([helper.make_node(op, ["h"], [op + "_out"])], op, [], [out])
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="product"), helper.make_node("Greater", ["a", "zero"], ["positive"]),
                 helper.make_node("If", ["positive"], ["y"], name="choice", then_branch=branch("Relu"), else_branch=branch("Neg"))]
        ports = [helper.make_tensor_value_info(*p) for p in (("x", TensorProto.FLOAT, ["n", 3]), ("a", TensorProto.FLOAT, []), ("y", TensorProto.FLOAT, None))]
        constants = [helper.make_tensor("w", TensorProto.FLOAT, [3, 5], range(15)), helper.make_tensor("zero", TensorProto.FLOAT, [], [0])]
        graph = helper.make_graph(nodes, "two </script> branches", ports[:2], ports[2:], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path("m.onnx"))
        return self.path("m.onnx")

    def test_text(self):
        out = retort("inspect", DIGITS, "--nodes", "--passes")[1]
        self.assertRegex(out, r"opsets +ai\.onnx 17")
        self.assertRegex(out, r"Conv +2 +167 kFLOP +96\.7%")
        self.assertIn("p1: float32[batch,16,4,4] = MaxPool(r1: float32[batch,16,8,8])", out)
        self.assertRegex(out, r"epilogues +[\d.]+ +10 → +8 +2 +epilogue_relu 2\n")
        self.assertRegex(out, r"\n  attention +[\d.]+ +9 → +9 +0\n")  # also what changed nothing
        self.assertRegex(out, r"\n  total +[\d.]+ +\d+\n")

    def test_nodes_of_bodies_are_counted(self):
        self.assertRegex(retort("inspect", self.two_branches())[1], r"nodes +5, of which 5 are left")

    def test_passes_add_up(self):
        told = json.loads(retort("inspect", DIGITS, "--json")[1])
        passes, total = told["passes"], told["passes_total"]
        names = [p["name"] for p in passes]
        self.assertLess(names.index("cleanup"), names.index("epilogues"))
        self.assertGreater(len(passes), len([p for p in passes if p["counts"]]))
        self.assertTrue(all(p["changes"] == sum(p["counts"].values()) for p in passes))
        self.assertEqual(total["changes"], sum(p["changes"] for p in passes))
        self.assertAlmostEqual(total["milliseconds"], sum(p["milliseconds"] for p in passes), places=6)

    def test_numbers_follow_shapes(self):
        first, fourth = (json.loads(retort("inspect", DIGITS, "--json", *words)[1]) for words in ([], ["--shape", "image=4x1x8x8"]))
        self.assertEqual(first["assumed"], {"batch": 1})
        self.assertEqual(fourth["assumed"], {})
        conv = [next(n for n in m["graph"]["nodes"] if n["op"] == "Conv") for m in (first, fourth)]
        self.assertEqual(conv[0]["operations"], 2 * 16 * 8 * 8 * 9 + 16 * 8 * 8)
        self.assertEqual(conv[1]["operations"], 4 * conv[0]["operations"])
        self.assertEqual(fourth["outputs"][0]["shape"], "[4,10]")
        self.assertEqual(fourth["memory"]["weights"], first["memory"]["weights"])

    def test_fused_nodes_name_where_they_came_from(self):
        told = json.loads(retort("inspect", DIGITS, "--json")[1])
        names = {n["name"] for n in told["graph"]["nodes"]}
        fused = [n["origins"] for n in told["optimized"]["nodes"] if len(n.get("origins", [])) == 2]
        self.assertEqual(len(fused), 2)
        for origins in fused:
            self.assertLessEqual(set(origins), names)
        without = json.loads(retort("inspect", DIGITS, "--json", "--disable", "epilogues")[1])
        self.assertNotIn("epilogues", [p["name"] for p in without["passes"]])
        self.assertEqual(len(without["optimized"]["nodes"]), len(told["optimized"]["nodes"]) + 2)
        self.assertEqual(retort("inspect", DIGITS, "--disable", "epilogue_relu")[0], 0)
        self.fails(1, ["inspect", DIGITS, "--disable", "epilogue"], "no pass or rule 'epilogue'", "epilogues")
        self.fails(1, ["inspect", DIGITS, "--disable", "nosuch"], "no pass or rule 'nosuch'", "the passes are affine, attention, ")

    def test_bodies(self):
        told = json.loads(retort("inspect", self.two_branches(), "--json")[1])
        choice = next(n for n in told["graph"]["nodes"] if n["op"] == "If")
        self.assertEqual({k: [n["op"] for n in g["nodes"]] for k, g in choice["bodies"].items()}, {"then_branch": ["Relu"], "else_branch": ["Neg"]})
        self.assertIn("then_branch:", retort("inspect", self.path("m.onnx"), "--nodes")[1])

    def test_a_body_that_loading_puts_into_another(self):
        """Scan of opset 8 runs over a batch."""
        floats = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "sxty"}
        body = helper.make_graph([helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Neg", ["t"], ["y"], name="inner")],
                                 "body", [floats["s"], floats["x"]], [floats["t"], floats["y"]])
        node = helper.make_node("Scan", ["", "a", "b"], ["c", "d"], num_scan_inputs=1, body=body)
        ports = [helper.make_tensor_value_info(*p) for p in (("a", TensorProto.FLOAT, [1, 4]), ("b", TensorProto.FLOAT, [1, 3, 4]),
                                                             ("c", TensorProto.FLOAT, None), ("d", TensorProto.FLOAT, None))]
        graph = helper.make_graph([node], "g", ports[:2], ports[2:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=8), self.path("scan.onnx"))
        code, out, err = retort("inspect", self.path("scan.onnx"), "--json")
        self.assertEqual((code, err), (0, ""))
        told = json.loads(out)
        self.assertNotIn("problem", told)
        self.assertEqual([n["op"] for n in told["graph"]["nodes"][0]["bodies"]["body"]["nodes"]], ["Add", "Neg"])

    def test_models_that_cannot_run(self):
        nodes = [helper.make_node(op, [a], [b], domain=domain) for op, a, b, domain in (("Relu", "x", "h", ""), ("Frob", "h", "g", "my"), ("Frob", "g", "f", "my"), ("Nix", "f", "y", ""))]
        model = self.model(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
        code, out, err = retort("inspect", model)
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"cannot run this model: 3 nodes cannot run here:\n.*my\.Frob is not known.*\n.*ai\.onnx\.Nix is not known")
        self.assertIn("\nunknown operators: ai.onnx.Nix (1 node), my.Frob (2 nodes)\n", out)  # all of them
        self.assertRegex(out, r"Frob +2 +not known\n")  # its arithmetic
        self.fails(1, ["diff", model, "--against-model", DIGITS], f"with '{model}': ", "my.Frob")

    def test_nothing_is_negative(self):
        """A window of 9 over a free extent, which counts as 1: the length of the output is unknown."""
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 1, n + "_length"]) for n in "xy"]
        window = helper.make_tensor("w", TensorProto.FLOAT, [1, 1, 9], range(9))
        graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"])], "g", ports[:1], ports[1:], [window])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path("m.onnx"))
        self.assertNotIn("operations", json.loads(retort("inspect", self.path("m.onnx"), "--json")[1])["graph"]["nodes"][0])
        self.assertRegex(retort("inspect", self.path("m.onnx"))[1], r"arithmetic +0 FLOP a run with .* unknown for 1 nodes")
        long_enough = json.loads(retort("inspect", self.path("m.onnx"), "--shape", "x=1x1x10", "--json")[1])
        self.assertEqual(long_enough["graph"]["nodes"][0]["operations"], 2 * 2 * 9)

    def test_wrong_shapes(self):
        self.fails(1, ["inspect", DIGITS, "--shape", "image=1x1x9x9"], "'image'", "[batch,1,8,8]", "[1,1,9,9]")
        self.fails(1, ["inspect", DIGITS, "--shape", "picture=1"], "'picture'")
        self.fails(1, ["inspect", DIGITS, "--html", "/nowhere/a.html"], "cannot write '/nowhere/a.html'", "'/nowhere' is not a folder")
        # Checked before anything runs.
        self.fails(1, ["profile", DIGITS, "--trace", self.folder], f"'{self.folder}' is a folder")

    def test_page(self):
        code, out, err = retort("inspect", DIGITS, "--html", self.path("a.html"))
        self.assertEqual((code, err), (0, f"retort inspect: the page is {self.path('a.html')}\n"))
        with open(self.path("a.html"), encoding="utf-8") as f:
            self.assertIsNone(re.search(r'(src|href)="', f.read()))  # everything is inside
        document = self.browse(self.path("a.html"), "search=16×4×4")
        self.assertIn("<title>digits.onnx</title>", document)
        self.assertEqual(len(re.findall(r'class="node( port)?( hit)?"', document)), 9 + 2)
        self.assertEqual(len(re.findall(r'class="edge"', document)), 10)
        self.assertRegex(document, r'<text x="[\d.]+" y="[\d.]+">batch×16×4×4</text>')  # shapes on edges
        self.assertRegex(document, r'class="node hit"')
        # The node that computes it, and the one that reads it.
        self.assertEqual(len(re.findall(r'class="node hit"', document)), 2)
        self.assertNotIn("NaN", document)

    def test_page_of_bodies(self):
        retort("inspect", self.two_branches(), "--html", self.path("a.html"))
        document = self.browse(self.path("a.html"), "graph=graph&search=Relu_out")
        self.assertIn(">0 found, more in as the model says › choice then_branch<", document)
        self.assertIn("5 nodes, 5 after optimisation", document)
        arithmetic = re.search(r"arithmetic +(\d+ FLOP) a run", retort("inspect", self.path("m.onnx"))[1])[1]
        self.assertIn(f" {arithmetic} a run", document)
        document = self.browse(self.path("a.html"), "graph=optimized/choice/then_branch&search=Relu_out")
        self.assertEqual(len(re.findall(r'class="node( port)?( hit)?"', document)), 1 + 2)
        self.assertIn(">2 found<", document)  # the node that computes it, and the output

    def test_page_of_what_is_left_out(self):
        """Neither an omitted output nor an omitted input is a value."""
        nodes = [helper.make_node("MaxPool", ["x"], ["h", ""], kernel_shape=[2]), helper.make_node("Clip", ["h", "", "most"], ["y"])]
        ports = [helper.make_tensor_value_info(*p) for p in (("x", TensorProto.FLOAT, [1, 1, 4]), ("most", TensorProto.FLOAT, []), ("y", TensorProto.FLOAT, None))]
        retort("inspect", self.model(nodes, ports[:2], ports[2:]), "--html", self.path("a.html"))
        document = self.browse(self.path("a.html"), "graph=graph")
        self.assertEqual(len(re.findall(r'class="edge"', document)), 4)

    def test_page_of_what_runs(self):
        retort("inspect", DIGITS, "--html", self.path("a.html"))
        document = self.browse(self.path("a.html"), "graph=optimized&heat=arithmetic")
        self.assertEqual(len(re.findall(r'class="node( port)?"', document)), 8 + 2)

    def large(self, count):
        """Each node reads the one before and the one four before; each tenth also reads the result of the second one."""
        reads = [[i - 1, i - 4 if i > 4 else i - 1] + [1] * (i % 10 == 9) for i in range(1, count + 1)]
        nodes = [helper.make_node("Sum", ["x" if r < 1 else f"v{r}" for r in read], [f"v{i + 1}"], name=f"n{i + 1}") for i, read in enumerate(reads)]
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3, 7]) for n in ("x", f"v{count}")]
        return self.model(nodes, ports[:1], ports[1:]), sum(map(len, reads)) + 1

    def test_page_of_a_large_graph(self):
        """In bands: every node once, a shape at every edge, no overlaps; values that are read from far away are named."""
        model, edges = self.large(700)
        retort("inspect", model, "--html", self.path("a.html"))
        document = self.browse(self.path("a.html"), "graph=graph&search=n700")
        self.assertIn(">1 found<", document)
        boxes = re.findall(r'class="node[^"]*" transform="translate\(([-\d.]+) ([-\d.]+)\)"[^>]*><rect x="[-\d.]+" y="[-\d.]+" width="([\d.]+)" height="36"', document)
        self.assertEqual(len(boxes), 700 + 2)
        self.assertEqual(len(re.findall(r">3×7</text>", document)), edges)
        self.assertEqual(len(re.findall(r"↑ v1</text>", document)), 70 - 1)  # the first one is near
        rows = {}
        for x, y, width in (map(float, b) for b in boxes):
            rows.setdefault(y, []).append((x - width / 2, x + width / 2))
        self.assertTrue(all(b - a >= 36 for a, b in zip(sorted(rows), sorted(rows)[1:])))
        for row in map(sorted, rows.values()):
            self.assertTrue(all(left[1] <= right[0] for left, right in zip(row, row[1:])))

    def test_names_are_no_markup(self):
        retort("inspect", self.two_branches(), "--html", self.path("a.html"))
        document = self.browse(self.path("a.html"))
        self.assertEqual(len(re.findall(r'class="node( port)?"', document)), 3 + 3)


if __name__ == "__main__":
    sys.exit(unittest.main())
