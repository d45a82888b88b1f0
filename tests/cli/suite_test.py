#!/usr/bin/env python3
"""retort bench --suite: scenarios, report, page, Markdown."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import numpy as np

from tool import DIGITS, TOOL, ToolTest, retort

PEER = os.environ.get("RETORT_ORACLE")
QUICK = ("--seconds", 0.05, "--starts", 1)


def scenario(name, ratios, **more):
    """A scenario's entry in a report, measured with one and two threads."""
    rows = []
    for threads, ratio in enumerate(ratios, 1):
        sides = [{"engine": e, "median_ms": ms, "load_ms": 2 * ms, "first_run_ms": ms, "peak_mib": 10 * ms, "steady_mib": 5 * ms, "runs": 9}
                 for e, ms in (("Retort 1", 2.0), ("Peer 2", 2 * ratio))]
        figures = {"engine": "Peer 2", "ratio": ratio, "start_ratio": ratio, "peak_ratio": ratio, "steady_ratio": ratio, "disagreement": 1e-6, "median_ms": 2 * ratio,
                   "peak_mib": 20 * ratio, "steady_mib": 10 * ratio}
        other = {"engine": "Other 3", "error": "not taken"} if name == "c/1" else {**figures, "engine": "Other 3", "ratio": 2 * ratio}
        rows.append({"threads": threads, "sides": sides, "ratio": ratio, "disagreement": 1e-6, "peers": [figures, other], "gflops": 5.0, "peak_share": 50.0})
    return {"name": name, "model": name, "kind": "CNN", "precision": "float32", "flops": 1e7, "tolerance": 1e-3, "report": rows, **more}


def with_details(row):
    """Adds the fields of --strict, --expected and --ops to the first row of a scenario."""
    first = row["report"][0]
    row["expected_from"] = "float64"
    first["sides"][0]["deviation"], first["peers"][0]["deviation"] = 3e-7, None  # null: a shape or a type differs
    first["strict"] = {"median_ms": 2.5, "ratio": 1.25, "from_default": 2e-7, "deviation": 1e-7, "disagreement": 4e-7}
    cell = lambda nodes, ms, **more: {"nodes": nodes, "ms": ms, "share": 50 * ms, **more}
    first["ops"] = {"threads": 1, "engines": [{"engine": e, "runs": 9, "run_ms": 2.0, "nodes_ms": 1.9, "outside_ms": 0.125} for e in ("Retort 1", "Peer 2")],
                    "operators": [{"op": "Conv", "engines": [cell(3, 1.25), cell(4, 1.5, ratio=1.2)], "gflops": 33.25, "peak_share": 66.4},
                                  {"op": "Reshape", "engines": [None, cell(2, 0.0625)]}, {"op": "Relu", "engines": [cell(1, 0.5), None]}]}
    return row


