#!/usr/bin/env python3
"""Tests a plug-in provider in this engine and in official ONNX Runtime: official cases, graphs with borders, whole
models, wrong options.

    check_provider.py LIBRARY --oracle LIB --tool RUN_CASES --provider NAME=PLUGIN --cases DIR --work DIR

Cases count if the provider runs one of their nodes, and must have the same result as without it. Results of graphs
(graphs.py) and models (of bench/zoo and ../shared/models) in float32 are compared with official ONNX Runtime on its
CPU, those on integers with the standard's arithmetic (standard.py). Their nodes must be claimed; if a provider claims
integers on some processors only, others skip the claim and compare the values. The last line is "N passed, N failed, N
skipped".
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

import numpy as np
import onnxruntime

import graphs
import models
import standard

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "conformance"))
import run_cases as conformance

ZOO = {"mobilenet_v2": "b1", "resnet50": "b1", "minilm_l6": "b1s16"}
INTEGER_ZOO = {"mobilenet_v2_qdq": "b1"}
# Minimum number of official cases that a provider takes part in, on either engine; its options; graphs in which it
# claims no node.
PROVIDERS = {"OneDnnExecutionProvider": {"least": 500, "has": {"bf16", "integers", "integers by VNNI", "empty"}, "nothing": set()},
             "XnnPackExecutionProvider": {"least": 300, "has": {"integers", "stored", "foreign", "counts"},
                                          "nothing": {"both_repeat", "results_inside", "linear_product", "sums", *graphs.UNCLAIMED_GRAPHS}}}
# RETORT_ISA: the same for oneDNN, and the flag by which the kernel reports a processor that has it. XNNPACK cannot be
# limited.
LEVELS = {"v2": ("SSE41", {"sse4_2"}), "avx2": ("AVX2", {"avx2", "fma", "f16c", "bmi2"}),
          "avx512": ("AVX512_CORE", {"avx512f", "avx512bw", "avx512dq", "avx512cd", "avx512vl"})}
# ONEDNN_MAX_CPU_ISA: instruction sets that oneDNN does not use with that value.
TAKEN_AWAY = {"SSE41": "avx", "AVX": "avx(2|512|_)", "AVX2": "avx(512|_vnni)", "AVX2_VNNI": "avx512", "AVX512_CORE": "avx(512)?_?(vnni|bf16|fp16)|amx"}
INTEGER_RULE = ("close", "0", "1")  # the adjacent integer is accepted
GRAPH_RULE, MODEL_RULE, BF16_RULE = ("close", "1e-4", "1e-5"), ("scale", "1e-3", "0"), ("scale", "0.1", "0")
INTEGER_ZOO_RULE = ("scale", "0.125", "0")  # steps that round to the adjacent integer add up to 0.093, in ONNX Runtime as well
COUNTED = re.compile(r": operators on 8-bit integers: (\d+), in float32: (\d+), conversions between them: (\d+)")
WRONG = {"thread=1": "no option 'thread'", "threads=-1": "give a number", "threads=two": "give a number", "bf16=yes": "give 0 or 1",
         "disable=Conv,Konv": "names 'Konv'"}


class Check:
    def __init__(self, a):
        self.a, self.passed, self.failed, self.skipped = a, 0, 0, 0
        self.engines = {"retort": a.library, **({"official": a.oracle} if a.oracle else {})}
        self.about = PROVIDERS[a.provider.partition("=")[0]]
        os.makedirs(a.work, exist_ok=True)

    def verdict(self, name, wrong):
        self.passed += not wrong
        self.failed += bool(wrong)
        if wrong:
            print(f"FAIL {name}: {wrong}")

    def skip(self, name, reason):
        self.skipped += 1
        print(f"skipped: {name}: {reason}")

    def run(self, label, library, lines, *options, provider=True, env=None):
        """{name: (passed, class, message, nodes that the provider runs, its report on its parts)} of lines of a
        manifest."""
        path = os.path.join(self.a.work, label)
        with open(path + ".manifest", "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in lines)
        said = ["--log", self.a.provider.partition("=")[0] + ": part"]
        chosen = ["--provider", self.a.provider, *said, *(["--option", "threads=1"] if not options else [])] if provider else []
        for option in options:
            chosen += ["--option", option]
        with open(path + ".stderr", "wb") as said_besides:
            subprocess.run([self.a.tool, library, path + ".manifest", path + ".tsv", *chosen], check=True, stderr=said_besides,
                           env={**os.environ, **(env or {})})
        with open(path + ".tsv", encoding="utf-8", errors="replace") as f:
            rows = [line.rstrip("\n").split("\t") for line in f]
        return {r[0]: (r[1] == "pass", r[2], r[6], int(r[7]) if len(r) > 7 else 0, r[8] if len(r) > 8 else "") for r in rows}

    def cases(self):
        folder = os.path.abspath(self.a.cases)
        lines = [conformance.manifest_line(c, folder) for c in conformance.load_cases(folder)]
        for engine, library in self.engines.items():
            rows = self.run("cases." + engine, library, lines)
            bad = {n for n, r in rows.items() if not r[0]}
            plain = self.run("plain." + engine, library, [line for line in lines if line.split("\t")[0] in bad], provider=False)
            for n in sorted(bad):
                if plain[n][0] or rows[n][1] in conformance.NEVER_LISTED:
                    self.verdict(f"{engine} {n}", f"{rows[n][1]}: {rows[n][2]}")
            claimed = sum(r[3] > 0 for r in rows.values())
            right = sum(r[0] and r[3] > 0 for r in rows.values())
            print(f"{engine}: takes part in {claimed} of {len(rows)} cases, {right} of them pass", flush=True)
            self.passed += right
            least = self.about["least"]
            self.verdict(f"{engine} cases", "" if claimed >= least else f"takes part in {claimed}, fewer than {least}")

    def hold(self, label, rows, rule, *options, claims=True):
        """Runs the rows on both engines and compares; `claims`: also checks that nodes were claimed."""
        lines = ["\t".join([name, *rule, model, *folders]) for name, model, folders in rows]
        for engine, library in self.engines.items():
            if engine == "retort" and label == "foreign":
                continue
            for name, (ok, reason, message, nodes, said) in self.run(f"{label}.{engine}", library, lines, *options).items():
                if engine == "official" and not nodes and rule == INTEGER_RULE and not has_vnni():
                    self.skip(f"{engine} {label} {name}", "its sums of 8-bit products saturate on this processor, and the provider claims no nodes")
                    continue
                taken = not claims or (nodes > 0) != (name in self.about["nothing"])
                self.verdict(f"{engine} {label} {name}", "" if ok and taken else f"{reason or f'{nodes} nodes are claimed'}: {message}")
                if not claims:
                    self.skip(f"{engine} {label} {name}, claims", "the processor has no instructions for products of bytes (VNNI)")
                if "counts" in self.about["has"] and name in graphs.COUNTS:
                    self.verdict(f"{engine} {label} {name}, numbers of operators", miscounted(graphs.COUNTS[name], said))

    def graphs(self):
        for label, chosen, rule, evaluator in (
                ("graph", graphs.GRAPHS, GRAPH_RULE, models.on_cpu), ("integers", graphs.INTEGER_GRAPHS, INTEGER_RULE, standard.evaluator),
                ("stored", {**graphs.STORED_GRAPHS, **graphs.UNCLAIMED_GRAPHS}, INTEGER_RULE, standard.evaluator),
                ("foreign", graphs.FOREIGN_GRAPHS, INTEGER_RULE, standard.evaluator), ("empty", graphs.EMPTY_GRAPHS, GRAPH_RULE, models.on_cpu)):
            if label != "graph" and label not in self.about["has"]:
                continue
            rows = graphs.write(os.path.join(self.a.work, "graphs"), chosen)
            for _, model, folders in rows:
                models.expect(model, folders, evaluator)
            self.hold(label, rows, rule, claims=label != "integers" or self.claims_integers())
            if label in ("integers", "stored"):
                self.at_levels(label, rows, INTEGER_RULE)

    def claims_integers(self):
        return "integers by VNNI" not in self.about["has"] or has_vnni()

    def at_levels(self, label, rows, rule):
        """The same at each instruction level of the processor, in this engine; official ONNX Runtime always uses
        everything that the processor has. None of the levels has VNNI: oneDNN does not claim nodes on integers, and
        nothing saturates."""
        lines = ["\t".join([name, *rule, model, *folders]) for name, model, folders in rows]
        for level, bound in levels().items():
            environment = {"RETORT_ISA": level, "ONEDNN_MAX_CPU_ISA": bound}
            for name, (ok, reason, message, nodes, _) in self.run(f"{label}.{level}", self.a.library, lines, env=environment).items():
                if "integers by VNNI" not in self.about["has"]:
                    taken = (nodes > 0) != (name in self.about["nothing"])
                else:
                    # Those also have nodes in float32.
                    taken = nodes == 0 or name == "stored_residual" or label == "integer_model"
                self.verdict(f"at level {level}, {label} {name}", "" if ok and taken else f"{reason or f'{nodes} nodes are claimed'}: {message}")

    def models(self):
        rows = models.zoo(os.path.join(self.a.work, "zoo"), ZOO)
        self.hold("model", rows, MODEL_RULE)
        if "bf16" in self.about["has"] and has_bf16():
            self.hold("bf16", rows, BF16_RULE, "threads=2", "bf16=1")
        elif "bf16" in self.about["has"]:
            self.skip("bf16", "oneDNN multiplies 16-bit floats only on processors with AVX-512")
        integers = models.zoo(os.path.join(self.a.work, "integer_zoo"), INTEGER_ZOO, standard.evaluator)
        if "counts" in self.about["has"]:
            self.hold("integer_model", integers, INTEGER_ZOO_RULE)
        self.at_levels("integer_model", integers, INTEGER_ZOO_RULE)
        real = os.path.join(os.path.dirname(ROOT), "shared", "models")
        names = [n for n in ("squeezenet-fp16", "ultraface-rfb320", "fastestdet") if os.path.exists(os.path.join(real, n, "model.onnx"))]
        float32 = [n for n in names if not n.endswith("fp16")]
        self.hold("real", [(n, os.path.join(real, n, "model.onnx"), [os.path.join(real, n)]) for n in float32], MODEL_RULE)

    def options(self):
        line = self.one_model()
        for engine, library in self.engines.items():
            for option, message in WRONG.items():
                if option.startswith("bf16") and "bf16" not in self.about["has"]:
                    continue
                ok, reason, said, *_ = self.run("wrong." + engine, library, [line], option)["one"]
                self.verdict(f"{engine} option {option}", "" if not ok and message in said else f"{reason}: {said}")
            ok, _, said, nodes, _ = self.run("disabled." + engine, library, [line], "disable=Relu, Conv,Add", "threads=2")["one"]
            self.verdict(f"{engine} option disable", "" if ok and nodes == 0 else f"{nodes} nodes are claimed; {said}")

    def shapes(self):
        """Inputs that do not fit cause a message with the operator and the shapes."""
        ((name, model, folders),) = graphs.write(os.path.join(self.a.work, "graphs"), {"wrong": graphs.WRONG_SHAPES})
        for engine, library in self.engines.items():
            ok, reason, said, *_ = self.run("shapes." + engine, library, ["\t".join([name, *GRAPH_RULE, model, *folders])])[name]
            right = not ok and reason == "run/INVALID_ARGUMENT" and graphs.WRONG_SHAPES_SAID in said
            self.verdict(f"{engine} wrong shapes", "" if right else f"{reason}: {said}")

    def one_model(self):
        at = os.path.join(self.a.work, "graphs", "residual")
        return "\t".join(["one", *GRAPH_RULE, os.path.join(at, "model.onnx"), os.path.join(at, "0")])

    def at_once(self):
        """Runs of one session by several threads, with several shapes, on the engine of the Python package."""
        name, library = self.a.provider.split("=")
        onnxruntime.register_execution_provider_library("provider", library)
        devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == name]
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.add_provider_for_devices(devices[:1], self.provider_options())
        rng = np.random.default_rng(3)
        self.many_runs("attention", options, [rng.standard_normal((1 + i % 3, 2 + i % 11, 16), dtype=np.float32) for i in range(200)], (1e-4, 1e-5))
        if "stored" in self.about["has"]:
            self.many_runs("stored_network", options, [rng.standard_normal((1 + i % 11, 3, 17, 17), dtype=np.float32) for i in range(200)], (0, 0))

    def provider_options(self):
        return {"threads": "1"}

    def many_runs(self, graph, options, inputs, tolerance):
        """Results in float32 are compared with the CPU's; results on integers, whose values `graphs` compares with
        the standard's, with those of the same runs one after the other."""
        model = os.path.join(self.a.work, "graphs", graph, "model.onnx")
        session = onnxruntime.InferenceSession(model, options)
        plain = session if graph in graphs.STORED_GRAPHS else models.on_cpu(model)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            found = list(pool.map(lambda x: session.run(None, {"x": x})[0], inputs))
        wrong = sum(not np.allclose(y.astype(np.float32), plain.run(None, {"x": x})[0].astype(np.float32), *tolerance) for y, x in zip(found, inputs))
        self.verdict(f"runs of several threads, {graph}", f"{wrong} of {len(inputs)} differ" if wrong else "")


