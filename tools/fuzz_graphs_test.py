#!/usr/bin/env python3
"""That the fuzzer of graphs finds planted differences and shrinks them, and a small seeded choice of what it finds
here.

    RETORT_LIBRARY is the library to test, by default out/lib/libretort.so.1; without it or the oracle only the parts that need none run.
"""
import os
import sys
import tempfile
import unittest

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "fuzzing"))
import numbers_of  # noqa: E402
from graphs import shrinking, values  # noqa: E402
from graphs.program import Fuzzer  # noqa: E402
from program import official  # noqa: E402

LIBRARY = os.environ.get("RETORT_LIBRARY") or os.path.join(os.path.dirname(HERE), "out", "lib", "libretort.so.1")
ORACLE = official()[1]
# A worker that answers like the oracle, but for what a line of it changes.
PLANT = """
import os, sys, time
sys.path.insert(0, {folder!r})
import worker
from graphs.worker import Engine
honest = Engine.outcome
def changed(value):
    kind, element, shape, data = value
    return kind, element, shape, data and data[:-1] + bytes([data[-1] ^ 64])
def outcome(self, configuration, model, runs, outputs, failing):
    found = honest(self, configuration, model, runs, outputs, failing)
    floats = [i for i, v in enumerate(found[1][0]) if v[:2] == ("tensor", 1) and v[3]] if found[0] == "ok" else []
    if floats:
        {plant}
    return found
Engine.outcome = outcome
worker.main(Engine)
"""
CHANGE = "i = floats[0]; found[1][0][i] = changed(found[1][0][i])"


class Planted(Fuzzer):
    """Both engines are the oracle, and the second has a difference planted."""

    def __init__(self, plant, seconds=20):
        super().__init__((ORACLE, ORACLE), seconds)
        self.file = tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8")
        self.file.write(PLANT.format(folder=os.path.join(HERE, "fuzzing"), plant=plant))
        self.file.flush()
        self.engines[1].command[1] = self.file.name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self.file.close()


@unittest.skipUnless(ORACLE, "no ONNX Runtime")
class PlantedDifferences(unittest.TestCase):
    def kind(self, plant, number=2, seconds=20):
        with Planted(plant, seconds) as fuzzer:
            return fuzzer.verdict(fuzzer.draw(1, number)).kind

    def test_none_is_found_where_none_is_planted_and_graphs_repeat_by_their_number(self):
        with Planted("pass") as fuzzer:
            graph = fuzzer.draw(1, 2)
            self.assertGreaterEqual(len(graph.nodes), 25)
            self.assertEqual(fuzzer.verdict(graph).kind, "")
            self.assertEqual(fuzzer.draw(1, 2).model(), graph.model())
            self.assertNotEqual(fuzzer.draw(1, 3).model(), graph.model())

    def test_a_value(self):
        self.assertEqual(self.kind(CHANGE), "value")

    def test_a_value_of_optimised_graphs(self):
        self.assertEqual(self.kind(f"if configuration[0]: {CHANGE}"), "optimised")

    def test_bits_within_the_tolerance(self):
        small = "i = floats[0]; v = found[1][0][i]; found[1][0][i] = (*v[:3], bytes([v[3][0] ^ 1]) + v[3][1:])"
        self.assertEqual(self.kind(f"if configuration[1] == 3: {small}"), "bits")

    def test_a_repetition(self):
        self.assertEqual(self.kind("found = (*found[:3], False)"), "repeated")

    def test_a_code(self):
        self.assertEqual(self.kind("found = (*found[:2], [99] * len(found[2]), True)"), "code")

    def test_a_refusal(self):
        self.assertEqual(self.kind("found = ('error', 'load', 2, 'planted')"), "refused")

    def test_a_crash_and_a_hang(self):
        self.assertEqual(self.kind("os.abort()"), "crash")
        self.assertEqual(self.kind("time.sleep(99)", seconds=0.5), "hang")

    def test_a_finding_shrinks_to_the_node_that_has_it(self):
        with Planted("pass") as fuzzer:
            graph = fuzzer.draw(1, 2)
        labels = [n.label for n in graph.nodes]
        label = next(n.label for n in graph.nodes if labels.count(n.label) == 1 and n.outputs[0].of == 1 and n.outputs[0].usable())
        with Planted(f"if b'{label.rpartition(':')[2]}' in model: {CHANGE}") as fuzzer:
            found = fuzzer.verdict(graph)
            self.assertEqual(found.kind, "value")
            small = shrinking.shrink(graph, "value", fuzzer.verdict, 120)
            self.assertLessEqual(len(small.nodes), 2)
            self.assertEqual(fuzzer.verdict(small).kind, "value")  # the operator is there, maybe in a body


class Parts(unittest.TestCase):
    def test_distances(self):
        def of(*numbers, dtype=np.float32):
            return numbers_of.to_wire(np.array(numbers, dtype))
        self.assertEqual(values.distance(of(1.0, np.nan, np.inf), of(1.5, np.nan, np.inf)), 0.5)
        self.assertEqual(values.distance(of(1.0), of(np.nan)), np.inf)
        self.assertEqual(values.distance(of(1.0), of(1.0, 2.0)), np.inf)
        self.assertEqual(values.distance(of(250, dtype=np.uint8), of(3, dtype=np.uint8)), 247)
        self.assertEqual(values.distance(of(True, dtype=bool), of(False, dtype=bool)), np.inf)
        self.assertEqual(values.distance(("sequence", [of(1.0)]), ("sequence", [])), np.inf)

    def test_values_move_by_their_error(self):
        generator = np.random.default_rng(0)
        for dtype, error in ((np.float32, 0.25), (np.uint8, 1)):
            wire = numbers_of.to_wire(np.full((4, 5), 7, dtype))
            self.assertEqual(values.distance(wire, values.moved(wire, error, values.Signs(generator))), error)
        self.assertEqual(values.moved(wire, 0, values.Signs(generator)), wire)

    def test_patterns_of_signs(self):
        def signs(pattern, place):
            return values.Signs(None, pattern, place).of((2, 3)).tolist()
        self.assertEqual(signs(1, 0), [[-1, 1, -1], [1, -1, 1]])
        self.assertEqual(signs(2, 0), [[-1, -1, 1], [1, -1, -1]])
        self.assertEqual(signs(1, 1), [[1, -1, 1], [-1, 1, -1]])  # another input


@unittest.skipUnless(ORACLE and os.path.exists(LIBRARY), "no ONNX Runtime or no library")
class Here(unittest.TestCase):
    def test_a_seeded_choice(self):
        fuzzer = Fuzzer((ORACLE, LIBRARY), 60)
        try:
            states = []
            for number in range(4):
                with self.subTest(number):
                    found = fuzzer.verdict(fuzzer.draw(7, number))
                    states.append(found.state)
                    self.assertTrue(found.kind in ("", "code", "unknown") or found.kind.startswith("oracle"), f"{found.kind} {found.group} {found.detail}")
            self.assertGreaterEqual(states.count("valid"), 3)
        finally:
            fuzzer.close()


if __name__ == "__main__":
    unittest.main()
