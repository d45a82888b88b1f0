#!/usr/bin/env python3
"""Tests that docs/differences.md agrees with the lists of the tests, and that differences_page.py writes it
correctly."""
import unittest

import differences_page as dp


def row(scene, ours, theirs, reason):
    return {"scene": scene, "ours": ours, "theirs": theirs, "reason": reason}


class DifferencesPage(unittest.TestCase):
    def test_the_committed_page(self):
        with open(dp.PAGE, encoding="utf-8") as f:
            self.assertEqual(f.read(), dp.page(), "run tools/differences_page.py --update")

    def test_codes_have_names(self):
        self.assertEqual(dp.said("Run = 2"), "Run: INVALID_ARGUMENT")
        self.assertEqual(dp.said("Run = 0"), "Run: success")
        self.assertEqual(dp.said("code = 9"), "the call: NOT_IMPLEMENTED")
        self.assertEqual(dp.said("count = 2"), "count = 2")

    def test_nothing_breaks_a_table(self):
        self.assertNotIn("|", dp.said("text = a|b"))
        self.assertLess(len(dp.said("text = " + "x" * 500)), 80)

    def test_reasons_are_told_once(self):
        rows = [row("binding.a", "Run = 0", "Run = 1", "because"), row("binding.a", "y = 1", "y = 2", "as above"),
                row("values.b", "Run = 0", "Run = 1", "else"), row("binding_life.c", "Run = 0", "Run = 1", "because")]
        text = dp.scene_chapters(rows)
        self.assertEqual(text.count("because"), 1)
        self.assertIn("| because | Run: success | Run: FAIL | binding.a, binding_life.c |", text)
        self.assertLess(text.index("## I/O binding"), text.index("## Values and memory"))

    def test_every_group_of_scenes_needs_a_chapter(self):
        with self.assertRaises(SystemExit):
            dp.chapter_of("nowhere.scene")

    def test_operators_of_cases(self):
        names = {"Attention", "LinearAttention", "Momentum", "Adam"}
        self.assertEqual(dp.operator_of("node/test_linear_attention_fp16", names), "LinearAttention")
        self.assertEqual(dp.operator_of("node/test_nesterov_momentum", names), "Momentum")
        self.assertEqual(dp.operator_of("node/test_unheard_of", names), "unheard_of")


if __name__ == "__main__":
    unittest.main()
