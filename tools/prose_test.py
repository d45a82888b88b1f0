#!/usr/bin/env python3
"""That prose.py finds phrases in the text of a page, and nothing in its code."""
import os
import re
import tempfile
import unittest

import prose

PHRASES = [(re.compile(r"said\s+no\b", re.I), "write 'reported an error'")]


class Prose(unittest.TestCase):
    def found(self, text):
        return list(prose.complaints("a.md", text, PHRASES))

    def test_names_line_phrase_and_replacement(self):
        self.assertEqual(self.found("# Page\n\nThe file said no.\n"), ["a.md:3: 'said no': write 'reported an error' (tools/phrases.tsv)"])

    def test_a_phrase_goes_on_in_the_next_line(self):
        self.assertEqual(len(self.found("The engine said\nno, twice. It Said no.\n")), 2)

    def test_code_is_not_looked_at(self):
        for code in ("```\nsaid no\n```\n", "Run\n\n    said no\n\n    said no\n", "`said no` is a message.\n", "- item\n\n  ```c\n  said no\n  ```\n"):
            self.assertEqual(self.found(code), [], code)
        self.assertEqual(len(self.found("```\ncode\n```\nThe file said no.\n\n    code\n\nIt said no.\n")), 2)
        self.assertEqual(len(self.found("- an item\n    said no\n")), 1, "a continued item is no code")

    def test_the_list(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "phrases.tsv")
            with open(path, "w", encoding="utf-8") as f:
                f.write("# comment\n\nheld? against\tcompare with\n")
            (phrase, instead), = prose.read_phrases(path)
            self.assertTrue(phrase.search("held\n  against"))
            self.assertEqual(instead, "compare with")
            with open(path, "a", encoding="utf-8") as f:
                f.write("alone\n")
            with self.assertRaisesRegex(ValueError, "alone"):
                prose.read_phrases(path)
        self.assertTrue(prose.read_phrases())

    def test_pages(self):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "docs"))
            for path in ("a.md", "a.txt", "docs/errors.md"):
                with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                    f.write("The engine or a file said no.\n")
            found = list(prose.check(root, ["a.md", "a.txt", "docs/errors.md", "gone.md"]))
            self.assertEqual(len(found), 1, found)
            self.assertTrue(found[0].startswith("a.md:1: "), found)


if __name__ == "__main__":
    unittest.main()
