#!/usr/bin/env python3
"""Tests that check_errors.py finds errors in an answer, and that its page can be read back."""
import unittest

import check_errors as ce
import page
from case import Case

CASE = Case("Shapes", "a | b", ("'mm'", "[2,3]"), None)
GOOD = "node 'mm' (MatMul): shapes [2,3] and [4,5]; check its inputs"


def complaints(code="FAIL", text=GOOD, theirs="FAIL: no", reasons=None):
    wrong, stale = ce.complaints({CASE: (code, text, theirs)}, reasons or {})
    return [what for _, what in wrong], stale


class Complaints(unittest.TestCase):
    def test_a_good_answer(self):
        self.assertEqual(complaints(), ([], []))

    def test_a_piece_is_missing(self):
        self.assertEqual(complaints(text=GOOD.replace("[2,3]", "x"))[0][0].split(":")[0], "does not say [2,3]")

    def test_nothing_to_do(self):
        for text in (GOOD.split(";")[0], GOOD.replace("check", "the")):
            self.assertIn("does not end with what to do", complaints(text=text)[0][0])

    def test_another_code(self):
        self.assertIn("no reason", complaints(code="NOT_FOUND")[0][0])
        for title in (CASE.title, "*"):
            self.assertEqual(complaints(code="NOT_FOUND", reasons={("Shapes", title, "NOT_FOUND", "FAIL"): "so"}), ([], []))

    def test_a_reason_that_nothing_needs(self):
        row = ("Types", "*", "NOT_FOUND", "FAIL")
        self.assertEqual(complaints(reasons={row: "so"}), ([], [row]))

    def test_no_error_at_all(self):
        self.assertEqual(complaints(code="OK", text="", theirs="no error")[0], ["goes through"])

    def test_a_crash(self):
        self.assertIn("SIGSEGV", complaints(code="SIGSEGV", text="")[0][0])


class Page(unittest.TestCase):
    def test_cells_are_read_back(self):
        theirs = page.cell(("FAIL", "two\nlines | and *stars* <T> `x`"))
        text = page.page({(CASE.chapter, CASE.title): (("FAIL", GOOD), theirs)}, "1.2.3")
        self.assertEqual(page.read_oracle(text), ({(CASE.chapter, CASE.title): theirs}, "1.2.3"))
        self.assertEqual(page.unescape(theirs), "FAIL: two\nlines | and *stars* <T> `x`")
        self.assertEqual(page.code_of(theirs), "FAIL")
        self.assertEqual(page.code_of(page.cell(("OK", ""))), "OK")


if __name__ == "__main__":
    unittest.main()
