#!/usr/bin/env python3
"""Tests that tests/sanitizers.tsv lists only stages that ran and were clean."""
import os
import subprocess
import tempfile
import unittest
from unittest import mock

import run_tests
import sanitizers as san
from run_tests import Count

ALL = {s: ",".join(stages) for s, stages in san.STAGES.items()}


def row(sanitizer="asan", level="avx512", stages=None, tree="t1", highest="avx512", date="2030-01-02"):
    return san.Row(tree, "c" + tree, date, sanitizer, level, highest, "a processor", ALL[sanitizer] if stages is None else stages, 5)


def whole(**changes):
    return [row(s, level, **changes) for s in san.STAGES for level in ("avx2", "avx512")]


class Whole(unittest.TestCase):
    def test_all_stages_under_each_sanitizer_at_both_levels(self):
        self.assertTrue(san.is_whole(whole()))

    def test_no_row_can_be_missing(self):
        for i in range(4):
            rows = whole()
            del rows[i]
            self.assertFalse(san.is_whole(rows), i)

    def test_no_stage_can_be_missing(self):
        for i, r in enumerate(whole()):
            for stage in r.done():
                rows = whole()
                rows[i].stages = ",".join(r.done() - {stage})
                self.assertFalse(san.is_whole(rows), (i, stage))

    def test_a_lower_level_is_not_the_highest_of_that_machine(self):
        self.assertFalse(san.is_whole([row(s, "avx2") for s in san.STAGES]))
        self.assertTrue(san.is_whole([row(s, "avx2", highest="avx2") for s in san.STAGES]))
        self.assertFalse(san.is_whole([row(s, "v2", highest="v2") for s in san.STAGES]))

    def test_parts_of_several_trees_are_none(self):
        rows = whole()
        rows[0].tree = "t2"
        self.assertEqual(san.last_whole(rows), [])

    def test_the_newest_is_the_last(self):
        rows = whole(tree="new", date="2030-02-01") + whole(tree="old", date="2030-01-31")
        self.assertEqual({r.tree for r in san.last_whole(rows)}, {"new"})

    def test_each_stage_of_the_suite_runs_or_has_a_reason_not_to(self):
        self.assertEqual(set(run_tests.STAGES), set(san.STAGES["asan"]) | set(san.LEFT_OUT))
        self.assertEqual(set(san.STAGES["asan"]), set(san.STAGES["tsan"]) | set(san.TSAN_ONLY_LEFT_OUT))
        self.assertFalse(set(san.STAGES["asan"]) & set(san.LEFT_OUT) or set(san.STAGES["tsan"]) & set(san.TSAN_ONLY_LEFT_OUT))


class Levels(unittest.TestCase):
    def test_what_the_library_does(self):
        self.assertEqual(san.level_of("avx2", "avx512"), "avx2")
        self.assertEqual(san.level_of("avx512", "avx2"), "avx2")
        self.assertEqual(san.level_of("", "avx512"), "avx512")
        self.assertEqual(san.level_of("AVX2", "avx512"), "avx512")

    def test_the_machine(self):
        for flags, level in ("sse4_2", "v2"), ("avx512f avx512bw avx512dq avx512cd avx512vl", "v2"), ("avx2 fma f16c bmi2 sse4_2", "avx2"), \
                ("avx2 fma f16c bmi2 avx512f avx512bw avx512dq avx512cd avx512vl", "avx512"):
            with mock.patch.object(san, "cpu_info", return_value=flags):
                self.assertEqual(san.highest_level(), level)


class InACheckout(unittest.TestCase):
    """Tests the record in a separate repository."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for patch in mock.patch.object(san, "ROOT", self.root), mock.patch.object(san, "highest_level", return_value="avx512"), \
                mock.patch.dict(os.environ, {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}):
            patch.start()
            self.addCleanup(patch.stop)
        os.environ.pop("RETORT_ISA", None)
        os.mkdir(os.path.join(self.root, "tests"))
        self.git("init", "-q", "-b", "main")
        self.write("a.cc", "int a;")
        self.commit("first")

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=n", "-c", "user.email=e@example.org", *words], check=True, capture_output=True)

    def write(self, name, text):
        with open(os.path.join(self.root, name), "w", encoding="utf-8") as f:
            f.write(text)

    def commit(self, message):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def path(self):
        return os.path.join(self.root, san.RECORD)

    def all_parts(self):
        for sanitizer in san.STAGES:
            for level in "avx2", "":
                with mock.patch.dict(os.environ, {"RETORT_ISA": level}):
                    recorder = san.Recorder(san.tree(), sanitizer)
                    for stage in recorder.missing():
                        self.assertTrue(recorder.add(stage, Count(2, 0, 1)))

    def test_parts_become_a_whole_also_when_the_record_is_committed_between_them(self):
        recorder = san.Recorder(san.tree(), "asan")
        self.assertTrue(recorder.add("unit", Count(3)))
        self.assertIn("none is recorded", next(san.last()))
        self.assertIn("asan at avx512 (unit)", list(san.last())[1])
        self.commit("a part")
        self.all_parts()
        line, = san.last()
        self.assertRegex(line, r"suite under sanitizers: on \d{4}-\d\d-\d\d at [0-9a-f]{12} \(0 commits ago\)")
        self.assertIn("asan at avx512, asan at avx2, tsan at avx2, tsan at avx512;", line)
        passed = 3 + 2 * (2 * sum(map(len, san.STAGES.values())) - 1)
        self.assertTrue(line.endswith(f"; {passed} tests"), line)

    def test_the_last_whole_is_kept_beside_parts_of_a_later_tree(self):
        self.all_parts()
        for text in "int b;", "int c;":
            self.write("a.cc", text)
            self.commit("changed")
            san.Recorder(san.tree(), "tsan").add("runs", Count(1))
        whole_line, part = san.last()
        self.assertIn("(2 commits ago)", whole_line)
        self.assertIn("(0 commits ago)", part)
        self.assertEqual(len(san.by_tree(san.read(self.path()))), 2)

    def test_what_is_not_clean_is_not_recorded(self):
        recorder = san.Recorder(san.tree(), "asan")
        for stage, count in ("unit", Count(5, 1)), ("unit", Count(0, 0, 3)), ("unit", Count()), ("layers", Count(5)):
            self.assertFalse(recorder.add(stage, count))
        self.assertFalse(os.path.exists(self.path()))

    def test_neither_is_what_was_built_of_changed_files(self):
        built = san.tree()
        self.write("a.cc", "int changed;")
        self.assertEqual(san.tree(), "")
        self.assertIsNone(san.recorder("asan", san.tree()))
        self.assertFalse(san.Recorder(built, "asan").add("unit", Count(5)))
        self.commit("changed")
        self.assertFalse(san.Recorder(built, "asan").add("unit", Count(5)))
        self.write("new.cc", "int b;")
        self.assertEqual(san.tree(), "")

    def test_ubsan_alone_is_no_part(self):
        self.assertIsNone(san.recorder("ubsan", san.tree()))

    def test_a_commit_of_another_history(self):
        self.all_parts()
        rows = san.read(self.path())
        self.assertIn("(not in this history)", san.told([san.dataclasses.replace(rows[0], commit="0123456789ab")]))


class Options(unittest.TestCase):
    def test_sanitizers_end_a_program_with_a_finding(self):
        options = san.environment()
        self.assertIn("abort_on_error=1", options["ASAN_OPTIONS"])
        self.assertIn("halt_on_error=1", options["UBSAN_OPTIONS"])
        self.assertIn("halt_on_error=1", options["TSAN_OPTIONS"])


if __name__ == "__main__":
    unittest.main()
