#!/usr/bin/env python3
"""The rules of the list of expected failures."""
import os
import tempfile
import unittest

import run_cases as rc

ROWS = {"node/good": (True, "", ""), "node/bad": (False, "value", "1 of 1"), "node/dead": (False, "crash", "signal")}


class ExpectedFailures(unittest.TestCase):
    def setUp(self):
        self.path = os.path.join(tempfile.mkdtemp(), "list.tsv")

    def test_unlisted_failures_count(self):
        self.assertEqual(len(list(rc.complaints(ROWS, {}))), 2)

    def test_listed_failures_are_known_but_a_crash_never_is(self):
        lines = list(rc.complaints(ROWS, {"node/bad": "value", "node/dead": "crash"}))
        self.assertEqual(len(lines), 1)
        self.assertIn("node/dead", lines[0])

    def test_a_listed_case_that_passes_counts(self):
        lines = list(rc.complaints(ROWS, {"node/good": "value", "node/bad": "value"}))
        self.assertTrue(any("node/good" in line and "remove it" in line for line in lines))

    def test_a_listed_case_of_a_saved_model_may_pass(self):
        lines = list(rc.complaints(ROWS, {"node/good": "value", "node/bad": "value"}, saved=True))
        self.assertEqual(len(lines), 1)

    def test_the_list_does_not_grow_unasked(self):
        self.assertEqual(rc.write_expected(self.path, ROWS, {}, allow_growth=False), ["node/bad"])
        self.assertFalse(os.path.exists(self.path))

    def test_an_allowed_list_reads_back_without_crashes(self):
        self.assertEqual(rc.write_expected(self.path, ROWS, {}, allow_growth=True), [])
        self.assertEqual(rc.read_expected(self.path), {"node/bad": "value"})

    def test_update_shrinks_and_keeps_cases_that_did_not_run(self):
        old = {"node/good": "value", "node/bad": "value", "node/elsewhere": "shape"}
        self.assertEqual(rc.write_expected(self.path, ROWS, old, allow_growth=False), [])
        self.assertEqual(rc.read_expected(self.path), {"node/bad": "value", "node/elsewhere": "shape"})

    def test_a_failure_of_one_level_is_none_of_another(self):
        listed = {"node/bad": "value@0", "node/good": "value@0"}
        self.assertEqual(rc.at_level(listed, 0), listed)
        self.assertEqual(rc.at_level(listed, 99), {})
        self.assertEqual(rc.write_expected(self.path, ROWS, listed, allow_growth=False), ["node/bad"])
        self.assertEqual(rc.write_expected(self.path, {"node/good": (True, "", "")}, listed, allow_growth=False), [])
        self.assertEqual(rc.read_expected(self.path), listed)
        self.assertEqual(rc.write_expected(self.path, ROWS, listed, allow_growth=False, level=0), [])
        self.assertEqual(rc.read_expected(self.path), {"node/bad": "value@0"})


if __name__ == "__main__":
    unittest.main()
