#!/usr/bin/env python3
"""That fuzz_shapes tells its kinds of findings, and a small seeded choice of what it finds here beside official ONNX Runtime.

    RETORT_LIBRARY is the library to test, by default out/lib/libretort.so.1; without it or the oracle only the parts that need none run.
"""
import argparse
import contextlib
import io
import os
import sys
import unittest

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "fuzzing"))
import judge  # noqa: E402
import program  # noqa: E402
import recipes  # noqa: E402
import schemas  # noqa: E402
import wrong_shapes  # noqa: E402
from engines import Worker  # noqa: E402

LIBRARY = os.environ.get("RETORT_LIBRARY") or os.path.join(os.path.dirname(HERE), "out", "lib", "libretort.so.1")
STATE, ORACLE = program.official()
ROWS = judge.read_faults(wrong_shapes.DIFFERENCES)
CHOICE = "Tile com.microsoft:QAttention com.microsoft:QGemm com.microsoft.nchwc:Upsample"


class Parts(unittest.TestCase):
    def test_kinds(self):
        ok, other = ("ok", [("tensor", 1, (2, 3), b"")]), ("ok", [("tensor", 1, (3, 2), b"")])
        load, run, none = ("error", "load", 1, "bad"), ("error", "run", 2, "bad"), ("error", "run", 9, "no kernel")
        rows = [(ok, ok, ""), (ok, other, "shape"), (load, ok, "accepted"), (run, ok, "accepted"), (none, ok, ""), (ok, run, "refused"),
                (ok, load, "refused"), (load, run, "late"), (run, load, ""), (ok, ("crash", "SIGSEGV", ""), "crash"), (("hang", 5), ok, "")]
        for theirs, ours, kind in rows:
            self.assertEqual(wrong_shapes.kind(theirs, ours), kind, (theirs, ours))

    def test_changes(self):
        shapes = {name: value.shape for name, value in wrong_shapes.changes(np.zeros((2, 1)))}
        self.assertEqual(shapes, {"lead": (1, 2, 1), "tail": (2, 1, 1), "less": (1,), "long0": (3, 1), "long1": (2, 2), "empty0": (0, 1),
                                  "empty1": (2, 0), "one0": (1, 1)})
        self.assertEqual({name for name, _ in wrong_shapes.changes(np.array(["a"], object)[0:0])}, {"lead", "tail"})


@unittest.skipUnless(ORACLE and os.path.exists(LIBRARY), "no ONNX Runtime or no library")
class Beside(unittest.TestCase):
    def found(self, theirs, ours, rows, labels, every):
        """The counts of findings, and what was printed."""
        args, text = argparse.Namespace(seed=7, bases=1, every=every), io.StringIO()
        fuzzer = program.Fuzzer(recipes.load(), (Worker(theirs, ((0, 1),), 20), Worker(ours, ((99, 1),), 20)), rows)
        operators = program.chosen(schemas.load(STATE), labels.split(), set())
        try:
            with contextlib.redirect_stdout(text):
                counts = [wrong_shapes.sweep(fuzzer, operator, args) for operator in operators]
        finally:
            fuzzer.close()
        return sum(counts, start=counts[0].__class__()), text.getvalue()

    def test_a_seeded_choice_has_no_open_finding(self):
        counts, text = self.found(ORACLE, LIBRARY, ROWS, CHOICE, 3)
        self.assertEqual(set(counts) - {"agree", "known"}, set(), text)
        self.assertGreater(counts["agree"], 60)

    def test_differences_are_found_without_their_rows(self):
        counts, text = self.found(LIBRARY, ORACLE, [], "LRN", 1)
        self.assertGreater(counts["refused"], 0, text)


if __name__ == "__main__":
    unittest.main()
