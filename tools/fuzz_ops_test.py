#!/usr/bin/env python3
"""That the fuzzer finds planted differences, and a small seeded choice of what it finds here beside official ONNX Runtime.

    RETORT_LIBRARY is the library to test, by default out/lib/libretort.so.1; without it or the oracle only the parts that need none run.
"""
import argparse
import os
import sys
import tempfile
import unittest

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "fuzzing"))
import compare  # noqa: E402
import judge  # noqa: E402
import model  # noqa: E402
import numbers_of  # noqa: E402
import program  # noqa: E402
import proofs  # noqa: E402
import recipes  # noqa: E402
import record  # noqa: E402
import schemas  # noqa: E402
import sensitivity  # noqa: E402
import shrink  # noqa: E402
from engines import Worker  # noqa: E402

LIBRARY = os.environ.get("RETORT_LIBRARY") or os.path.join(os.path.dirname(HERE), "out", "lib", "libretort.so.1")
STATE, ORACLE = program.official()
OPERATORS, TABLE = schemas.load(STATE), recipes.load()
FAULTS = judge.read_faults()
CHOICE = ("Add Relu MatMul Gemm Conv Reshape Transpose Slice Gather Concat ReduceSum Softmax LayerNormalization QuantizeLinear Attention "
          "SequenceAt ai.onnx.ml:Scaler")
# A worker that answers like the oracle, but for what a line of it changes.
PLANT = """
import os, sys, time
sys.path.insert(0, {folder!r})
import worker
honest = worker.Engine.run
def run(self, session, *more):
    values = honest(self, session, *more)
    run.count += 1
    kind, element, shape, data = values[0]
    {plant}
    return [(kind, element, shape, data), *values[1:]]
run.count = 0
worker.Engine.run = run
worker.main()
"""


def operator(label):
    domain, _, name = label.rpartition(":")
    return OPERATORS[domain, name]


class Planted(Worker):
    def __init__(self, library, configurations, seconds, plant):
        super().__init__(library, configurations, seconds)
        self.file = tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8")
        self.file.write(PLANT.format(folder=os.path.join(HERE, "fuzzing"), plant=plant))
        self.file.flush()
        self.command[1] = self.file.name


def kinds(label, plant, cases=20, configurations=((0, 1), (0, 3))):
    """Kinds of findings for an operator, with a difference planted into the second engine, which is the oracle, too."""
    fuzzer = program.Fuzzer(TABLE, (Worker(ORACLE, ((0, 1),), 5), Planted(ORACLE, configurations, 0.5, plant)), FAULTS)
    try:
        return {found.kind for _, found in fuzzer.run(operator(label), 1, range(cases))} - {""}
    finally:
        fuzzer.close()


@unittest.skipUnless(ORACLE, "no ONNX Runtime")
class PlantedDifferences(unittest.TestCase):
    def test_none_are_found_where_none_is_planted(self):
        self.assertEqual(kinds("Add", "pass"), set())

    def test_a_value_in_the_last_place(self):
        self.assertIn("value", kinds("Add", "data = data and bytes([data[0] ^ 1]) + data[1:]"))

    def test_a_value_beyond_a_tolerance_and_none_within(self):
        within = "import struct; data = struct.pack('<f', struct.unpack('<f', data[:4])[0] * (1 + {})) + data[4:] if element == 1 and data else data"
        self.assertEqual(kinds("Tanh", within.format("1e-7")), set())
        self.assertIn("value", kinds("Tanh", within.format("1e-4")))

    def test_a_shape(self):
        self.assertIn("value", kinds("Abs", "shape = (*shape, 1)"))

    def test_bits_that_depend_on_threads(self):
        late = "data = data and bytes([data[0] ^ (run.count % 2 == 0)]) + data[1:]"  # every second run is that with three threads
        self.assertIn("threads", kinds("Tanh", late))

    def test_a_refusal(self):
        self.assertIn("refused", kinds("Sub", "raise worker.ApiError(2, 'planted')"))

    def test_a_crash_and_what_follows_it(self):
        self.assertEqual(kinds("Neg", "run.count == 3 and os.abort()", 12), {"crash"})

    def test_a_hang(self):
        self.assertIn("hang", kinds("Neg", "run.count == 3 and time.sleep(9)", 6, ((0, 1),)))

    def test_a_finding_shrinks(self):
        fuzzer = program.Fuzzer(TABLE, (Worker(ORACLE, ((0, 1),), 5), Planted(ORACLE, ((0, 1),), 5, "data = data and bytes([data[0] ^ 1]) + data[1:]")), FAULTS)
        try:
            number = next(case.number for case, found in fuzzer.run(operator("Clip"), 1, range(20)) if found.kind == "value" and case.inputs[0].value.size > 9)
            case = shrink.shrink(program.make_case(operator("Clip"), 1, number, TABLE)[0], fuzzer.verdict)
            self.assertEqual(fuzzer.verdict((case, model.build(case))).kind, "value")
            self.assertEqual((case.inputs[0].value.size, len(case.inputs)), (1, 1))
        finally:
            fuzzer.close()

    def test_what_is_accepted_though_the_oracle_refuses(self):
        made = program.make_case(operator("Add"), 1, 0, TABLE)
        ok = "ok", [("tensor", 1, (1,), bytes(4))]
        found = judge.verdict(made[0], ("error", "run", 1, "shapes differ"), [ok], ((0, 1),))
        self.assertEqual((found.state, found.kind), ("valid", "accepted"))
        found = judge.verdict(made[0], ("error", "load", 9, "Could not find an implementation for Add(14)"), [ok], ((0, 1),))
        self.assertEqual((found.state, found.kind), ("beyond", ""))


