#!/usr/bin/env python3
"""bench/check.py: ratios of a report beside the expected ones; bench/levels.py: means by instruction level;
bench/measured.py: the figures that are kept; bench/headlines.py: those of README.md."""
import json
import os
import re
import subprocess
import sys
import unittest

from suite_test import Reports, scenario
from tool import ROOT

CHECK = os.path.join(ROOT, "bench", "check.py")
LEVELS = os.path.join(ROOT, "bench", "levels.py")


class Check(Reports):
    def check(self, report, *words):
        done = subprocess.run([sys.executable, CHECK, report, "--expected", self.path("expected.json"), *map(str, words)], capture_output=True, encoding="utf-8")
        return done.returncode, done.stdout + done.stderr

    def test_what_fell_and_rose(self):
        before = self.report([scenario("a/1", (1.0, 2.0)), scenario("b/1", (1.0, 1.0)), scenario("c/1", (1.0, 1.0)), scenario("d/1", (1.0, 1.0))], "before.json")
        code, out = self.check(before)
        self.assertEqual(code, 2)
        self.assertIn("--update writes it", out)
        self.assertEqual(self.check(before, "--update")[0], 0)
        self.assertEqual(self.check(before)[0], 0)
        after = self.report([scenario("a/1", (0.95, 1.7)), scenario("b/1", (1.3, 1.05)), scenario("c/1", (1.0, 1.0), differs=True), scenario("e/1", (1.0, 1.0))])
        code, out = self.check(after)
        self.assertEqual(code, 1)
        self.assertRegex(out, r"fell:\n  a/1 +2T +2\.00 -> +1\.70  \(-15 %\)\n  c/1 +an output differs")
        self.assertRegex(out, r"rose:\n  b/1 +1T +1\.00 -> +1\.30  \(\+30 %\)\n")
        self.assertIn("expected nothing of:\n  e/1\n", out)
        self.assertIn("2 scenarios compared at avx2, tolerance 10 %: 2 fell, 1 ratios rose; 1 new, 1 not measured", out)
        self.assertEqual(self.check(self.report([scenario("a/1", (0.95, 1.7))]), "--tolerance", 0.2)[0], 0)

    def test_a_tolerance_of_its_own(self):
        self.check(self.report([scenario("a/1", (1.0, 1.0))]), "--update")
        with open(self.path("expected.json"), encoding="utf-8") as f:
            expected = json.load(f)
        expected["tables"][0]["tolerances"] = {"a/1": 0.4}
        with open(self.path("expected.json"), "w", encoding="utf-8") as f:
            json.dump(expected, f)
        self.assertEqual(self.check(self.report([scenario("a/1", (0.7, 0.7))]))[0], 0)
        self.assertEqual(self.check(self.report([scenario("a/1", (0.5, 0.7))]))[0], 1)

    def test_update_keeps_what_was_not_measured(self):
        self.check(self.report([scenario("a/1", (1.0, 1.0)), scenario("b/1", (1.5, 1.0))]), "--update")
        self.check(self.report([scenario("a/1", (2.0, 2.0))]), "--update")
        with open(self.path("expected.json"), encoding="utf-8") as f:
            table, = json.load(f)["tables"]
        self.assertEqual(table["ratios"], {"a/1": {"1": 2.0, "2": 2.0}, "b/1": {"1": 1.5, "2": 1.0}})
        self.check(self.report([scenario("a/1", (3.0, 2.0))], processor="Another"), "--update")  # a table of its own
        self.check(self.report([scenario("a/1", (4.0, 2.0))], level="v2"), "--update")
        with open(self.path("expected.json"), encoding="utf-8") as f:
            tables = json.load(f)["tables"]
        self.assertEqual([(t["level"], t["processor"], t["ratios"]["a/1"]["1"], len(t["ratios"])) for t in tables],
                         [("avx2", "A processor", 2.0, 2), ("avx2", "Another", 3.0, 1), ("v2", "A processor", 4.0, 1)])

    def test_processors_of_one_name_have_tables_of_their_own(self):
        for isa, ratio in ((["avx2", "fma"], 1.0), (["avx2", "avx_vnni", "fma"], 2.0), (["avx2", "fma"], 3.0)):
            self.check(self.report([scenario("a/1", (ratio, ratio))], isa=isa), "--update")
        with open(self.path("expected.json"), encoding="utf-8") as f:
            tables = json.load(f)["tables"]
        self.assertEqual([(t["isa"], t["ratios"]["a/1"]["1"]) for t in tables], [(["avx2", "avx_vnni", "fma"], 2.0), (["avx2", "fma"], 3.0)])

    def test_the_table_of_the_level_is_compared(self):
        for level, ratio in (("avx512", 2.0), ("avx2", 1.0)):
            self.check(self.report([scenario("a/1", (ratio, ratio))], level=level), "--update")
        slow = [scenario("a/1", (1.0, 1.0))]
        self.assertEqual(self.check(self.report(slow, level="avx2"))[0], 0)
        self.assertEqual(self.check(self.report(slow, level="avx512"))[0], 1)
        code, out = self.check(self.report(slow, level="v2"))
        self.assertEqual(code, 2)
        self.assertIn("has no ratios at the instruction level v2; --update writes", out)

    def test_levels_of_reports_that_do_not_say_it(self):
        for isa, level in ((["sse4_2"], "v2"), (["avx2", "fma"], "avx2"), (["avx2", "fma", "avx512f", "avx512bw"], "avx512"), (["asimd"], "neon")):
            self.assertIn(f"written at {level},", self.check(self.report([scenario("a/1", (1.0, 1.0))], isa=isa), "--update")[1])

    def test_another_processor(self):
        self.check(self.report([scenario("a/1", (1.0, 1.0))]), "--update")
        out = self.check(self.report([scenario("a/1", (1.0, 1.0))], processor="B"))[1]
        self.assertIn("Another processor: the ratios are those of A processor, the report is of B.", out)

    def test_again(self):
        """The better of two measurements counts; the second only measures ratios that fell."""
        self.check(self.report([scenario("a/1", (1.0, 1.0)), scenario("b/1", (1.0, 1.0))]), "--update")
        fallen = self.report([scenario("a/1", (0.5, 1.0)), scenario("b/1", (1.0, 1.0))])
        for ratio, code in ((1.02, 0), (0.6, 1)):
            second = self.report([scenario("a/1", (ratio, 0.4))], "second.json")
            script = ("import os, sys; assert sys.argv[1:] == ['--only', 'a/1', '--json'], sys.argv; assert os.environ['RETORT_ISA'] == 'avx2'; "
                      f"print(open({second!r}).read())")
            got, out = self.check(fallen, "--again", sys.executable, "-c", script)
            self.assertEqual(got, code, out)
            self.assertIn("measuring again: a/1", out)

    def test_no_report(self):
        for content in ("x", "[]", "{}", '{"scenarios": [], "machine": {"processor": "p"}}'):
            with open(self.path("x.json"), "w", encoding="utf-8") as f:
                f.write(content)
            code, out = self.check(self.path("x.json"))
            self.assertEqual(code, 2, out)
            self.assertIn("x.json", out)


