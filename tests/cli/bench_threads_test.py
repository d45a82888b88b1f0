#!/usr/bin/env python3
"""bench/threads/threads.py: whole processes of one scenario, side by side."""
import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import unittest

import numpy as np

from tool import DIGITS, ROOT, TOOL, ToolTest

sys.path.insert(0, os.path.join(ROOT, "bench", "threads"))
import threads  # noqa: E402

LIBRARY = os.environ.get("RETORT_LIBRARY") or os.path.join(os.path.dirname(TOOL), "..", "lib", "libretort.so.1")


class Figures(unittest.TestCase):
    def test_a_process_from_which_the_host_took_time_is_repeated(self):
        clock = iter([(0, 0), (5, 100), (5, 200), (6, 300)])  # 5 % stolen, then 1 %
        measured = iter([9.0, 2.0])
        processes = threads.Processes(lambda library: next(measured), 0.01, lambda: next(clock))
        self.assertEqual(processes.one("lib"), 2.0)
        self.assertEqual(processes.repeated, 1)

    def test_a_host_that_always_takes_time_does_not_hold_up(self):
        stolen = iter(range(0, 100000, 50))
        processes = threads.Processes(lambda library: 1.0, 0.01, lambda: (next(stolen),) * 2)
        self.assertEqual(processes.one("lib"), 1.0)
        self.assertEqual(processes.repeated, 10)

    def test_libraries_alternate(self):
        order = []
        processes = threads.Processes(lambda library: order.append(library) or 1.0, 1, lambda: (0, 0))
        times = processes.all({"a": "A", "b": "B"}, 3)
        self.assertEqual("".join(order), "ABBAAB")
        self.assertEqual({name: len(t) for name, t in times.items()}, {"a": 3, "b": 3})

    def test_stolen_time_of_the_system(self):
        self.assertEqual(threads.processor_time("cpu  1 2 3 4 5 6 7 8 100 100"), (8, 36))
        self.assertLessEqual(threads.processor_time()[0], threads.processor_time()[1])

    def test_the_target(self):
        even, uneven, worse = ({"slowest": x} for x in (1.1, 1.3, 1.4))
        for found, missed in (([even, even], False), ([uneven, even], True), ([uneven, worse], False), ([uneven], True), ([uneven, even, worse], True)):
            self.assertEqual(threads.misses(dict(enumerate(found)), 1.15), missed)
        self.assertEqual(threads.figures([2.0, 3.0, 1.0]), {"median_ms": 2.0, "slowest": 1.5, "fastest": 0.5, "ms": [2.0, 3.0, 1.0]})

    def test_the_other_process_ends(self):
        with threads.company("2+half"):
            children = self.children()
            self.assertEqual(len(children), 1)
        self.assertEqual(self.children(), [])
        with threads.company("2"):
            self.assertEqual(self.children(), [])

    def children(self):
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as f:
            return f.read().split()

    def test_modes(self):
        self.assertEqual([threads.mode(m) for m in ("1", "2+half")], ["1", "2+half"])
        for wrong in ("0", "half", "2+", "x+half", "-1"):
            with self.assertRaises(argparse.ArgumentTypeError):
                threads.mode(wrong)


class Program(ToolTest):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("zoo/b2"))
        self.pb("zoo/b2/input_0.pb", self.image)
        rows = [{"model": "digits", "scenario": "b2", "path": DIGITS, "inputs": "b2"}, {"model": "digits", "scenario": "loop", "path": DIGITS, "inputs": "b2", "hand_back": True}]
        with open(self.path("zoo/index.json"), "w", encoding="utf-8") as f:
            json.dump(rows, f)

    def run_it(self, *words):
        command = [sys.executable, threads.__file__, self.path("zoo"), "--tool", TOOL, "--processes", "2", "--seconds", "0.01", "--stolen", "1", *words]
        done = subprocess.run(command, capture_output=True, encoding="utf-8")
        return done.returncode, done.stdout, done.stderr

    def test_a_table(self):
        code, out, err = self.run_it("--library", f"One={LIBRARY}", "--library", f"Two={LIBRARY}", "--mode", "2", "--mode", "1+half", "--target", "1e9", "--json",
                                     self.path("r.json"), "digits/*")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"threads 2 +One +slow +fast +Two +slow +fast +/One\ndigits/b2 +[\d.]+ +[\d.]+ +[\d.]+ ")
        self.assertIn("threads 1+half", out)
        self.assertNotIn("loop", out)
        with open(self.path("r.json"), encoding="utf-8") as f:
            told = json.load(f)
        self.assertEqual(set(told), {"2", "1+half"})
        self.assertEqual(len(told["2"]["digits/b2"]["Two"]["ms"]), 2)

    def test_what_misses_the_target(self):
        code, out, _ = self.run_it("--library", f"One={LIBRARY}", "--mode", "1", "--target", "0.5", "digits/b2")
        self.assertEqual(code, 1)
        self.assertIn("beyond 0.5 and the spread of the second library: digits/b2 (1)", out)

    def test_wrong_arguments(self):
        code, _, err = self.run_it("--library", f"One={LIBRARY}", "resnet*")
        self.assertEqual((code, err), (2, "threads.py: no scenario matches resnet*; there are digits/b2\n"))
        code, _, err = self.run_it("--library", "One=/nowhere.so")
        self.assertEqual(code, 2)
        self.assertIn("'One=/nowhere.so' is not NAME=FILE with a file that exists", err)
        os.remove(self.path("zoo/index.json"))
        self.assertIn("make zoo writes one", self.run_it("--library", f"One={LIBRARY}")[2])
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            threads.arguments(["zoo", "--tool", "t", "--library", f"One={LIBRARY}", "--mode", "many"])


if __name__ == "__main__":
    sys.exit(unittest.main())