def miscounted(wanted, said):
    """The error in the numbers of operators that a provider reports for its parts; "" if they are right."""
    parts = [[int(n) for n in found] for found in COUNTED.findall(said)]
    sums = [sum(column) for column in zip(*parts)]
    right = len(sums) == len(wanted) and all(w in (None, s) for w, s in zip(wanted, sums))
    return "" if right else f"on integers, in float32, conversions should be {wanted}; the log says '{said}'"


def has_bf16():
    return "avx512bw" in processor()


def has_vnni():
    return not processor().isdisjoint({"avx512_vnni", "avx_vnni"})


def instruction_sets():
    """The instruction sets of this machine, with the kernel's names."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return {word for line in f if line.startswith("flags") for word in line.split()}


def processor():
    """The instruction sets of this machine without those that a limit on oneDNN disables."""
    gone = TAKEN_AWAY.get(os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper(), "(?!)")
    return {f for f in instruction_sets() if not re.match(gone, f)}


def levels():
    """{RETORT_ISA: ONEDNN_MAX_CPU_ISA} of the levels that this processor has; if RETORT_ISA is set, only of that
    one."""
    chosen, has = os.environ.get("RETORT_ISA"), instruction_sets()
    return {level: bound for level, (bound, needs) in LEVELS.items() if needs <= has and chosen in (None, "", level)}


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("library")
    ap.add_argument("--oracle", default="")
    ap.add_argument("--tool", required=True)
    ap.add_argument("--provider", required=True)
    ap.add_argument("--cases", required=True)
    ap.add_argument("--work", required=True)
    ap.add_argument("--only", choices=("programs", "python"), help="what runs in other programs, or what loads the provider into this one")
    c = Check(ap.parse_args())
    if c.a.only != "python":
        for part in c.cases, c.graphs, c.models, c.options, c.shapes:
            part()
    if c.a.oracle and c.a.only != "programs":
        c.at_once()
    print(f"{c.passed} passed, {c.failed} failed, {c.skipped} skipped")
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
