#!/usr/bin/env python3
"""Tests the CUDA provider on the stand-ins of software/, in this engine and in official ONNX Runtime.

    check_cuda.py LIBRARY --oracle LIB --tool RUN_CASES --retort RETORT --provider CUDAExecutionProvider=PLUGIN
                  --software DIR --cases DIR --work DIR [--gpu]

The official cases, graphs and models are those of tests/providers/check_provider.py. Some run again with work that is
delayed at random, so that a missing order between streams shows. The other checks of this folder run as well. The last
line is "N passed, N failed, N skipped". --gpu: on a GPU with NVIDIA's libraries, without what only the stand-ins can do.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

import onnxruntime

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "providers"))
import check_provider as base  # noqa: E402
import graphs  # noqa: E402
import models  # noqa: E402

conformance = base.conformance
NAME = "CUDAExecutionProvider"
OPTIONS = ("use_tf32=0",)
DELAY = {"SOFTWARE_CUDA_DELAY_US": "300"}
DELAYED = 8  # every eighth case also runs delayed
ZOO = {"mobilenet_v2": "b1", "minilm_l6": "b1s16"}
LEAKS = ("residual", "attention", "gelu")
# Cases that fail for a reason that is not the provider's, by engine ("" for both).
KNOWN = {
    ("", "light/test_vgg19"): "its 20 billion products take too long in plain loops",
    ("", "node/test_attention_4d_causal_fp16_expanded"): "intermediate results are not rounded to 16 bits; two of 192 differ by 1.2 tolerances",
    ("", "node/test_dft_inverse"): "expected are 1.9e-7, with a tolerance of 1e-7, where the exact result is 0",
    ("", "node/test_dft_inverse_opset19"): "as node/test_dft_inverse",
    # Its search on the CPU takes memory of the provider of this name, whichever it is, and reads it as the host's.
    ("official", "search/greedy_shared"): "memory of a device is read by the host",
    ("official", "search/beams_shared"): "memory of a device is read by the host",
    ("official", "search/beams_beamed"): "memory of a device is read by the host",
}
base.PROVIDERS[NAME] = {"least": 1400, "has": {"empty"}, "nothing": set()}
COUNTED = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
WRONG = {"thread=1": "'thread'", "device_id=7": "'device_id'", "use_tf32=maybe": "'use_tf32'", "sdpa_kernel=flash": "'sdpa_kernel'"}


class Check(base.Check):
    """Some of the checks; `engine`: on one engine only."""

    def __init__(self, a, engine=None):
        super().__init__(a)
        self.engines = {name: library for name, library in self.engines.items() if engine in (None, name)}
        self.plugin = os.path.abspath(a.provider.partition("=")[2])
        self.software = {} if a.gpu else {"RETORT_CUDA_LIBRARIES": os.path.abspath(a.software)}

    def run(self, label, library, lines, *options, provider=True, env=None):
        engine = label.rpartition(".")[2]
        lines = [line for line in lines if not {("", line.split("\t")[0]), (engine, line.split("\t")[0])} & KNOWN.keys()]
        return super().run(label, library, lines, *(options or OPTIONS), provider=provider, env={**self.software, **(env or {})})

    def delayed(self):
        folder = os.path.abspath(self.a.cases)
        lines = [conformance.manifest_line(c, folder) for c in conformance.load_cases(folder)][::DELAYED]
        for engine, library in self.engines.items():
            late = self.run("delayed." + engine, library, lines, env=DELAY)
            again = self.run("prompt." + engine, library, [line for line in lines if not late.get(line.split("\t")[0], [True])[0]])
            for name, row in again.items():
                if row[0]:
                    self.verdict(f"{engine} delayed {name}", f"{late[name][1]}: {late[name][2]}")
            self.passed += sum(r[0] and r[3] > 0 for r in late.values())

    def models(self):
        self.hold("model", models.zoo(os.path.join(self.a.work, "zoo"), ZOO), base.MODEL_RULE)

    def options(self):
        at = os.path.join(self.a.work, "graphs", "residual")
        line = "\t".join(["one", *base.GRAPH_RULE, os.path.join(at, "model.onnx"), os.path.join(at, "0")])
        for engine, library in self.engines.items():
            for option, message in WRONG.items():
                ok, reason, said, *_ = self.run("wrong." + engine, library, [line], option)["one"]
                self.verdict(f"{engine} option {option}", "" if not ok and message in said else f"{reason}: {said}")

    def in_process(self):
        at = os.path.join(self.a.work, "graphs")
        for engine, library in self.engines.items():
            if not self.a.gpu:  # the stand-ins count what is alive
                self.program(f"{engine} leaks", "in_process.py", "leaks", library, self.plugin, self.a.software, *(os.path.join(at, g) for g in LEAKS))
            self.program(f"{engine} absent", "in_process.py", "absent", library, self.plugin, os.path.join(at, "residual"))
            self.program(f"{engine} lacking", "in_process.py", "lacking", library, self.plugin, self.a.software, os.path.join(at, "attention"))

    def attention(self):
        self.program("attention", "check_attention.py", "--tool", self.a.retort, "--plugin", self.plugin, "--work", self.place("attention"),
                     "--options", *OPTIONS)
        self.program("attention by cuDNN", "check_attention.py", "--tool", self.a.retort, "--plugin", self.plugin, "--work", self.place("attention_dnn"),
                     "--options", ",".join([*OPTIONS, "sdpa_kernel=8"]), "--only", "16")

    def convolutions(self):
        self.program("convolutions", "check_convolutions.py", "--tool", self.a.retort, "--plugin", self.plugin, "--work", self.place("convolutions"))

    def elementwise(self):
        self.program("elementwise", "check_elementwise.py", "--tool", self.a.tool, "--library", self.a.library, "--plugin", self.plugin,
                     "--work", self.place("elementwise"), "--quick")

    def nbits(self):
        self.program("nbits", "check_nbits.py", "--tool", self.a.retort, "--plugin", self.plugin, "--work", self.place("nbits"))

    def runs(self):
        """With official ONNX Runtime."""
        self.program("runs", "check_runs.py", "--plugin", self.plugin)
        self.program("runs without a driver", "check_runs.py", "--plugin", self.plugin, "--without-driver", RETORT_CUDA_LIBRARIES="/nothing",
                     CUDA_VISIBLE_DEVICES="")
        self.program("races", "check_races.py", "--plugin", self.plugin, "--seconds", "5", **DELAY)
        self.program("shared cache", "check_shared_cache.py", "--plugin", self.plugin)
        if not self.a.gpu:
            self.program("float8", "check_float8.py", "--plugin", self.plugin)

    def place(self, name):
        return os.path.join(self.a.work, name)

    def program(self, label, file, *arguments, **environment):
        """Runs another check of this folder, and adds its counts."""
        command = [sys.executable, os.path.join(ROOT, "tests", "cuda", file), *arguments]
        env = {**os.environ, **self.software, "RETORT_LIBRARY": os.path.abspath(self.a.library), **environment}
        with open(self.place(f"{label}.log"), "w+", encoding="utf-8") as log:
            code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=env, check=False).returncode
            log.seek(0)
            said = log.read().splitlines()
        counted = COUNTED.findall("\n".join(said))
        passed, failed, skipped = (int(n or 0) for n in counted[-1]) if counted else (0, 0, 0)
        failed += not counted or (code != 0 and failed == 0)
        bad = [line for line in said if line.startswith("FAIL")] or (said[-5:] if failed else [])
        for line in bad:
            print(f"FAIL {label}: {line.removeprefix('FAIL ')}")
        self.passed, self.failed, self.skipped = self.passed + passed, self.failed + failed, self.skipped + skipped

    def at_once(self):
        os.environ.update(self.software)
        super().at_once()

    def provider_options(self):
        return dict(option.split("=") for option in OPTIONS)

    def shapes(self):
        ((name, model, folders),) = graphs.write(os.path.join(self.a.work, "wrong_shapes"), {"wrong": graphs.WRONG_SHAPES})
        for engine, library in self.engines.items():
            ok, reason, said, *_ = self.run("shapes." + engine, library, ["\t".join([name, *base.GRAPH_RULE, model, *folders])])[name]
            self.verdict(f"{engine} wrong shapes", "" if not ok and "shapes [2,3] and [4,5] do not broadcast" in said else f"{reason}: {said}")


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("tool", "retort", "provider", "software", "cases", "work"):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("library")
    ap.add_argument("--oracle", default="")
    ap.add_argument("--only", nargs="*", default=[], help="parts, for a shorter run")
    ap.add_argument("--gpu", action="store_true")
    a = ap.parse_args()
    os.environ["XDG_CACHE_HOME"] = os.path.abspath(os.path.join(a.work, "cache"))  # of kernels
    onnxruntime.set_default_logger_severity(3)
    # Graphs first: others use their files. The longest parts begin first, then as many at once as there are processors.
    jobs = [("cases", "retort"), ("cases", "official"), ("convolutions", None), ("attention", None), ("elementwise", None), ("models", None), ("nbits", None),
            ("delayed", "retort"), ("delayed", "official"), ("in_process", None), ("options", None), ("shapes", None), ("runs", "official")]
    checks = []

    def work(job):
        part, engine = job
        checks.append(Check(a, engine))
        getattr(checks[-1], part)()

    chosen = [job for job in jobs if (not a.only or job[0] in a.only) and (a.oracle or job[1] != "official") and not (a.gpu and job[0] == "delayed")]
    work(("graphs", None))
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(work, chosen))
    if a.oracle and (not a.only or "at_once" in a.only):
        work(("at_once", "official"))
    print("{} passed, {} failed, {} skipped".format(*(sum(getattr(c, k) for c in checks) for k in ("passed", "failed", "skipped"))))
    return 1 if any(c.failed for c in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
