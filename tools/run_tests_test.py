#!/usr/bin/env python3
"""That run_tests.py counts what happened, above all when something goes wrong."""
import argparse
import contextlib
import io
import os
import sys
import tempfile
import unittest

import run_tests as rt


class Counting(unittest.TestCase):
    def setUp(self):
        work = tempfile.mkdtemp()
        self.context = rt.Context(argparse.Namespace(build=work, out=work, work=work, library="", digits=work, threads=1, sanitizer="", emulator=""))

    def counted(self, script):
        self.printed = io.StringIO()
        with contextlib.redirect_stdout(self.printed):
            return self.context.counted("step", [sys.executable, "-c", script])

    def test_the_last_count_line_is_taken(self):
        self.assertEqual(self.counted("print('1 passed, 1 failed'); print('7 passed, 0 failed, 2 skipped')"), rt.Count(7, 0, 2))

    def test_failures_are_counted_and_shown(self):
        self.assertEqual(self.counted("print('FAIL x'); print('noise'); print('3 passed, 1 failed')"), rt.Count(3, 1))
        self.assertIn("FAIL x", self.printed.getvalue())
        self.assertNotIn("noise", self.printed.getvalue())

    def test_a_bad_exit_is_a_failure_even_if_all_passed(self):
        self.assertEqual(self.counted("print('3 passed, 0 failed'); raise SystemExit(1)"), rt.Count(3, 1))

    def test_no_count_line_is_a_failure(self):
        self.assertEqual(self.counted("print('fine')"), rt.Count(0, 1))

    def test_a_crash_is_a_failure(self):
        self.assertEqual(self.counted("import os; os.abort()"), rt.Count(0, 1))

    def test_the_environment_reaches_the_program(self):
        code, text = self.context.start("env", [sys.executable, "-c", "import os; print(os.environ['RETORT_X'])"], RETORT_X="42")
        self.assertEqual((code, text), (0, "42\n"))
        self.assertTrue(os.path.exists(os.path.join(self.context.work, "env.log")))

    def test_skipped_python_tests_are_no_passes(self):
        path = os.path.join(self.context.work, "t.py")
        with open(path, "w") as f:
            f.write("import unittest\n"
                    "class T(unittest.TestCase):\n"
                    "    def test_a(self): pass\n"
                    "    def test_b(self): self.skipTest('no tool')\n"
                    "unittest.main()\n")
        self.assertEqual(rt.python_tests(self.context, "t", path), rt.Count(1, 0, 1))


class UnitReports(unittest.TestCase):
    def setUp(self):
        self.reports = tempfile.mkdtemp()

    def count(self, programs, reports):
        for name, (tests, failures, skipped) in reports.items():
            cases = [{"result": "SKIPPED"}] * skipped + [{"result": "COMPLETED"}] * (tests - skipped)
            with open(os.path.join(self.reports, name + ".json"), "w") as f:
                rt.json.dump({"tests": tests, "failures": failures, "disabled": 0, "testsuites": [{"testsuite": cases}]}, f)
        return rt.count_unit(programs, self.reports)

    def test_programs_with_and_without_reports(self):
        self.assertEqual(self.count(["run", "run"], {"base_test": (5, 0, 1)}), rt.Count(5, 0, 1))

    def test_a_failed_test_is_counted_once(self):
        self.assertEqual(self.count(["fail"], {"base_test": (5, 2, 0)}), rt.Count(3, 2))

    def test_a_program_that_died_is_a_failure(self):
        self.assertEqual(self.count(["run", "fail"], {"base_test": (5, 0, 0)}), rt.Count(5, 1))


if __name__ == "__main__":
    unittest.main()
