#!/usr/bin/env python3
"""Tests that levels.py counts the stages that ran at each level, and reports skipped levels."""
import contextlib
import io
import os
import stat
import sys
import tempfile
import unittest
from unittest import mock

import levels

TOOL = '#!/bin/sh\n[ "$RETORT_ISA" = avx2 ] && exit 0\necho "no $RETORT_ISA here" >&2\nexit 1\n'


class Levels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tool = os.path.join(folder.name, "retort")
        with open(self.tool, "w", encoding="utf-8") as f:
            f.write(TOOL)
        os.chmod(self.tool, stat.S_IRWXU)

    def main(self, *words):
        printed = io.StringIO()
        with mock.patch.object(sys, "argv", ["levels.py", "--tool", self.tool, *words]), contextlib.redirect_stdout(printed):
            return levels.main(), printed.getvalue()

    def test_levels_that_the_processor_has(self):
        with mock.patch.object(levels, "run", return_value=(7, 0)) as run:
            code, text = self.main("--", "unit")
        run.assert_called_once_with("avx2", ["unit"])
        self.assertEqual(code, 0)
        self.assertRegex(text, r"avx512 +left out: no avx512 here\n")
        self.assertTrue(text.endswith("7 passed, 0 failed\n"))

    def test_nothing_that_ran_is_a_failure(self):
        self.assertEqual(self.main("--level", "v2")[0], 1)

    def test_stages_that_count_nothing_are_a_failure(self):
        code, text = self.main("--", "--help")
        self.assertEqual(code, 1)
        self.assertTrue(text.endswith("0 passed, 1 failed\n"))

    def test_one_dnn_is_bound_too(self):
        self.assertEqual(levels.environment("v2")["ONEDNN_MAX_CPU_ISA"], "SSE41")
        self.assertEqual(levels.environment("avx2")["RETORT_ISA"], "avx2")

    def test_a_level_without_features(self):
        level = levels.environment("avx512-vnni-bf16")
        self.assertEqual((level["RETORT_ISA"], level["ONEDNN_MAX_CPU_ISA"]), ("avx512-vnni-bf16", "AVX512_CORE"))
        with mock.patch.object(levels, "run", return_value=(1, 0)), contextlib.redirect_stderr(io.StringIO()) as told:
            self.assertEqual(self.main("--level", "avx2-vnni", "--", "unit")[0], 1)  # this tool has only avx2
            self.assertRaises(SystemExit, self.main, "--level", "avx-512")
        self.assertIn("does not begin with one of neon, v2, avx2, avx512", told.getvalue())


if __name__ == "__main__":
    unittest.main()