class Levels(Reports):
    def levels(self, *words):
        done = subprocess.run([sys.executable, LEVELS, *words], capture_output=True, encoding="utf-8")
        return done.returncode, done.stdout, done.stderr

    def test_a_column_for_each_report(self):
        high = self.report([scenario("a/1", (1.5, 0.9)), scenario("b/1", (1.2, 1.1))], "high.json", level="avx512", best_level="avx512")
        low = self.report([scenario("a/1", (0.8, 0.9))], "low.json", processor="Another", level="avx2", best_level="avx512")
        with open(self.path("page.md"), "w", encoding="utf-8") as f:
            f.write("before\n<!-- levels: begin (make bench-docs) -->\nold\n<!-- levels: end -->\nafter\n")
        code, out, err = self.levels(high, low, "--page", self.path("page.md"))
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, "| beside Peer 2 | avx512 on A processor | avx2 on Another (RETORT_ISA) |\n|---|---|---|\n"
                              "| float32, geometric mean | 1.50 (1.50) | 1.50 (1.50) |\n| load and first run | 2.50 | 2.50 |\n| peak memory | 3.50 | 3.50 |\n"
                              "| scenarios below 1.00 | 0 of 2 (1 of 2) | 1 of 1 (1 of 1) |\n")
        with open(self.path("page.md"), encoding="utf-8") as f:
            self.assertEqual(f.read(), f"before\n<!-- levels: begin (make bench-docs) -->\n{out}<!-- levels: end -->\nafter\n")

    def test_wrong_files(self):
        code, _, err = self.levels(self.path("none.json"))
        self.assertEqual(code, 2)
        self.assertIn("none.json", err)
        with open(self.path("x.json"), "w", encoding="utf-8") as f:
            f.write('{"engines": ["Retort 1"]}')
        self.assertIn("has no peer", self.levels(self.path("x.json"))[2])
        report = self.report([scenario("a/1", (1.0, 1.0))])
        with open(self.path("page.md"), "w", encoding="utf-8") as f:
            f.write("no marks\n")
        code, _, err = self.levels(report, "--page", self.path("page.md"))
        self.assertEqual(code, 2)
        self.assertIn("page.md has no lines <!-- levels: begin", err)