class Reports(ToolTest):
    def report(self, scenarios, name="report.json", processor="A processor", **machine):
        means = [{"name": "all", "scenarios": 1, "report": [{"threads": t, "peers": [{"engine": "Peer 2", "scenarios": 7, "ratio": 1.5, "start_ratio": 2.5,
                                                                                     "peak_ratio": 3.5, "steady_ratio": 4.5, "slowest": {"name": "some/b1", "ratio": 0.9}}]} for t in (1, 2)]}]
        machine = {"processor": processor, "cores": 2, "caches": {"L2": "1 MiB"}, "memory_bytes": 8e9, "isa": ["avx2", "fma"], "system": "Linux 6", "load": 0.5, **machine}
        with open(self.path(name), "w", encoding="utf-8") as f:
            json.dump({"format": 2, "date": "2026-01-02 03:04 UTC", "machine": machine, "engines": ["Retort 1", "Peer 2", "Other 3"], "threads": [1, 2],
                       "peak_gflops": {"1": 10.0, "2": 20.0}, "read_gbs": {"1": 7.0, "2": 9.0}, "scenarios": scenarios, "means": means}, f)
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
        self.assertRegex(out, r"c\.onnx +model .*c\.onnx.: this is not an ONNX model")
        self.assertRegex(out, r"deep/a\.onnx +[\d.]+ ")
        self.assertIn("2 scenarios measured, 1 failed, 0 differ", out)

    def test_scenarios_of_an_index(self):
        code, out, err = retort("bench", "--suite", self.zoo(), *QUICK, "--threads", "1,2", "--json")
        self.assertEqual((code, err), (0, ""))
        told = json.loads(out)
        self.assertEqual([s["name"] for s in told["scenarios"]], ["digits/b1", "digits/b64"])
        one, many = (s["flops"] for s in told["scenarios"])
        self.assertEqual(many, 64 * one)  # the inputs are those of the scenario
        for s in told["scenarios"]:
            self.assertEqual([r["threads"] for r in s["report"]], [1, 2])
            row = s["report"][0]
            self.assertAlmostEqual(row["gflops"], s["flops"] / row["sides"][0]["median_ms"] / 1e6, places=6)
            self.assertAlmostEqual(row["peak_share"], 100 * row["gflops"] / told["peak_gflops"]["1"], places=6)
        self.assertEqual(set(told["peak_gflops"]), {"1", "2"})
        self.assertGreater(told["read_gbs"]["2"], 0.1)
        machine = told["machine"]
        self.assertGreater(machine["memory_bytes"], 1e8)
        self.assertGreaterEqual(machine["cores"], 1)
        self.assertTrue(machine["processor"] and machine["system"])

    def test_only(self):
        words = ["bench", "--suite", self.zoo(), *QUICK]
        self.assertEqual([s["name"] for s in json.loads(retort(*words, "--only", "*/b64", "--json")[1])["scenarios"]], ["digits/b64"])
        self.assertEqual(len(json.loads(retort(*words, "--only", "dig*s", "--json")[1])["scenarios"]), 2)
        self.fails(1, [*words, "--only", "resnet*"], "--only 'resnet*' matches no scenario", "digits/b1, digits/b64")
        self.fails(1, [*words, "--only", "digits", "--only", "resnet*"], "--only 'resnet*' matches no scenario")
        self.fails(2, [*words, "--report", os.path.join(words[2], "models", "digits.onnx")], "--report would write", "which --suite names as well")

    def test_the_page_names_models_and_not_files(self):
        self.assertEqual(retort("bench", "--suite", self.zoo(), *QUICK, "--html", self.path("p.html"))[0], 0)
        with open(self.path("p.html"), encoding="utf-8") as f:
            self.assertIn("<title>Benchmark of digits</title>", f.read())

    def test_precision(self):
        words = ["bench", "--suite", self.zoo(precision="float32 of half"), *QUICK]
        self.assertEqual(len(json.loads(retort(*words, "--precision", "*half", "--precision", "float32*", "--json")[1])["scenarios"]), 2)
        self.fails(1, [*words, "--precision", "float32*", "--precision", "float32"], "--precision 'float32' matches no scenario", "there are float32 of half")

    def test_wrong_index(self):
        zoo = self.zoo()
        for content, message in (("{", " is not a list of scenarios"), ('[{"model": "a"}]', ": scenario 1 has no field 'scenario'"),
                                 ('[{"model": 1, "scenario": "b", "path": "c"}]', ": scenario 1: 'model' is of type number"),
                                 ('[{"model": "a", "scenario": "b", "path": "c", "tolerence": 1}]',
                                  ": scenario 1 has the field 'tolerence', which does not exist; there are model, scenario, path"),
                                 ('[{"model": "a", "scenario": "b", "path": "c"}, {"model": "a", "scenario": "b", "path": "d"}]',
                                  ": scenario 2 is 'a/b', as one before it")):
            with open(os.path.join(zoo, "index.json"), "w", encoding="utf-8") as f:
                f.write(content)
            self.fails(1, ["bench", "--suite", zoo], "index.json" + message)

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
        self.assertEqual((by_name["all"]["scenarios"], set(by_name)), (2, {"all"}))
        mean = by_name["all"]["report"][0]["peers"][0]
        self.assertAlmostEqual(mean["ratio"], (ratios[0] * ratios[1]) ** 0.5, places=6)
        self.assertEqual(mean["slowest"]["ratio"], min(ratios))
        self.assertRegex(out, r"\nall +ONNX Runtime [\d.]+ +2 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +digits/b")
        self.assertIn("ONNX Runtime 1.", out)
        # The tables do not depend on the date.
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
        self.assertIn("1 scenario measured, 0 failed, 1 differ", out)

    def markdown(self, report):
        self.assertEqual(retort("bench", "--from", report, "--markdown", self.path("r.md"))[0], 0)
        with open(self.path("r.md"), encoding="utf-8") as f:
            return f.read()

    def test_markdown(self):
        report = self.report([with_details(scenario("some/b1", (0.9, 1.25))), {"name": "bad/b1", "model": "m", "kind": "", "precision": "", "flops": 0, "tolerance": 0,
                                                                "error": "node 'a|b'\nis wrong"}])
        code, out, err = retort("bench", "--from", report)
        self.assertEqual((code, err), (0, ""))  # it was not measured now
        self.assertIn("1 scenario measured, 1 failed, 0 differ", out)
        self.assertNotIn("refused", self.markdown(report))
        other = scenario("c/1", (1.0, 1.0))
        self.assertIn("\n## Models that a peer rejected\n- Other 3: c/1\n", self.markdown(self.report([scenario("a/1", (1.0, 1.0)), other], "other.json")) + "\n")
        text = self.markdown(report)
        for line in ("| processor | A processor |", "| caches | L2 1 MiB |", "| instructions | avx2, fma |", "| date | 2026-01-02 03:04 UTC |",
                     "| measured peak, float32 | 10.0 GFLOP/s with 1 thread, 20.0 GFLOP/s with 2 threads |", "| engines | Retort 1, Peer 2, Other 3 |",
                     "| measured memory bandwidth (reading) | 7.00 GB/s with 1 thread, 9.00 GB/s with 2 threads |",
                     "| all | Peer 2 | 7 | 1.50 | 1.50 | 2.50 | 3.50 | 4.50 | some/b1 0.90 | some/b1 0.90 |",
                     "| scenario | 1T ms | 1T ratio | 1T ratio 2 | 1T GFLOP/s | 1T % of peak | 2T ms | 2T ratio | 2T ratio 2 | 2T GFLOP/s | 2T % of peak | differs |",
                     "| some/b1 | 2.000 | 0.90 | 1.80 | 5.0 | 50 | 2.000 | 1.25 | 2.50 | 5.0 | 50 | 1.0e-06 |",
                     "| scenario | load ms | first run ms | load ratio | load ratio 2 | peak MiB | peer peak MiB | peer 2 peak MiB | steady MiB | peer steady MiB | peer 2 steady MiB |",
                     "| some/b1 | 4.0 | 2.0 | 0.90 | 0.90 | 20.0 | 18.0 | 18.0 | 10.0 | 9.0 | 9.0 |",
                     "| scenario | right outputs | error | strict error | peer error | peer 2 error | from peer | strict from peer | strict from default | strict time ratio |",
                     "| some/b1 | float64 | 3.0e-07 | 1.0e-07 | inf |  | 1.0e-06 | 4.0e-07 | 2.0e-07 | 1.25 |",
                     "| some/b1 | Conv 62 %, Relu 25 % | Conv 75 %, Reshape 3 % |", "- bad/b1: node 'a\\|b' is wrong"):
            self.assertIn("\n" + line + "\n", text)
        self.assertNotIn(self.folder, text)
        self.assertNotIn("instruction level", text)  # the report does not say it

    def test_markdown_of_several_levels(self):
        high = self.report([scenario("a/1", (1.5, 1.25))], "high.json", level="avx512", best_level="avx512")
        low = self.report([scenario("a/1", (1.1, 1.0))], "low.json", level="avx2", best_level="avx512")
        words = ["bench", "--from", high, "--from", low]
        self.assertEqual(retort(*words, "--markdown", self.path("r.md"))[0], 0)
        with open(self.path("r.md"), encoding="utf-8") as f:
            first, second = f.read().split("\n## avx2 on A processor\n")
        self.assertIn("\n## avx512 on A processor\n", first)
        self.assertIn("| instruction level of Retort | avx512 |\n", first)
        self.assertIn("| instruction level of Retort | avx2, which RETORT_ISA sets; the peers choose theirs themselves |\n", second)
        self.assertIn("\n### Latency\n", first)
        self.assertIn("\n| a/1 | 2.000 | 1.50 |", first)
        self.assertIn("\n| a/1 | 2.000 | 1.10 |", second)
        self.fails(2, [*words, "--html", self.path("p.html")], "--json, --report and --html are about one report, and --from names 2")
        self.fails(2, [*words, "--report", self.path("r.json")], "--markdown takes several")
        self.assertEqual(retort(*words, "--json")[0], 2)

    def test_level(self):
        """The level that RETORT_ISA sets is in the report, with the peak that it has."""
        best = json.loads(retort("bench", "--suite", self.zoo(), *QUICK, "--only", "*/b1", "--json")[1])
        self.assertEqual(best["machine"]["level"], os.environ.get("RETORT_ISA") or best["machine"]["best_level"])
        if best["machine"]["best_level"] != "avx512":
            self.skipTest("one level")
        peaks = {}
        for level in ("v2", "avx2", "avx512"):
            done = subprocess.run([TOOL, "bench", "--suite", self.path("zoo"), *map(str, QUICK), "--only", "*/b1", "--json"], capture_output=True, encoding="utf-8",
                                  env={**os.environ, "RETORT_ISA": level})
            told = json.loads(done.stdout)
            self.assertEqual((told["machine"]["level"], told["machine"]["best_level"]), (level, "avx512"))
            peaks[level] = told["peak_gflops"]["1"]
        self.assertGreater(peaks["avx2"], 1.2 * peaks["v2"])  # twice as many lanes

    def test_page(self):
        report = self.report([scenario("slow</script>/b1", (0.9, 0.8)), scenario("fast/b1", (2.5, 2.25)), scenario("middle/b1", (1.5, 1.4), kind="decoder"),
                              {"name": "bad/b1", "model": "m", "kind": "", "precision": "", "flops": 0, "tolerance": 0, "error": "was <wrong>"}])
        retort("bench", "--from", report, "--html", self.path("p.html"))
        document = self.browse(self.path("p.html"))
        self.assertEqual(document.count('class="value '), 3 * (2 + 2 + 2 + 2 + 2 + 2))  # two ratios of two peers, loads, two memories, two shares of the peak
        for text in ("A processor", "avx2, fma", "10 GFLOP/s (1T)", "Time of Peer 2 over Retort 1's", "was &lt;wrong&gt;", "2026-01-02", "3 scenarios measured, 1 failed, 0 differ",
                     "Geometric means",
                     "7.0 GB/s (1T)", "Steady memory over Retort 1's"):
            self.assertIn(text, document)
        self.assertNotIn("<h2>Accuracy", document)
        self.assertNotIn("<h2>Operators", document)
        body = document[:document.index('id="data"')]
        for text in ("NaN", "undefined", "Infinity"):
            self.assertNotIn(text, body)
        widths = [float(r.split('width="')[1].split('"')[0]) for r in body.split('class="value s0"')[1:4]]
        self.assertAlmostEqual(widths[1] / widths[0], 2.5 / 0.9, places=3)

    def cells(self, document, title):
        """Rows of texts of the tables below a heading."""
        body = document[document.index(f"<h2>{title}</h2>"):document.index('id="data"')]
        body = body[:body.find("<h2>", 4)]  # the rest of the document for the last one
        return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body.split("<tr>")[1:] if "<td" in row]

    def test_page_with_details(self):
        report = self.report([with_details(scenario("some/b1", (0.9, 1.25))), scenario("other/b1", (1.0, 1.0))])
        retort("bench", "--from", report, "--html", self.path("p.html"))
        document = self.browse(self.path("p.html"))
        self.assertEqual(self.cells(document, "Geometric means")[0], ["all", "Peer 2", "7", "1.50", "1.50", "2.50", "3.50", "4.50", "some/b1 0.90", "some/b1 0.90"])
        self.assertEqual(self.cells(document, "Accuracy"), [["some/b1", "float64", "3.0e-7", "1.0e-7", "inf", "1.0e-6", "4.0e-7", "2.0e-7", "1.25"]])
        self.assertEqual(document.count("<details>"), 1)
        self.assertIn("Retort 1 2.000 ms, 0.125 of it outside of nodes; Peer 2 2.000 ms", document)
        self.assertEqual(self.cells(document, "Operators"), [["Conv", "3", "1.250", "62.5", "4", "1.500", "75.0", "1.20", "33.3", "66"],
                                                             ["Reshape", "", "", "", "2", "0.063", "3.1", "", "", ""], ["Relu", "1", "0.500", "25.0", "", "", "", "", "", ""]])
        self.assertEqual(self.cells(document, "Memory")[0], ["some/b1", "20.0", "18.0", "18.0", "10.0", "9.0", "9.0"])  # peak and steady, of all
        self.assertNotIn("NaN", document[:document.index('id="data"')])

    def order(self, fragment):
        document = self.browse(self.path("p.html"), fragment)
        return [row[0] for row in self.cells(document, "Times")], document

    def test_page_in_order(self):
        report = self.report([scenario("b/1", (0.9, 0.8)), scenario("c/1", (10.5, 2.25)), scenario("a/1", (1.5, 1.4), kind="decoder")])
        retort("bench", "--from", report, "--html", self.path("p.html"))
        self.assertEqual(self.order("")[0], ["b/1", "c/1", "a/1"])
        self.assertEqual(self.order("sort=0")[0], ["a/1", "b/1", "c/1"])
        self.assertEqual(self.cells(self.browse(self.path("p.html")), "Models that a peer rejected"), [["c/1", "Other 3", "not taken"]])
        self.assertEqual(self.order("sort=3")[0], ["b/1", "a/1", "c/1"])  # by numbers, not by their digits
        plots = self.order("order=ratio&kind=float32 CNN")[1]
        self.assertEqual(plots.count('class="value '), 2 * 12 - 5)  # a peer of one did not take the model

    def test_files_that_cannot_be_written(self):
        """The error comes before anything is measured."""
        for option in ("--report", "--html", "--markdown"):
            self.fails(1, ["bench", "--suite", self.zoo() if option == "--report" else self.path("zoo"), option, self.path("nowhere/x")], "cannot write", "nowhere/x")

    def test_right_outputs(self):
        """Outputs beside a model, or at the place in the index."""
        zoo, code = self.zoo(), 0
        for batch in (1, 64):
            code |= retort("run", DIGITS, "--inputs", os.path.join(zoo, f"inputs/b{batch}"), "--save", self.path(f"zoo/right/b{batch}"))[0]
            os.rename(self.path(f"zoo/right/b{batch}/probabilities.npy"), self.path(f"zoo/right/b{batch}/output_0.npy"))
        self.assertEqual(code, 0)
        with open(self.path("zoo/index.json"), encoding="utf-8") as f:
            rows = json.load(f)
        rows[1].update({"expected": "right/b64", "expected_from": "a run"})
        with open(self.path("zoo/index.json"), "w", encoding="utf-8") as f:
            json.dump(rows, f)
        os.makedirs(self.path("models"))
        shutil.copy(DIGITS, self.path("models/m.onnx"))
        shutil.copy(self.path("zoo/inputs/b1/input_0.pb"), self.path("models/input_0.pb"))
        self.pb("models/output_0.pb", np.load(self.path("zoo/right/b1/output_0.npy")) + np.float32(100))
        code, out, err = retort("bench", "--suite", zoo, "--suite", self.path("models"), *QUICK, "--json")
        self.assertEqual((code, err), (0, ""))
        one, many, beside = json.loads(out)["scenarios"]
        self.assertEqual([one.get("expected_from"), many["expected_from"], beside["expected_from"]], [None, "a run", "stored outputs"])
        errors = [s["report"][0]["sides"][0].get("deviation") for s in (one, many, beside)]
        self.assertEqual(errors[:2], [None, 0])
        self.assertAlmostEqual(errors[2], 1, delta=0.5)

    def test_no_report(self):
        with open(self.path("x.json"), "w", encoding="utf-8") as f:
            f.write("[]")
        self.fails(1, ["bench", "--from", self.path("x.json")], "is not a report of retort bench --suite")
        report = self.report([{"name": "a"}])
        code, _, err = retort("bench", "--from", report)
        self.assertEqual(code, 1)
        self.assertIn("is not a complete report", err)
        self.fails(2, ["bench", "--from", report, "--suite", self.folder], "one of MODEL, --suite and --from")
        self.fails(2, ["bench"], "one of MODEL, --suite and --from")
        self.fails(2, ["bench", DIGITS, "--suite", self.folder], "one of MODEL, --suite and --from")
        self.fails(1, ["bench", "--suite", self.folder], "no .onnx file")


if __name__ == "__main__":
    sys.exit(unittest.main())
