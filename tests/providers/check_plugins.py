#!/usr/bin/env python3
"""Tests a plug-in library of another vendor, unmodified, in this engine and in official ONNX Runtime.

    check_plugins.py NAME LIBRARY --oracle LIB --programs BUILD --cases DIR --work DIR

NAME is one of foreign.py. Official cases (every k-th, see there) count if the plug-in runs one of their nodes. One that
passes in official ONNX Runtime and fails here, and every crash here, is a failure; plugins_known.tsv lists exceptions,
and faults.py shows of some that the plug-in has the same fault in official ONNX Runtime. Whole models must compute the same as the CPU of official ONNX Runtime. plugin_uses does what programs do: tensors in
the plug-in's memory, streams, unregistration. Each runs in separate processes with a time limit. The last line is "N
passed, N failed"; lines that begin with "note" have the counts.
"""
import argparse
import os
import signal
import subprocess
import sys

import faults
import foreign
import graphs
import models

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "conformance"))
import run_cases as conformance

KNOWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugins_known.tsv")
ZOO = {"mobilenet_v2": "b1", "minilm_l6": "b1s16"}
MODEL_RULE = ("scale", "1e-3", "0")
MODEL = 4  # the column of a manifest that names the model
SECONDS, CASE_SECONDS = 1200, 60  # limits for hangs: other programs may use the processors, too


