"""The program fuzz_graphs."""
import argparse
import collections
import concurrent.futures
import json
import os
import pickle
import tempfile
import time

import numpy as np
import onnx

import judge
from engines import Worker
from program import ROOT, official

from . import judging, shrinking
from .graph import NodeFinding
from .values import array_of

WORKER, MAKER = (os.path.join(os.path.dirname(os.path.abspath(__file__)), name) for name in ("worker.py", "maker.py"))
MAKING = 120  # seconds to draw a graph
SHRINKING = 60  # seconds


class Fuzzer:
    """`libraries`: paths of (oracle, Retort)."""

    def __init__(self, libraries, seconds):
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        self.engines = [Worker(library, configurations, seconds, WORKER) for library, configurations in zip(libraries, (judging.ORACLE, judging.RETORT))]
        self.maker = Worker(libraries[0], ((libraries[1],),), MAKING, MAKER)
        self.current = tempfile.NamedTemporaryFile(prefix="fuzz-node-")
        self.findings, self.tried, self.kept = [], 0, 0

    def draw(self, seed, number):
        """A Whole. A node that ends the process that draws is left out."""
        avoided = set()
        while True:
            outcome = self.maker.run([(0, seed, number, avoided, self.current.name)])[0][0]
            if outcome[0] == "ok":
                _, graph, findings, tried, kept = outcome
                self.findings += findings
                self.tried, self.kept = self.tried + tried, self.kept + kept
                return graph
            with open(self.current.name, "rb") as f:
                name, label, case = pickle.load(f)
            if name in avoided:
                raise RuntimeError(f"graph {seed}/{number} cannot be drawn: {outcome}")
            avoided.add(name)
            self.findings += self.blamed(label, case)

    def blamed(self, label, case):
        """[NodeFinding] of a node that ended the drawing process, unless the oracle was the cause."""
        outcome = self.outcomes((0, *case))[1]
        bad = [o for o in outcome if judge.broken(o)]
        return [NodeFinding(label, bad[0][0], judge.told(bad[0]), *case[:2])] if bad else []

    def outcomes(self, case):
        """Outcomes of all configurations of (the oracle, Retort)."""
        return [f.result()[0] for f in [self.pool.submit(e.run, [case]) for e in self.engines]]

    def verdict(self, graph):
        case = 0, graph.model().SerializeToString(), graph.feeds(), [v.name for v in graph.outputs], judging.failing(graph)
        return judging.verdict(graph, *self.outcomes(case))

    def close(self):
        for worker in (self.maker, *self.engines):
            worker.stop()
        self.pool.shutdown()
        self.current.close()


def saved(array):
    """An array of a type that numpy can save."""
    if array.dtype.kind in "iubfc" and array.dtype.isbuiltin:
        return array
    return array.astype(str if array.dtype == object else np.float32)


