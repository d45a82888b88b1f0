#!/usr/bin/env python3
"""Tests the examples in the pages: their files do not exist yet, lie where the tools would write them, and are read
completely."""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import recipes

loader = importlib.machinery.SourceFileLoader("new_op", os.path.join(recipes.ROOT, "tools", "new_op"))
new_op = importlib.util.module_from_spec(importlib.util.spec_from_loader("new_op", loader))
loader.exec_module(new_op)


def files():
    return [(page, path, text) for page, whole in recipes.pages() for kind, path, text in recipes.blocks(whole) if kind == "file"]


class Recipes(unittest.TestCase):
    def test_the_examples_are_not_there_yet(self):
        self.assertGreater(len(files()), 8)
        for page, path, _ in files():
            self.assertFalse(os.path.exists(os.path.join(recipes.ROOT, path)), f"{page}: {path} exists now; show another example")

    def test_new_op_puts_the_operator_where_the_page_says(self):
        (page, path, text), *_ = [f for f in files() if f[1].startswith("src/ops/") and not f[1].endswith("_test.cc")]
        name, domain = (re.search(rf'\.{of} = "([\w.]+)"', text)[1] for of in ("name", "domain"))
        with open(os.path.join(recipes.ROOT, page), encoding="utf-8") as f:
            self.assertIn(f"tools/new_op {name} --domain {domain} ", f.read())
        with tempfile.TemporaryDirectory() as root:
            done = subprocess.run([os.path.join(recipes.ROOT, "tools", "new_op"), name, "--domain", domain, "--root", root],
                                  capture_output=True, encoding="utf-8", check=True)
            self.assertEqual(done.stdout.split(), [path, path[:-3] + "_test.cc"])
            with open(os.path.join(root, path), encoding="utf-8") as f:
                written = f.read()
        def below_the_class(text):
            return re.search(r"extern const OpDef.*", text, re.S)[0].split()
        self.assertEqual(below_the_class(text), below_the_class(written), "the page and new_op differ")

    def test_form(self):
        if not shutil.which("clang-format"):
            self.skipTest("no clang-format")
        for page, path, text in files():
            if path.endswith((".cc", ".h")):
                done = subprocess.run(["clang-format", "--assume-filename", os.path.join(recipes.ROOT, path)], input=text, capture_output=True,
                                      encoding="utf-8", check=True)
                self.assertEqual(done.stdout, text, f"{page}: {path}")

    def test_tools_that_are_started_alone_can_be(self):
        started = {tool for _, text in recipes.pages() for tool in re.findall(r"^    (tools/\S+) ", text, re.M)}
        self.assertIn("tools/new_op", started)
        for tool in started:
            self.assertTrue(os.access(os.path.join(recipes.ROOT, tool), os.X_OK), tool)

    def test_tests_are_named(self):
        named = [line for _, text in recipes.pages() for line in recipes.RUN.findall(text)]
        self.assertEqual({program for program, _ in named}, {"ops_test", "passes_test", "session_test", "kernels_test", "abi_test"})

    def test_blocks(self):
        page = "a\n<!-- file: src/a.cc -->\n```cpp\nint a;\n```\n<!-- row: abi/t.tsv -->\n```\nT\t1\n```\n"
        self.assertEqual(recipes.blocks(page), [("file", "src/a.cc", "int a;\n"), ("row", "abi/t.tsv", "T\t1\n")])
        with self.assertRaisesRegex(ValueError, "no block"):
            recipes.blocks(page.replace("```cpp", "text\n```cpp"))

    def test_rows_stand_behind_their_own(self):
        self.assertEqual(recipes.with_row("head\nA\t0\nA\t1\nB\t0\n", "A\t2\n"), "head\nA\t0\nA\t1\nA\t2\nB\t0\n")
        self.assertEqual(recipes.with_row("head\nA\t0\n", "C\t0"), "head\nA\t0\nC\t0\n")

    def test_the_slot_of_the_page_is_the_next_one(self):
        (path, row), = [(path, text) for _, whole in recipes.pages() for kind, path, text in recipes.blocks(whole) if kind == "row"]
        with open(os.path.join(recipes.ROOT, path), encoding="utf-8") as f:
            rows = [line.split("\t") for line in f if line.startswith("OrtApi\t")]
        struct, slot, offset, version, name = row.split("\t")[:5]
        self.assertEqual((struct, int(slot), int(offset)), ("OrtApi", int(rows[-1][1]) + 1, int(rows[-1][2]) + 8), "show the next slot of OrtApi")
        self.assertGreater(int(version), int(rows[-1][3]), "show the next version")
        self.assertNotIn(name, [r[4] for r in rows])

    def test_files_of_examples_that_are_gone_are_removed(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in ("src/old.cc", "src/new.cc", "abi/tables.cc"):
                recipes.put(os.path.join(folder, path), "x")
            recipes.remove_others(folder, [os.path.join(folder, "src/new.cc")])
            self.assertEqual([os.path.exists(os.path.join(folder, p)) for p in ("src/old.cc", "src/new.cc", "abi/tables.cc")], [False, True, True])

    def test_files_that_have_not_changed_are_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a", "b")
            recipes.put(path, "x")
            os.utime(path, (1, 1))
            recipes.put(path, "x")
            self.assertEqual(os.path.getmtime(path), 1)
            recipes.put(path, "y")
            self.assertNotEqual(os.path.getmtime(path), 1)


if __name__ == "__main__":
    unittest.main()