class Measured(Reports):
    """The figures that measured.py keeps, and what levels.py and headlines.py make of them."""

    def run_script(self, script, *words):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "bench", script), *words], capture_output=True, encoding="utf-8")
        return done.returncode, done.stdout, done.stderr

    def keep(self, report, *words):
        return self.run_script("measured.py", report, "--folder", self.path("kept"), *words)

    def headlines(self, *words):
        return self.run_script("headlines.py", "--measured", self.path("kept"), *words)

    def rows(self, *rows):
        with open(self.path("rows.tsv"), "w", encoding="utf-8") as f:
            f.write("# a comment\n" + "".join("\t".join(row) + "\n" for row in rows))
        return "--rows", self.path("rows.tsv")

    def two_processors(self):
        """Processor One has bf16 figures, too; Two is kept at its best level and at a lower one."""
        narrow = self.report([scenario("a/1", (2.5, 2.0), differs=True), scenario("b/1", (2.25, 2.125))], "bf16.json")
        one = self.report([scenario("a/1", (1.5, 0.9)), scenario("b/1", (1.2, 1.1))], "one.json")
        self.assertEqual(self.keep(one, "--bf16", narrow, "--called", "One"), (0, "one-avx2: 2 scenarios\n", ""))
        for level in ("avx512", "avx2"):
            two = self.report([scenario("a/1", (1.25, 1.0)), scenario("b/1", (1.0, 1.0), differs=True)], "two.json", processor="B", level=level, best_level="avx512")
            self.assertEqual(self.keep(two, "--called", "Two, big"), (0, f"two_big-{level}: 1 scenarios\n", ""))

    def test_a_processor_keeps_its_name(self):
        report = self.report([scenario("a/1", (1.5, 0.9))])
        code, _, err = self.keep(report)
        self.assertEqual(code, 2)
        self.assertIn("has no figures of this processor, 'A processor'; give its name", err)
        self.assertEqual(self.keep(report, "--called", "One")[0], 0)
        self.assertEqual(self.keep(self.report([scenario("a/1", (2.0, 2.0))]))[0], 0)
        self.assertEqual(os.listdir(self.path("kept")), ["one-avx2.json"])
        with open(self.path("kept/one-avx2.json"), encoding="utf-8") as f:
            self.assertEqual(json.load(f)["scenarios"][0]["report"][0], {"threads": 1, "ratio": 2.0})
        self.assertEqual(self.keep(self.report([scenario("a/1", (2.0, 2.0))], isa=["avx2"]))[0], 2)  # another processor of that name
        self.assertIn("measure with --against", self.keep(self.report([scenario("a/1", (1.0, 1.0), differs=True)]))[2])

    def test_each_table_between_its_marks(self):
        rows = self.rows(("float32", "A", "ratio", "a/1"), ("float32", "all {n}", "mean 1", "float32"), ("float32", "slowest of {n}", "slowest", "float32"),
                         ("quantised", "Q", "ratio", "q/1"), ("bf16", "B; A", "ratio", "b/1 a/1"))
        self.two_processors()
        marks = [f"<!-- {name}: begin (make bench-docs) -->\nold {name}\n<!-- {name}: end -->\n" for name in ("float32", "quantised", "bf16")]
        with open(self.path("page.md"), "w", encoding="utf-8") as f:
            f.write("before\n" + "between\n".join(marks) + "after\n")
        code, out, err = self.headlines(*rows, "--page", self.path("page.md"))
        self.assertEqual((code, err), (0, ""))
        wide = ("| float32 model | Two, big | One |\n|---|---|---|\n| A | 1.25 (1.00) | 1.50 (0.90) |\n| all 7 | 1.50 (1.50) | 1.50 (1.50) |\n"
                "| slowest of 7 | 0.90 some/b1 (0.90 some/b1) | 0.90 some/b1 (0.90 some/b1) |\n")
        bf16 = "| with `session.precision` = bf16 | One |\n|---|---|\n| B; A | 2.25 (2.12); 2.50 (2.00) |\n"
        self.assertEqual(out, wide + bf16)
        with open(self.path("page.md"), encoding="utf-8") as f:
            page = f.read()
        self.assertEqual(page, "before\n" + "between\n".join(marks).replace("old float32\n", wide).replace("old bf16\n", bf16) + "after\n")

    def test_what_a_processor_does_not_have(self):
        self.assertIn("has no figures", self.headlines(*self.rows(("float32", "A", "ratio", "a/1")))[2])
        self.keep(self.report([scenario("a/1", (1.5, 0.9))]), "--called", "One")
        for rows, words in (((("float32", "A", "ratio", "a/1"), ("float32", "B", "ratio", "b/1")), "One has no ratio of b/1"),
                            ((("float32", "A", "ratio", "a/1"), ("float32", "M", "mean 2", "float32")), "One has no mean 2 of float32"),
                            ((("float32", "B", "ratio", "b/1"),), "no processor has a figure"), ((("other", "A", "ratio", "a/1"),), "a row has a table of"),
                            ((("float32", "A", "ratio"),), "a row has a table of")):
            code, _, err = self.headlines(*self.rows(*rows))
            self.assertEqual(code, 2)
            self.assertIn(words, err)

    def test_the_rows_of_the_readme(self):
        """What bench/headlines.tsv names exists: scenarios of models of the zoo that were measured, and groups of them."""
        with open(os.path.join(ROOT, "bench", "headlines.tsv"), encoding="utf-8") as f:
            rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
        named = {name.partition("/")[0] for _, _, figure, what in rows if figure == "ratio" for name in what.split()}
        with open(os.path.join(ROOT, "bench", "zoo", "recipes.json"), encoding="utf-8") as f:
            models = set(json.load(f)["models"])
        with open(os.path.join(ROOT, "bench", "zoo", "made.py"), encoding="utf-8") as f:
            models |= set(re.findall(r'"(\w+)": made_', f.read()))
        self.assertTrue(named)
        self.assertEqual(named - models, set())
        with open(os.path.join(ROOT, "bench", "expected.json"), encoding="utf-8") as f:
            measured = {name for t in json.load(f)["tables"] for name in t["ratios"]}
        self.assertEqual({name for _, _, figure, what in rows if figure == "ratio" for name in what.split()} - measured, set())
        with open(os.path.join(ROOT, "bench", "measured", "zen_5-avx512.json"), encoding="utf-8") as f:
            groups = {group["name"] for group in json.load(f)["means"]}
        self.assertEqual({what for _, _, figure, what in rows if figure != "ratio"} - groups, set())


if __name__ == "__main__":
    sys.exit(unittest.main())