class Parts(unittest.TestCase):
    def test_cases_repeat_by_their_number(self):
        for label in ("Conv", "LSTM", "com.microsoft:QGemm"):
            one, two = (program.make_case(operator(label), 3, 5, TABLE)[1] for _ in range(2))
            self.assertEqual(one, two)

    def test_every_recipe_makes_cases(self):
        for label in TABLE:
            domain, _, name = label.rpartition(":")
            if (domain, name) in OPERATORS and OPERATORS[domain, name].kernels:
                made = [program.make_case(OPERATORS[domain, name], 0, n, TABLE)[1] for n in range(3)]
                self.assertTrue(any(made), label)

    def test_sub_byte_elements_survive_the_way_to_a_worker(self):
        numbers = numbers_of.Numbers(0, True)
        for element in numbers_of.SUB_BYTE:
            array = numbers.array(element, (3, 3)) if element != 23 else np.zeros((3, 3), numbers_of.dtype(23))
            self.assertTrue(np.array_equal(numbers_of.from_wire(numbers_of.to_wire(array)), array.astype(np.int8)))

    def test_equal_are_the_values_that_are_equal(self):
        def of(*values):
            return numbers_of.to_wire(np.array(values, np.float32))
        self.assertIsNone(compare.values("Tanh", of(np.nan, np.inf, 0.0), of(np.nan, np.inf, -0.0)))
        self.assertIn("NaN", compare.values("Tanh", of(np.nan), of(1.0))[0])
        self.assertEqual(compare.values("Tanh", of(1.0), of(1.0, 2.0))[0], "shape")
        whole = [numbers_of.to_wire(np.array([v], np.uint8)) for v in (7, 8, 10)]
        self.assertIsNone(compare.values("QLinearConv", whole[0], whole[1]))
        self.assertIsNotNone(compare.values("QLinearConv", whole[0], whole[2]))

    def test_inputs_move_by_one_unit_in_the_last_place(self):
        generator = np.random.Generator(np.random.PCG64(0))
        for of, whole in ((1, np.int32), (11, np.int64), (10, np.int16)):
            array = numbers_of.Numbers(0, False).array(of, (200,), "positive")
            steps = np.abs(sensitivity.moved(array, generator).view(whole).astype(np.int64) - array.view(whole))
            self.assertEqual((steps.min(), steps.max() <= 2), (0, True))  # two where the unit halves
            self.assertGreater(steps.max(), 0)
        whole = np.arange(9)
        self.assertIs(sensitivity.moved(whole, generator), whole)

    def test_a_difference_within_the_movements_of_the_oracle_is_explained(self):
        case = program.make_case(operator("Tanh"), 1, 0, TABLE)[0]

        def of(*values, dtype=np.float32):
            return [numbers_of.to_wire(np.array(values, dtype))]

        def explained(actual, moving, expected=of(1.0, 2.0), again=None, here=of(1.0, 2.0)):
            """`moving`, `here`: what the oracle and Retort compute of moved inputs."""
            return sensitivity.explains(case, expected, actual, lambda cases: [
                {c.number: [("ok", moving if c.number < sensitivity.RUNS else again or expected)] for c, _ in cases},
                {c.number: [("ok", here if c.number < sensitivity.RUNS and c.number % 2 else moving)] for c, _ in cases}])
        self.assertTrue(explained(of(1.07, 2.0), of(1.01, 2.0)))
        self.assertFalse(explained(of(1.09, 2.0), of(1.01, 2.0)))
        self.assertFalse(explained(of(1.07, 2.0), of(1.01, 2.0), again=of(1.02, 2.0)))  # it is not the same again
        self.assertFalse(explained(of(1.07, 2.01), of(1.01, 2.0)))  # the second element does not move
        self.assertFalse(explained(of(np.nan, 2.0), of(9.0, 2.0)))
        self.assertFalse(explained(of(1.0, 2.0, 3.0), of(9.0, 9.0)))
        whole = of(6, 6, dtype=np.int64)
        self.assertFalse(explained(whole, whole, of(5, 6, dtype=np.int64), here=whole))  # integers are exact
        refusing = sensitivity.explains(case, of(1.0), of(1.1), lambda cases: [{c.number: [("error", "run", 1, "")] for c, _ in cases}] * 2)
        self.assertFalse(refusing)

    def test_an_error_that_stays_when_inputs_move_is_not_explained(self):
        case, generator = program.make_case(operator("Tanh"), 1, 0, TABLE)[0], np.random.Generator(np.random.PCG64(1))

        def of(value):
            return [numbers_of.to_wire(np.array([value], np.float32))]

        def explained(bias):
            noise = generator.standard_normal((2, sensitivity.RUNS)) * 1e-3
            runs = [{n: [("ok", of(1.0 + moved + (bias if ours else 0.0)))] for n, moved in enumerate(noise[ours])} for ours in (0, 1)]
            for engine, value in zip(runs, (1.0, 1.001 + bias)):
                engine[sensitivity.RUNS] = [("ok", of(value))]
            return sensitivity.explains(case, of(1.0), of(1.001 + bias), lambda _: runs)
        self.assertGreater(sum(explained(0.0) for _ in range(20)), 17)
        self.assertEqual(sum(explained(4e-3) for _ in range(20)), 0)

    def test_a_record_has_the_last_run_of_each_operator(self):
        tally = program.Tally("Add")
        case = program.make_case(operator("Add"), 1, 0, TABLE)[0]
        for found in (judge.Verdict("valid"), judge.Verdict("invalid"), judge.Verdict("valid", "value", "g", "d", "why"), judge.Verdict("valid", "refused")):
            tally.add(case, found)
        tally.add(case, judge.Verdict("valid", "sensitive"))
        args = argparse.Namespace(seed=3, first=0, run={"oracle": "1", "commit": "c", "date": "d"})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "record.tsv")
            for label in ("com.microsoft:Gelu", "Abs", "Add"):
                record.keep_operator({**tally.row(args), "operator": label}, path)
            record.keep_operator({**tally.row(args), "seed": 4}, path)
            rows = record.read(path)
        self.assertEqual([r["operator"] for r in rows], ["Abs", "Add", "com.microsoft:Gelu"])
        counts = {k: rows[1][k] for k in ("seed", "cases", "agreed", "both_refuse", "known", "sensitive", "open")}
        self.assertEqual(counts, {"seed": "4", "cases": "5", "agreed": "1", "both_refuse": "1", "known": "1", "sensitive": "1", "open": "1"})

    def test_rows_of_faults_explain_what_they_describe_alone(self):
        for label, condition, expected in (("Unique", "nan", True), ("Add", "nan", False)):
            case = program.make_case(operator(label), 1, 0, TABLE)[0]
            case.inputs[0].value = np.array([np.nan], np.float32)
            rows = [("Unique", "value", compile(condition, "row", "eval"), "why")]
            found = judge.explained(case, judge.Verdict("valid", "value", "", ""), ("ok", []), rows)
            self.assertEqual(bool(found), expected)


    def test_a_kernel_whose_versions_have_no_end_is_for_its_first_version(self):
        versions = {v.since: operator("RoiAlign").kernels_of(v) for v in operator("RoiAlign").versions}
        self.assertEqual([bool(versions[since]) for since in (10, 16, 22)], [True, True, False])


