#!/usr/bin/env python3
"""Tests that the excerpts in the documentation agree with the programs, and that excerpts.py finds them."""
import glob
import os
import tempfile
import unittest

import excerpts

PROGRAM = "int main() {\n  // [bind]\n  a();\n    b();\n  /* [end] */\n  c();\n}\n"
PAGE = "text\n<!-- excerpt: p.c [bind] -->\n```c\nold\n```\nmore\n"


class Excerpts(unittest.TestCase):
    def test_the_committed_pages(self):
        for path in glob.glob(os.path.join(excerpts.ROOT, "docs", "*.md")):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            self.assertEqual(text, excerpts.filled(text), "run tools/excerpts.py --update")

    def test_a_part_ends_at_the_next_mark(self):
        self.assertEqual(excerpts.part(PROGRAM, "bind"), "a();\n  b();\n")

    def test_marks_of_xml(self):
        self.assertEqual(excerpts.part("<a>\n  <!-- [b] -->\n  <b/>\n  <!-- [end] -->\n</a>\n", "b"), "<b/>\n")

    def test_parts_that_are_not_there(self):
        with self.assertRaisesRegex(ValueError, r"\[run\]"):
            excerpts.part(PROGRAM, "run")
        with self.assertRaisesRegex(ValueError, r"\[end\]"):
            excerpts.part(PROGRAM, "end")

    def test_pages_are_filled(self):
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "p.c"), "w", encoding="utf-8") as f:
                f.write(PROGRAM)
            self.assertEqual(excerpts.filled(PAGE, root), PAGE.replace("old\n", "a();\n  b();\n"))
            with self.assertRaisesRegex(ValueError, "no block"):
                excerpts.filled(PAGE.replace("```c", "text\n```c"), root)


if __name__ == "__main__":
    unittest.main()
