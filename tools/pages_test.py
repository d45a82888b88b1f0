#!/usr/bin/env python3
"""Tests that pages.py finds pages that a formatter damaged and names of missing files, and nothing else."""
import unittest

import pages

FILES = ["README.md", "docs/guide.md", "src/ops/op.h", "src/ops/nn/relu.cc", "tools/new_op", "src/ops/README.md"]
MANGLED = """#explain
What tools ask about a model: `describe.h`. May use passes and base;
runs nothing
    .

    Start with `describe.cc`.
"""


class Pages(unittest.TestCase):
    def found(self, text, page="docs/page.md", absent=(), files=FILES, **others):
        others = {f"docs/{name}.md": other for name, other in others.items()}
        return list(pages.complaints({page: text, **others}, [*files, page, *others], set(absent)))

    def finds(self, words, body, **kw):
        errors = self.found("# Title\n" + body, **kw)
        self.assertEqual(len(errors), 1, (body, errors))
        self.assertIn(words, errors[0])

    def passes(self, body, **kw):
        self.assertEqual(self.found("# Title\n" + body, **kw), [], body)

    def test_a_mangled_page(self):
        files = [*FILES, "src/describe.h", "src/describe.cc"]
        self.assertEqual([e.partition(": ")[2].split(":")[0] for e in self.found(MANGLED, files=files)],
                         ["a page begins with its title", "a heading without a blank after its #", "a line of punctuation alone",
                          "Markdown in an indented block, which is shown as code"])

    def test_shapes_that_are_right(self):
        for body in ("", "\nText,\n   and more.\n", "\n    code [x](y) .\n    more\nmore\n", "\n## Part\n    code\n", "\n```\n#define A\n.\n    `x`\n```\n",
                     "\n- a\n  b\n\n    with `code` in a list\n", "\n1. a\n\n   ```\n   x\n   ```\n", "\n````\n```\n````\n", "\nA span `over\ntwo lines` here, and ``a ` b``.\n",
                     "\n| a | `b \\| c` |\n|---|---:|\n| 1 | 2 |\n\n| a |\n|---|\n"):
            self.passes(body)

    def test_shapes_that_are_not(self):
        self.finds("a heading without a blank", "\n##Part\n")
        self.finds("a line of punctuation alone", "\nText\n.\nmore\n")
        self.finds("a line of punctuation alone", "\nText\n  ;\n")
        self.finds("a code block that does not end", "\n```\ncode\n")
        self.finds("a code span that does not close", "\nThe `name is.\n\nAnother `one` here.\n")
        self.finds("Markdown in an indented block", "\nText:\n\n    See `op.h`.\n")
        self.finds("with 3 cells in a table of 2", "\n| a | b |\n|---|---|\n| 1 | 2 | 3 |\n")
        self.finds("does not end with |", "\n| a | b |\n|---|---|\n| 1\n")
        self.finds("without a line of dashes", "\n| a | b |\n| 1 | 2 |\n")

    def test_widths(self):
        words = "word " * 30
        self.finds("a line of 150 columns: wrap prose at 120", f"\n{words}\n")
        self.finds("a line of 152 columns: wrap prose at 120", f"\n- {words}\n")
        for body in (f"\n```\n{words}\n```\n", f"\nText:\n\n    {words}\n", f"\n## {words}\n", f"\n| {words} |\n|---|\n", f"\n- a\n\n      {words}\n",
                     f"\nA link [to]({'x' * 200}:y).\n".replace("xxx", "abc"), "\n" + "x" * 130 + "\n", "\n- " + "x" * 130 + "\n"):
            found = [e for e in self.found(body) if "columns" in e]
            self.assertEqual(found, [], body)

    def test_links(self):
        for body in ("[a](guide.md)", "[a](../src/ops/)", "[a](../README.md \"title\")", "[a](https://x.y/z)", "![a](../tools/new_op)", "`[a](nowhere.md)`",
                     "[a][b]\n\n[b]: ../README.md", "[a](#title)", "```\n[a](nowhere.md)\n```"):
            self.passes("\n" + body + "\n")
        for body in ("[a](nowhere.md)", "[a](../guide.md)", "[a](README.md)", "![a](x.png)", "[a][b]\n\n[b]: nowhere.md", '<img src="x.png">'):
            self.finds("leads nowhere", "\n" + body + "\n")

    def test_anchors(self):
        other = "# Other\n## What `code()` does, twice\n## Again\n## Again\n"
        for anchor in ("what-code-does-twice", "again", "again-1"):
            self.passes(f"\n[a](other.md#{anchor})\n", other=other)
        self.finds("names no heading of docs/other.md", "\n[a](other.md#again-2)\n", other=other)
        self.finds("names no heading of docs/page.md", "\n[a](#nothing)\n")

    def test_paths_that_exist(self):
        for name in ("src/ops/op.h", "ops/op.h", "op.h", "nn/relu.cc", "src/ops/", "docs/guide.md", "src/ops/<family>/<name>.cc", "ops/*.h", "LANG/relu.cc", "tools/new_op Relu",
                     "build/release/x", "a/b", "--x=src/none.cc", "N/A", "float16/bfloat16"):
            self.passes(f"\nSee `{name}`.\n")
        self.passes("\n    tools/new_op Relu   # writes src/ops/…/relu.cc\n")

    def test_paths_that_do_not(self):
        for name in ("src/ops/none.h", "ops/none", "none.cc", "nn/none.cc", "docs/guides/", "src/ops/<family>/none.cc", "none/*.h", "tools/none Relu", "docs/README.md"):
            self.finds("which does not exist", f"\nSee `{name}`.\n")
        self.finds("tools/none, which does not exist", "\n    tools/none Relu\n")
        self.finds("tools/none, which does not exist", "\n```\n$ tools/none Relu\n```\n")

    def test_files_that_a_page_shows(self):
        shown = "\n`ops/nn/new.cc`\n\n<!-- file: src/ops/nn/new.cc -->\n```cpp\n#include \"ops/nn/new.h\"\n```\n"
        self.finds("names ops/nn/new.h", shown)
        self.passes(shown.replace("new.h", "new.cc"))
        self.finds("names ops/nn/new.cc", "`ops/nn/new.cc`\n", other="# Other\n" + shown.replace("new.h", "new.cc"))

    def test_the_table_of_absent_paths(self):
        self.passes("\n`slots.h` is generated.\n", absent=["slots.h"])
        self.finds("no page names slots.h", "\n", absent=["slots.h"])


if __name__ == "__main__":
    unittest.main()