@unittest.skipUnless(ORACLE and os.path.exists(LIBRARY), "no ONNX Runtime or no library")
class Here(unittest.TestCase):
    def test_results_are_precise_that_are_those_of_float64(self):
        engines = Worker(ORACLE, ((0, 1),), 20), Worker(LIBRARY, ((0, 1),), 20)
        try:
            made = next(made for made in (program.make_case(operator("LRN"), 1, n, TABLE) for n in range(20))
                        if made[0].chosen.get("T") == numbers_of.FLOAT32 and made[0].inputs[0].value.size and made[0].version.since > 1)
            theirs, ours = (engine.run([(0, *made[1])])[0][0] for engine in engines)
            value = numbers_of.from_wire(ours[1][0])
            worse = "ok", [numbers_of.to_wire((value * np.float32(1 + 1e-4)).astype(np.float32))]
            far = "ok", [numbers_of.to_wire(value * np.float32(1.01))]
            precise = [proofs.Proofs(made[0], *pair, engines).precise() for pair in ((theirs, ours), (worse, ours), (theirs, worse), (far, ours))]
            self.assertEqual(precise, [True, True, False, False])
        finally:
            for engine in engines:
                engine.stop()

    def test_a_seeded_choice(self):
        fuzzer = program.Fuzzer(TABLE, (Worker(ORACLE, ((0, 1),), 20), Worker(LIBRARY, program.CONFIGURATIONS, 20)), FAULTS)
        try:
            for label in CHOICE.split():
                with self.subTest(label):
                    found = list(fuzzer.run(operator(label), 7, range(15)))
                    bad = [f"{case.id}: {f.kind} {f.group} {f.detail}" for case, f in found if f.kind not in ("", "code", "accepted") and not f.fault]
                    self.assertEqual(bad, [])
                    self.assertGreaterEqual(sum(f.state in ("valid", "beyond") for _, f in found), 8)
        finally:
            fuzzer.close()


if __name__ == "__main__":
    unittest.main()