def write(folder, graph, found):
    """Writes a graph: model.onnx, the inputs of each run, and the finding."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "model.onnx"), "wb") as f:
        f.write(graph.model().SerializeToString())
    for run, feeds in enumerate(graph.feeds()):
        arrays = {name: array_of(wire) for name, wire in feeds if array_of(wire) is not None}
        np.savez(os.path.join(folder, f"inputs{run}.npz"), **{k: saved(a) for k, a in arrays.items()})
    with open(os.path.join(folder, "finding.txt"), "w", encoding="utf-8") as f:
        f.write(f"{found.kind} {found.group}\n{found.detail}\n")


class Tally:
    def __init__(self):
        self.states, self.groups, self.nodes = collections.Counter(), {}, 0
        self.operators = collections.Counter()

    def add(self, number, graph, found):
        self.states[found.state] += 1
        self.nodes += len(graph.nodes)
        self.operators.update(n.label for n in graph.nodes)
        if not found.kind:
            return False
        group = self.groups.setdefault((found.kind, found.group), {"count": 0, "first": number, "detail": found.detail})
        group["count"] += 1
        return group["count"] == 1

    def findings(self):
        return [{"kind": kind, "group": group, **rest} for (kind, group), rest in sorted(self.groups.items(), key=lambda g: -g[1]["count"])]


def alone(findings):
    """Findings of single nodes in groups: {(label, kind): [count, first]}."""
    groups = {}
    for finding in findings:
        groups.setdefault((finding.label, finding.kind), [0, finding])[0] += 1
    return groups


def report_alone(findings, folder):
    for (label, kind), (count, first) in sorted(alone(findings).items()):
        print(f"  NODE {label} {kind} ({count}): {first.detail[:300]}", flush=True)
        if folder:
            place = os.path.join(folder, "nodes")
            os.makedirs(place, exist_ok=True)
            with open(os.path.join(place, f"{label.replace(':', '.')}-{kind}.onnx"), "wb") as f:
                f.write(first.model)
            arrays = {name: array_of(w) for name, w in first.feeds[0]}
            np.savez(os.path.join(place, f"{label.replace(':', '.')}-{kind}.npz"), **{k: saved(v) for k, v in arrays.items() if v is not None})


def fuzz(fuzzer, args):
    """Tally of all graphs."""
    tally, begin = Tally(), time.monotonic()
    for number in range(args.first, args.first + args.graphs):
        if args.minutes and time.monotonic() - begin > 60 * args.minutes:
            break
        graph = fuzzer.draw(args.seed, number)
        found = fuzzer.verdict(graph)
        if tally.add(number, graph, found):
            print(f"  FIND {found.kind} {args.seed}/{number} ({len(graph.nodes)} nodes) {found.group}\n        {found.detail[:400]}", flush=True)
            keep(fuzzer, args, number, graph, found)
        done = number - args.first + 1
        if done % 50 == 0:
            print(f"{done} graphs, {tally.nodes // done} nodes each, {(time.monotonic() - begin) / done:.2f} s each", flush=True)
    return tally


def keep(fuzzer, args, number, graph, found):
    """Writes a graph with a finding, and a smaller graph with the same finding."""
    folder = os.path.join(args.to, f"{args.seed}-{number}")
    write(folder, graph, found)
    if found.kind not in ("code", "unknown", "oracle refuses"):
        small = shrinking.shrink(graph, found.kind, fuzzer.verdict, args.shrinking)
        last = fuzzer.verdict(small)
        write(os.path.join(folder, "small"), small, last)
        labels = ", ".join(n.label for n in small.nodes)
        print(f"        {len(small.nodes)} nodes in {folder}/small: {labels[:300]}\n        {last.detail[:300]}", flush=True)


def arguments(doc):
    ap = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--graphs", type=int, default=100)
    ap.add_argument("--first", type=int, default=0, help="number of the first graph")
    ap.add_argument("--minutes", type=float, default=0, help="stop after this time")
    ap.add_argument("--library", default=os.environ.get("RETORT_LIBRARY") or os.path.join(ROOT, "out", "lib", "libretort.so.1"))
    ap.add_argument("--oracle", default="", help="library of official ONNX Runtime; by default that of the installed package")
    ap.add_argument("--seconds", type=float, default=20, help="limit for a graph on an engine with one setting (20)")
    ap.add_argument("--shrinking", type=float, default=SHRINKING, help=f"seconds to look for a smaller graph ({SHRINKING})")
    ap.add_argument("--json", default="", help="write findings and counts into this file")
    ap.add_argument("--to", default="", help="folder for graphs with findings (a new one)")
    return ap.parse_args()


def main(doc):
    args = arguments(doc)
    args.to = args.to or tempfile.mkdtemp(prefix="fuzz-graphs-")
    fuzzer = Fuzzer((args.oracle or official()[1], args.library), args.seconds)
    begin = time.monotonic()
    try:
        tally = fuzz(fuzzer, args)
    finally:
        fuzzer.close()
    report_alone(fuzzer.findings, args.to)
    seconds, graphs = time.monotonic() - begin, sum(tally.states.values())
    if args.json:
        report = {"seed": args.seed, "graphs": graphs, "nodes": tally.nodes, "seconds": seconds, "onnx": onnx.__version__, **tally.states,
                  "findings": tally.findings(), "operators": dict(tally.operators.most_common()),
                  "nodes alone": [{"operator": label, "kind": kind, "count": count, "detail": first.detail}
                                  for (label, kind), (count, first) in alone(fuzzer.findings).items()]}
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(report, f, indent=1)
    findings = sum(f["count"] for f in tally.findings() if f["kind"] not in ("code", "unknown") and not f["kind"].startswith("oracle"))
    print(f"{graphs} graphs of {tally.nodes} nodes and {len(tally.operators)} operators in {seconds:.0f} s; {tally.states['valid']} ran on both; "
          f"{fuzzer.kept} of {fuzzer.tried} nodes drawn ran; {findings} findings")
    return 1 if findings else 0
