#!/usr/bin/env python3
"""Tests that run_tests.py counts correctly, above all when a stage fails."""
import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

import run_tests as rt
import together
from stages import context, programs


class Counting(unittest.TestCase):
    def setUp(self):
        work = tempfile.mkdtemp()
        self.context = context.Context(argparse.Namespace(build=work, out=work, work=work, library="", digits=work, threads=1, sanitizer="", emulator=""))

    def counted(self, script):
        self.printed = io.StringIO()
        with contextlib.redirect_stdout(self.printed):
            return self.context.counted("step", [sys.executable, "-c", script])

    def test_the_last_count_line_is_taken(self):
        self.assertEqual(self.counted("print('1 passed, 1 failed'); print('7 passed, 0 failed, 2 skipped')"), context.Count(7, 0, 2))

    def test_failures_are_counted_and_shown(self):
        self.assertEqual(self.counted("print('FAIL x'); print('noise'); print('3 passed, 1 failed')"), context.Count(3, 1))
        self.assertIn("FAIL x", self.printed.getvalue())
        self.assertNotIn("noise", self.printed.getvalue())

    def test_a_bad_exit_is_a_failure_even_if_all_passed(self):
        self.assertEqual(self.counted("print('3 passed, 0 failed'); raise SystemExit(1)"), context.Count(3, 1))

    def test_no_count_line_is_a_failure(self):
        self.assertEqual(self.counted("print('fine')"), context.Count(0, 1))

    def test_a_crash_is_a_failure(self):
        self.assertEqual(self.counted("import os; os.abort()"), context.Count(0, 1))

    def test_the_environment_reaches_the_program(self):
        code, text = self.context.start("env", [sys.executable, "-c", "import os; print(os.environ['RETORT_X'])"], RETORT_X="42")
        self.assertEqual((code, text), (0, "42\n"))
        self.assertTrue(os.path.exists(os.path.join(self.context.work, "env.log")))

    def test_skipped_python_tests_are_no_passes(self):
        path = os.path.join(self.context.work, "t.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write("import unittest\n"
                    "class T(unittest.TestCase):\n"
                    "    def test_a(self): pass\n"
                    "    def test_b(self): self.skipTest('no tool')\n"
                    "unittest.main()\n")
        self.assertEqual(context.python_tests(self.context, "t", path), context.Count(1, 0, 1))


class UnitReports(unittest.TestCase):
    def setUp(self):
        self.reports = tempfile.mkdtemp()

    def count(self, statuses, reports):
        for name, (tests, failures, skipped) in reports.items():
            cases = [{"result": "SKIPPED"}] * skipped + [{"result": "COMPLETED"}] * (tests - skipped)
            with open(os.path.join(self.reports, name + ".json"), "w", encoding="utf-8") as f:
                json.dump({"tests": tests, "failures": failures, "disabled": 0, "testsuites": [{"testsuite": cases}]}, f)
        return programs.count_unit(statuses, self.reports)

    def test_programs_with_and_without_reports(self):
        self.assertEqual(self.count(["run", "run"], {"base_test": (5, 0, 1)}), context.Count(5, 0, 1))

    def test_a_failed_test_is_counted_once(self):
        self.assertEqual(self.count(["fail"], {"base_test": (5, 2, 0)}), context.Count(3, 2))

    def test_a_program_that_died_is_a_failure(self):
        self.assertEqual(self.count(["run", "fail"], {"base_test": (5, 0, 0)}), context.Count(5, 1))


class OfProcesses(unittest.TestCase):
    """Stages as processes, several at once."""

    def setUp(self):
        self.work, self.ended = tempfile.mkdtemp(), {}

    def run_stages(self, scripts, at_once=2):
        together.Together(scripts, lambda s: [sys.executable, "-c", scripts[s]], lambda s: os.path.join(self.work, s),
                          lambda s, *result: self.ended.update({s: result})).run(at_once)

    def test_each_stage_runs_once_and_its_output_arrives(self):
        self.run_stages({str(n): f"print({n})" for n in range(5)})
        self.assertEqual({s: text for s, (_, text, _) in self.ended.items()}, {str(n): f"{n}\n" for n in range(5)})

    def test_two_run_at_once(self):
        wait = "import os, time\nopen({0!r}, 'w')\nwhile not os.path.exists({1!r}): time.sleep(0.01)"
        a, b = (os.path.join(self.work, "file." + n) for n in "ab")
        self.run_stages({"a": wait.format(a, b), "b": wait.format(b, a)})
        self.assertEqual(len(self.ended), 2)

    def test_processor_time_includes_what_a_stage_started(self):
        burn = "import time\nwhile time.process_time() < 0.3: pass"
        self.run_stages({"a": f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"})
        self.assertGreaterEqual(self.ended["a"][2].processor, 0.3)

    def test_stages_that_disturb_each_other_wait(self):
        self.assertEqual(together.next_stage(["clients", "cli"], {"bindings"}), "cli")
        self.assertIsNone(together.next_stage(["clients"], {"bindings"}))

    def test_the_last_line_counts(self):
        self.assertEqual(rt.stage_count(0, "9 passed, 9 failed\n2 skipped\n7 passed, 0 failed\n"), context.Count(7, 0, 2))
        self.assertEqual(rt.stage_count(1, "3 passed, 2 failed\n"), context.Count(3, 2))

    def test_a_stage_that_ends_badly_is_a_failure(self):
        for status, text in (0, ""), (1, "Traceback\n"), (-11, "1 passed, 0 failed\nmore\n"):
            self.assertEqual(rt.stage_count(status, text), context.Count(0, 1))
        self.assertEqual(rt.stage_count(-11, "1 passed, 0 failed\n"), context.Count(1, 1))

    def test_a_stage_that_skips_everything_is_none(self):
        self.assertEqual(rt.stage_count(1, "1 skipped\n0 passed, 0 failed\n"), context.Count(0, 0, 1))

    def test_options_are_handed_on_without_the_empty_ones(self):
        args = argparse.Namespace(build="b", threads=4, emulator="")
        self.assertEqual(together.options_of(args, ("build", "threads", "emulator")), ["--build", "b", "--threads", "4"])


if __name__ == "__main__":
    unittest.main()
