#!/usr/bin/env python3
"""retort bench --suite: scenarios, report, page, Markdown; and bench/check.py."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import numpy as np

from tool import DIGITS, ROOT, ToolTest, retort

PEER = os.environ.get("RETORT_ORACLE")
QUICK = ("--seconds", 0.05, "--starts", 1)
CHECK = os.path.join(ROOT, "bench", "check.py")


def scenario(name, ratios, **more):
    """As a report holds it, measured with one and two threads."""
    rows = []
    for threads, ratio in enumerate(ratios, 1):
        sides = [{"engine": e, "median_ms": ms, "load_ms": 2 * ms, "first_run_ms": ms, "peak_mib": 10 * ms, "runs": 9} for e, ms in (("Retort 1", 2.0), ("Peer 2", 2 * ratio))]
        figures = {"engine": "Peer 2", "ratio": ratio, "start_ratio": ratio, "peak_ratio": ratio, "disagreement": 1e-6, "median_ms": 2 * ratio, "peak_mib": 20 * ratio}
        other = {"engine": "Other 3", "error": "not taken"} if name == "c/1" else {**figures, "engine": "Other 3", "ratio": 2 * ratio}
        rows.append({"threads": threads, "sides": sides, "ratio": ratio, "disagreement": 1e-6, "peers": [figures, other], "gflops": 5.0, "peak_share": 50.0})
    return {"name": name, "model": name, "kind": "CNN", "precision": "float32", "flops": 1e7, "tolerance": 1e-3, "report": rows, **more}


class Reports(ToolTest):
    def report(self, scenarios, name="report.json", processor="A processor"):
        means = [{"name": "all", "scenarios": 1, "report": [{"threads": t, "peers": [{"engine": "Peer 2", "ratio": 1.5, "start_ratio": 2.5, "peak_ratio": 3.5,
                                                                                     "slowest": {"name": "some/b1", "ratio": 0.9}}]} for t in (1, 2)]}]
        machine = {"processor": processor, "cores": 2, "caches": {"L2": "1 MiB"}, "memory_bytes": 8e9, "isa": ["avx2", "fma"], "system": "Linux 6", "load": 0.5}
        with open(self.path(name), "w", encoding="utf-8") as f:
            json.dump({"format": 1, "date": "2026-01-02 03:04 UTC", "machine": machine, "engines": ["Retort 1", "Peer 2", "Other 3"], "threads": [1, 2],
                       "peak_gflops": {"1": 10.0, "2": 20.0}, "scenarios": scenarios, "means": means}, f)
        return self.path(name)


class Suite(Reports):
    def zoo(self, **changes):
        """Two scenarios of one model, as build_zoo.py lists them."""
        rows = []
        os.makedirs(self.path("zoo/models"))
        shutil.copy(DIGITS, self.path("zoo/models/digits.onnx"))
        for batch in (1, 64):
            os.makedirs(self.path(f"zoo/inputs/b{batch}"))
            self.pb(f"zoo/inputs/b{batch}/input_0.pb", np.random.default_rng(1).random((batch, 1, 8, 8), np.float32))
            rows.append({"model": "digits", "scenario": f"b{batch}", "path": "models/digits.onnx", "inputs": f"inputs/b{batch}", "flops": 1e5 * batch,
                         "kind": "CNN", "precision": "float32", "tolerance": 1e-3, **changes})
        with open(self.path("zoo/index.json"), "w", encoding="utf-8") as f:
            json.dump(rows, f)
        return self.path("zoo")

    def test_files(self):
        os.makedirs(self.path("models/deep"))
        shutil.copy(DIGITS, self.path("models/b.onnx"))
        shutil.copy(DIGITS, self.path("models/deep/a.onnx"))
        words = ["bench", "--suite", self.path("models"), *QUICK]
        code, out, err = retort(*words, "--json")
        self.assertEqual((code, err), (0, ""))
        told = json.loads(out)["scenarios"]
        self.assertEqual([s["name"] for s in told], ["b.onnx", "deep/a.onnx"])
        for row in told:
            self.assertGreater(row["report"][0]["sides"][0]["median_ms"], 0)
        with open(self.path("models/c.onnx"), "wb") as f:
            f.write(b"no model")
        code, out, err = retort(*words)
        self.assertEqual(code, 1)
        self.assertRegex(out, r"c\.onnx +retort: .*c\.onnx")
        self.assertRegex(out, r"deep/a\.onnx +[\d.]+ ")
        self.assertIn("2 scenarios measured, 1 failed, 0 differ", out)

    def test_scenarios_of_an_index(self):
        code, out, err = retort("bench", "--suite", self.zoo(), *QUICK, "--threads", "1,2", "--json")
        self.assertEqual((code, err), (0, ""))
        told = json.loads(out)
        self.assertEqual([s["name"] for s in told["scenarios"]], ["digits/b1", "digits/b64"])
        one, many = (s["report"][0]["sides"][0]["median_ms"] for s in told["scenarios"])
        self.assertGreater(many, one)  # the inputs are those of the scenario
        for s in told["scenarios"]:
            self.assertEqual([r["threads"] for r in s["report"]], [1, 2])
            row = s["report"][0]
            self.assertAlmostEqual(row["gflops"], s["flops"] / row["sides"][0]["median_ms"] / 1e6, places=6)
            self.assertAlmostEqual(row["peak_share"], 100 * row["gflops"] / told["peak_gflops"]["1"], places=6)
        self.assertEqual(set(told["peak_gflops"]), {"1", "2"})
        machine = told["machine"]
        self.assertGreater(machine["memory_bytes"], 1e8)
        self.assertGreaterEqual(machine["cores"], 1)
        self.assertTrue(machine["processor"] and machine["system"])

    def test_only(self):
        words = ["bench", "--suite", self.zoo(), *QUICK]
        self.assertEqual([s["name"] for s in json.loads(retort(*words, "--only", "*/b64", "--json")[1])["scenarios"]], ["digits/b64"])
        self.assertEqual(len(json.loads(retort(*words, "--only", "dig*s", "--json")[1])["scenarios"]), 2)
        self.fails(1, [*words, "--only", "resnet*"], "--only leaves none", "digits/b1, digits/b64")

    def test_wrong_index(self):
        zoo = self.zoo()
        for content in ("{", '[{"model": "a"}]', '[{"model": 1, "scenario": "b", "path": "c"}]'):
            with open(os.path.join(zoo, "index.json"), "w", encoding="utf-8") as f:
                f.write(content)
            self.fails(1, ["bench", "--suite", zoo], "index.json is no list of scenarios")

    def test_against_another_engine(self):
        if not PEER:
            self.skipTest("no official ONNX Runtime")
        words = ["bench", "--suite", self.zoo(), *QUICK, "--against", PEER]
        code, out, err = retort(*words, "--report", self.path("r.json"), "--markdown", self.path("r.md"))
        self.assertEqual((code, err), (0, ""))
        with open(self.path("r.json"), encoding="utf-8") as f:
            told = json.load(f)
        ratios = [s["report"][0]["ratio"] for s in told["scenarios"]]
        by_name = {g["name"]: g for g in told["means"]}
        self.assertEqual((by_name["all"]["scenarios"], set(by_name)), (2, {"all", "float32"}))
        mean = by_name["all"]["report"][0]["peers"][0]
        self.assertAlmostEqual(mean["ratio"], (ratios[0] * ratios[1]) ** 0.5, places=6)
        self.assertEqual(mean["slowest"]["ratio"], min(ratios))
        self.assertRegex(out, r"\nall +2 +[\d.]+ +[\d.]+ +[\d.]+ +digits/b")
        self.assertIn("ONNX Runtime 1.", out)
        # The tables do not depend on when they are made.
        again = retort("bench", "--from", self.path("r.json"), "--markdown", self.path("again.md"))[1]
        self.assertEqual(again, out)
        texts = []
        for name in ("r.md", "again.md"):
            with open(self.path(name), encoding="utf-8") as f:
                texts.append(f.read())
        self.assertEqual(*texts)

    def test_outputs_that_differ(self):
        if not PEER:
            self.skipTest("no official ONNX Runtime")
        code, out, _ = retort("bench", "--suite", self.zoo(tolerance=1e-30), *QUICK, "--only", "digits/b64", "--against", PEER)
        self.assertEqual(code, 1)
        self.assertRegex(out, r"e-\d+ DIFFERS\n")
        self.assertIn("1 scenarios measured, 0 failed, 1 differ", out)

    def test_markdown(self):
        report = self.report([scenario("some/b1", (0.9, 1.25)), {"name": "bad/b1", "model": "m", "kind": "", "precision": "", "flops": 0, "tolerance": 0,
                                                                "error": "node 'a|b'\nis wrong"}])
        code, out, err = retort("bench", "--from", report, "--markdown", self.path("r.md"))
        self.assertEqual((code, err), (0, ""))  # it was not measured now
        self.assertIn("1 scenarios measured, 1 failed, 0 differ", out)
        with open(self.path("r.md"), encoding="utf-8") as f:
            text = f.read()
        for line in ("| processor | A processor |", "| caches | L2 1 MiB |", "| instructions | avx2, fma |", "| date | 2026-01-02 03:04 UTC |",
                     "| measured peak, float32 | 10.0 GFLOP/s with 1 thread, 20.0 GFLOP/s with 2 threads |", "| engines | Retort 1, Peer 2, Other 3 |",
                     "| scenario | 1T ms | 1T peer | 1T ratio | 1T ratio 2 | 2T ms | 2T peer | 2T ratio | 2T ratio 2 | load | MiB | peer MiB | GFLOP/s | % of peak | differs |",
                     "| some/b1 | 2.000 | 1.800 | 0.90 | 1.80 | 2.000 | 2.500 | 1.25 | 2.50 | 0.90 | 20 | 18 | 5.0 | 50 | 1.0e-06 |",
                     "| all | 1 | 1.50 | 1.50 | 2.50 | 3.50 |  |  |  |  | some/b1 0.90 | some/b1 0.90 |", "- bad/b1: node 'a\\|b' is wrong"):
            self.assertIn("\n" + line + "\n", text)
        self.assertNotIn(self.folder, text)

    def test_page(self):
        report = self.report([scenario("slow</script>/b1", (0.9, 0.8)), scenario("fast/b1", (2.5, 2.25)), scenario("middle/b1", (1.5, 1.4), kind="decoder"),
                              {"name": "bad/b1", "model": "m", "kind": "", "precision": "", "flops": 0, "tolerance": 0, "error": "was <wrong>"}])
        retort("bench", "--from", report, "--html", self.path("p.html"))
        document = self.browse(self.path("p.html"))
        self.assertEqual(document.count('class="value '), 3 * (2 + 2 + 2 + 2 + 2))  # two ratios of two peers, loads, memories, two shares of the peak
        for text in ("A processor", "avx2, fma", "10 GFLOP/s (1T)", "Time of Peer 2 over Retort 1's", "was &lt;wrong&gt;", "2026-01-02", "3 scenarios measured, 1 failed, 0 differ",
                     "Geometric means"):
            self.assertIn(text, document)
        body = document[:document.index('id="data"')]
        for text in ("NaN", "undefined", "Infinity"):
            self.assertNotIn(text, body)
        widths = [float(r.split('width="')[1].split('"')[0]) for r in body.split('class="value s0"')[1:4]]
        self.assertAlmostEqual(widths[1] / widths[0], 2.5 / 0.9, places=3)

    def order(self, fragment):
        document = self.browse(self.path("p.html"), fragment)
        table = document[document.index("<h2>Scenarios</h2>"):document.index("<h2>Failed</h2>") if "<h2>Failed</h2>" in document else document.index('id="data"')]
        return [row.split("</td>")[0].rsplit(">", 1)[1] for row in table.split("<tr>")[2:]], document

    def test_page_in_order(self):
        report = self.report([scenario("b/1", (0.9, 0.8)), scenario("c/1", (10.5, 2.25)), scenario("a/1", (1.5, 1.4), kind="decoder")])
        retort("bench", "--from", report, "--html", self.path("p.html"))
        self.assertEqual(self.order("")[0], ["b/1", "c/1", "a/1"])
        self.assertEqual(self.order("sort=0")[0], ["a/1", "b/1", "c/1"])
        self.assertEqual(self.order("sort=3")[0], ["b/1", "a/1", "c/1"])  # by numbers, not by their digits
        plots = self.order("order=ratio&kind=float32 CNN")[1]
        self.assertEqual(plots.count('class="value '), 2 * 10 - 4)  # a peer of one did not take the model

    def test_no_report(self):
        with open(self.path("x.json"), "w", encoding="utf-8") as f:
            f.write("[]")
        self.fails(1, ["bench", "--from", self.path("x.json")], "is no report of retort bench --suite")
        report = self.report([{"name": "a"}])
        code, _, err = retort("bench", "--from", report)
        self.assertEqual(code, 1)
        self.assertIn("lacks something that a report has", err)
        self.fails(2, ["bench", "--from", report, "--suite", self.folder], "one of MODEL, --suite and --from")
        self.fails(2, ["bench"], "one of MODEL, --suite and --from")
        self.fails(2, ["bench", DIGITS, "--suite", self.folder], "one of MODEL, --suite and --from")
        self.fails(1, ["bench", "--suite", self.folder], "no .onnx file")


class Check(Reports):
    def check(self, report, *words):
        done = subprocess.run([sys.executable, CHECK, report, "--expected", self.path("expected.json"), *map(str, words)], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_what_fell_and_rose(self):
        before = self.report([scenario("a/1", (1.0, 2.0)), scenario("b/1", (1.0, 1.0)), scenario("c/1", (1.0, 1.0)), scenario("d/1", (1.0, 1.0))], "before.json")
        code, out = self.check(before)
        self.assertEqual(code, 2)
        self.assertIn("--update writes one", out)
        self.assertEqual(self.check(before, "--update")[0], 0)
        self.assertEqual(self.check(before)[0], 0)
        after = self.report([scenario("a/1", (0.95, 1.7)), scenario("b/1", (1.3, 1.05)), scenario("c/1", (1.0, 1.0), differs=True), scenario("e/1", (1.0, 1.0))])
        code, out = self.check(after)
        self.assertEqual(code, 1)
        self.assertRegex(out, r"fell:\n  a/1 +2T +2\.00 -> +1\.70  \(-15 %\)\n  c/1 +an output differs")
        self.assertRegex(out, r"rose:\n  b/1 +1T +1\.00 -> +1\.30  \(\+30 %\)\n")
        self.assertIn("expected nothing of:\n  e/1\n", out)
        self.assertIn("2 scenarios compared, tolerance 10 %: 2 fell, 1 ratios rose; 1 new, 1 not measured", out)
        self.assertEqual(self.check(self.report([scenario("a/1", (0.95, 1.7))]), "--tolerance", 0.2)[0], 0)

    def test_a_tolerance_of_its_own(self):
        self.check(self.report([scenario("a/1", (1.0, 1.0))]), "--update")
        with open(self.path("expected.json"), encoding="utf-8") as f:
            expected = json.load(f)
        expected["tolerances"] = {"a/1": 0.4}
        with open(self.path("expected.json"), "w", encoding="utf-8") as f:
            json.dump(expected, f)
        self.assertEqual(self.check(self.report([scenario("a/1", (0.7, 0.7))]))[0], 0)
        self.assertEqual(self.check(self.report([scenario("a/1", (0.5, 0.7))]))[0], 1)

    def test_update_keeps_what_was_not_measured(self):
        self.check(self.report([scenario("a/1", (1.0, 1.0)), scenario("b/1", (1.5, 1.0))]), "--update")
        self.check(self.report([scenario("a/1", (2.0, 2.0))]), "--update")
        with open(self.path("expected.json"), encoding="utf-8") as f:
            self.assertEqual(json.load(f)["ratios"], {"a/1": {"1": 2.0, "2": 2.0}, "b/1": {"1": 1.5, "2": 1.0}})
        self.check(self.report([scenario("a/1", (3.0, 2.0))], processor="Another"), "--update")  # nothing of two processors
        with open(self.path("expected.json"), encoding="utf-8") as f:
            self.assertEqual(list(json.load(f)["ratios"]), ["a/1"])

    def test_another_processor(self):
        self.check(self.report([scenario("a/1", (1.0, 1.0))]), "--update")
        out = self.check(self.report([scenario("a/1", (1.0, 1.0))], processor="B"))[1]
        self.assertIn("Another processor: the ratios are those of A processor, the report is of B.", out)

    def test_again(self):
        """The better of two measurements counts; the second is of what fell only."""
        self.check(self.report([scenario("a/1", (1.0, 1.0)), scenario("b/1", (1.0, 1.0))]), "--update")
        fallen = self.report([scenario("a/1", (0.5, 1.0)), scenario("b/1", (1.0, 1.0))])
        for ratio, code in ((1.02, 0), (0.6, 1)):
            second = self.report([scenario("a/1", (ratio, 0.4))], "second.json")
            script = f"import sys; assert sys.argv[1:] == ['--only', 'a/1', '--json'], sys.argv; print(open({second!r}).read())"
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


if __name__ == "__main__":
    sys.exit(unittest.main())
