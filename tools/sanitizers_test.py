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


class Whole(unittest.TestCase):
    def levels(self, *highest):
        rows = [san.Row("asan", "avx2", "unit", "t", "c", "2030-01-02", h, "a processor") for h in highest]
        return {level for _, level, _ in san.whole(rows)}

    def test_both_levels(self):
        self.assertEqual(self.levels("avx512", "avx2"), {"avx2", "avx512"})
        self.assertEqual(self.levels("avx2"), {"avx2"})
        self.assertEqual(self.levels("v2"), {"avx2"})
        self.assertEqual(self.levels(), {"avx2"})

    def test_all_stages_under_each_sanitizer(self):
        self.assertEqual(set(san.whole([])), {(s, "avx2", stage) for s, stages in san.STAGES.items() for stage in stages})

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
        self.assertEqual(san.level_of("avx512-vnni", "avx512"), "avx512-vnni")  # not the whole level

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
        count = 2 * sum(map(len, san.STAGES.values()))
        told = list(san.last())
        self.assertIn(f", 1 of {count} parts", told[0])
        self.assertEqual(len(told), 5)
        self.assertIn("of asan at avx2: unit conformance", told[1])
        self.assertIn("of asan at avx512: conformance", told[2])
        self.commit("a part")
        self.all_parts()
        line, = san.last()
        self.assertRegex(line, rf", {count} of {count} parts .*: the oldest on \d{{4}}-\d\d-\d\d at [0-9a-f]{{12}} \(1 commits ago\), the newest on \S+ at [0-9a-f]{{12}} \(0 commits ago\)")
        self.assertTrue(line.endswith(f"; {3 + 2 * (count - 1)} tests"), line)

    def test_only_parts_of_changed_files_run_again(self):
        self.all_parts()
        self.assertEqual(san.Recorder(san.tree(), "tsan").missing(), [])
        self.write("a.cc", "int b;")
        self.commit("changed")
        recorder = san.Recorder(san.tree(), "tsan")
        self.assertEqual(set(recorder.missing()), set(san.STAGES["tsan"]))
        self.assertTrue(recorder.add("runs", Count(1)))
        self.assertNotIn("runs", recorder.missing())
        line, = san.last()
        self.assertRegex(line, r"the oldest on .* \(1 commits ago\), the newest on .* \(0 commits ago\)")

    def test_a_finding_removes_the_row(self):
        self.all_parts()
        self.assertFalse(san.Recorder(san.tree(), "tsan").add("runs", Count(5, 1)))
        self.assertEqual(list(san.last())[1:], ["no clean run is recorded of tsan at avx512: runs (make test-san runs them)"])

    def test_what_is_not_clean_is_not_recorded(self):
        recorder = san.Recorder(san.tree(), "asan")
        for stage, count in ("unit", Count(5, 1)), ("unit", Count(0, 0, 3)), ("unit", Count()), ("layers", Count(5)):
            self.assertFalse(recorder.add(stage, count))
        self.assertEqual(san.read(self.path()), [])

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
        self.assertIn("(not in this history)", san.told(san.dataclasses.replace(rows[0], commit="0123456789ab")))


class Options(unittest.TestCase):
    def test_sanitizers_end_a_program_with_a_finding(self):
        options = san.environment()
        self.assertIn("abort_on_error=1", options["ASAN_OPTIONS"])
        self.assertIn("halt_on_error=1", options["UBSAN_OPTIONS"])
        self.assertIn("halt_on_error=1", options["TSAN_OPTIONS"])


if __name__ == "__main__":
    unittest.main()