class Check:
    def __init__(self, a):
        self.a, self.passed, self.failed = a, 0, 0
        self.plugin = foreign.PLUGINS[a.name]
        self.library = foreign.library(self.plugin)
        self.engines = {"retort": a.library, **({"official": a.oracle} if a.oracle else {})}
        with open(KNOWN, encoding="utf-8") as f:
            rows = [line.rstrip("\n").split("\t") for line in f.readlines()[2:]]
        self.known = {case for name, case, _ in rows if name == a.name}
        os.makedirs(a.work, exist_ok=True)

    def verdict(self, name, wrong):
        self.passed += not wrong
        self.failed += bool(wrong)
        if wrong:
            print(f"FAIL {name}: {wrong}", flush=True)

    def start(self, program, engine, arguments):
        """Runs one of the programs with the plug-in as that engine should see it; returns its exit code and output."""
        ours = engine == "retort"
        around = not ours and self.plugin.processor
        library = os.path.join(self.a.programs, "libother_processor.so") if around else self.library
        variables = {**os.environ, **foreign.variables(self.plugin), **({**self.plugin.processor, "PLUGIN_INSIDE": self.library} if around else {})}
        entries = [word for key, value in self.plugin.environment.items() for word in ("--env", f"{key}={value}")] if ours else []
        command = [os.path.join(self.a.programs, program), self.engines[engine], *arguments(library), *entries]
        with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8", errors="replace", start_new_session=True) as p:
            try:
                said, _ = p.communicate(timeout=SECONDS)
                return p.returncode, said
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)  # together with the workers of run_cases
                said, _ = p.communicate()
                return f"no result in {SECONDS} seconds", said

    def options(self):
        return [word for option in self.plugin.options for word in ("--option", option)]

    def run(self, label, engine, lines):
        """{name: (passed, class, message, nodes that the plug-in runs)} of lines of a manifest."""
        path = os.path.join(self.a.work, f"{label}.{engine}")
        with open(path + ".manifest", "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in lines)
        if os.path.exists(path + ".tsv"):
            os.remove(path + ".tsv")
        options = self.options()
        code, _ = self.start("run_cases", engine, lambda library: [path + ".manifest", path + ".tsv", "--timeout", str(CASE_SECONDS), "--provider",
                                                                   f"{self.plugin.provider}={library}", *options])
        # It does not exist if the program did not start.
        with open(path + ".tsv", "a+", encoding="utf-8", errors="replace") as f:
            f.seek(0)
            rows = [line.rstrip("\n").split("\t") for line in f]
        found = {r[0]: (r[1] == "pass", r[2], r[6], int(r[7])) for r in rows if len(r) > 7}
        if len(found) < len(lines) and engine == "retort":
            self.verdict(label, f"run_cases ended with {code} after {len(found)} of {len(lines)}")
        return found

    def cases(self):
        folder = os.path.abspath(self.a.cases)
        all_cases = [c for c in conformance.load_cases(folder) if c["kind"] not in self.plugin.leave_out]
        lines = [conformance.manifest_line(c, folder) for c in all_cases[::self.plugin.every]]
        rows = {engine: self.run("cases", engine, lines) for engine in self.engines}
        for engine, found in rows.items():
            claimed = [r for r in found.values() if r[3] > 0]
            right = sum(r[0] for r in claimed)
            print(f"note {engine}: {self.plugin.provider} takes part in {len(claimed)} of {len(lines)} cases, {right} of them pass", flush=True)
        ours, theirs = rows["retort"], rows.get("official", {})
        self.passed += sum(r[0] and r[3] > 0 for r in ours.values())
        self.verdict("cases", "" if any(r[3] > 0 for r in ours.values()) else "it takes part in none")
        for name, (ok, reason, message, _) in ours.items():
            if ok and name in self.known:
                self.verdict(name, f"passes: remove it from {os.path.basename(KNOWN)}")
            wrong = not ok and (reason in conformance.NEVER_LISTED or theirs.get(name, (False,))[0])
            if wrong and name not in self.known:
                self.verdict(name, f"{reason}: {message}")

    def faults(self):
        """What faults.py makes of a case must run and fail in official ONNX Runtime. A plug-in that cannot compile has no nodes then."""
        folder = os.path.abspath(self.a.cases)
        for case in conformance.load_cases(folder):
            name = conformance.name_of(case)
            change = faults.CHANGES.get((self.a.name, name))
            if change is None or name not in self.known or "official" not in self.engines:
                continue
            line = conformance.manifest_line(case, folder).split("\t")
            line[MODEL] = os.path.join(self.a.work, "fault.onnx")
            change(os.path.join(folder, case["dir"], "model.onnx"), line[MODEL])
            (ok, reason, message, nodes), = self.run("fault", "official", ["\t".join(line)]).values()
            print(f"note official: {name} in another form: {nodes} nodes, {reason or 'passes'}: {message}", flush=True)
            self.verdict(name, f"{change.__name__} passes in official ONNX Runtime: the fault is ours" if ok else "")

    def models(self):
        rows = models.zoo(self.a.zoo, ZOO)
        lines = ["\t".join([name, *MODEL_RULE, model, *folders]) for name, model, folders in rows]
        for engine in set(self.engines) & set(self.plugin.models_in):
            for name, (ok, reason, message, nodes) in self.run("models", engine, lines).items():
                if engine == "official":
                    print(f"note official: {name}: {nodes} nodes, {'pass' if ok else reason}")
                    continue
                taken = self.plugin.takes_models in (None, nodes > 0)
                print(f"note retort: {name}: {nodes} nodes", flush=True)
                self.verdict(name, "" if ok and taken else f"{reason or f'{nodes} nodes are claimed'}: {message}")

    def parts(self):
        """A graph with nodes between parts must run wherever it runs in official ONNX Runtime, and as many nodes with the
        plug-in."""
        rows = graphs.write(os.path.join(self.a.work, "graphs"), graphs.PARTED_GRAPHS)
        for _, model, folders in rows:
            models.expect(model, folders)
        lines = ["\t".join([name, *MODEL_RULE, model, *folders]) for name, model, folders in rows]
        found = {engine: self.run("parts", engine, lines) for engine in self.engines}
        for name, (ok, reason, message, nodes) in found["retort"].items():
            passes, _, _, expected = found.get("official", {}).get(name, (False, "", "", 0))
            print(f"note graph '{name}': {nodes} nodes here, {expected} in official ONNX Runtime", flush=True)
            self.verdict(name, "" if ok and nodes >= expected or not passes else f"{reason or f'{nodes} of {expected} nodes are claimed'}: {message}")

    def uses(self):
        """A line "ok" counts as passed, a line "FAIL" or a crash as failed. Results of official ONNX Runtime are
        only printed."""
        ((_, model, _),) = graphs.write(os.path.join(self.a.work, "graphs"), {self.plugin.used: graphs.GRAPHS[self.plugin.used]})
        for engine in self.engines:
            code, said = self.start("plugin_uses", engine, lambda library: [library, self.plugin.provider, model, *self.options(), *(["--keeps"] if engine == "retort" else [])])
            lines = said.splitlines()
            print(f"note {engine}: {', '.join(lines)}{f' (ended with {code})' if code else ''}", flush=True)
            if engine != "retort":
                continue
            self.passed += sum(line.startswith("ok ") for line in lines)
            for line in lines:
                if line.startswith("FAIL "):
                    self.verdict("use", line.partition(" ")[2])
            if code and not any(line.startswith("FAIL ") for line in lines):
                self.verdict("use", f"plugin_uses ended with {code} after: {lines[-1] if lines else 'nothing'}")


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    ap.add_argument("name", choices=foreign.PLUGINS)
    ap.add_argument("library")
    ap.add_argument("--oracle", default="")
    ap.add_argument("--programs", required=True, help="folder of run_cases, plugin_uses and libother_processor.so")
    ap.add_argument("--cases", required=True)
    ap.add_argument("--zoo", required=True, help="folder for the models, made if it does not exist")
    ap.add_argument("--work", required=True)
    a = ap.parse_args()
    why = foreign.missing(a.name)
    if why:
        print(f"note skipped: {why}\n0 passed, 0 failed, 1 skipped")
        return 0
    c = Check(a)
    c.uses()
    c.parts()
    c.cases()
    c.faults()
    c.models()
    print(f"{c.passed} passed, {c.failed} failed")
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
