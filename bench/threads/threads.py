#!/usr/bin/env python3
"""Runs models in many fresh processes, and prints how far whole processes differ: the slowest over the median, for each
library, whose processes alternate.

    threads.py ZOO --tool RETORT --library NAME=FILE [--library NAME=FILE ...] [--mode MODE ...] [--processes N]
               [--seconds X] [--json FILE] [SCENARIO ...]

ZOO: a folder with index.json, as make zoo writes it. SCENARIO: a glob of names. MODE: a number of threads, with "+half"
if another process is to use half a processor meanwhile. A process during which the host took more than --stolen of the
processors' time is repeated. The first library is the one that is judged: the exit code is 1 if its slowest process is
beyond --target times its median and beyond the spread of the second library.
"""
import argparse
import contextlib
import fnmatch
import json
import os
import statistics
import subprocess
import sys

MODES = ("2", "2+half", "4")
SCENARIOS = ("efficientnet_b0/b1", "resnet50/b1", "mobilenet_v2/b1", "bert_base/b8s128", "minilm_l6/b1s128", "gpt2_small/decode_p511", "dlrm/b2048", "yolov8n_like/b1")
LEAST_RUNS, MOST_RUNS = 5, 2000
HALF = """
import time
while True:
    until = time.perf_counter() + 0.005
    while time.perf_counter() < until:
        pass
    time.sleep(0.005)
"""


class Wrong(Exception):
    """An error message for the user; the exit code is 2."""


def find_scenarios(zoo, globs):
    """Scenarios whose runs are independent of each other."""
    try:
        with open(os.path.join(zoo, "index.json"), encoding="utf-8") as f:
            rows = json.load(f)
    except (OSError, ValueError) as e:
        raise Wrong(f"{zoo} has no index.json that can be read ({e}); make zoo writes one") from e
    found = {f"{r['model']}/{r['scenario']}": (os.path.join(zoo, r["path"]), os.path.join(zoo, r["inputs"])) for r in rows if not r.get("hand_back")}
    chosen = {name: files for name, files in found.items() if any(fnmatch.fnmatch(name, g) for g in globs)}
    if not chosen:
        raise Wrong(f"no scenario matches {' '.join(globs)}; there are {', '.join(sorted(found))}")
    return chosen


def processor_time(text=None):
    """Time that the host has taken from all processors, and all time, in ticks."""
    if text is None:
        with open("/proc/stat", encoding="ascii") as f:
            text = f.readline()
    times = [int(word) for word in text.split()[1:9]]
    return times[7], sum(times)


@contextlib.contextmanager
def company(mode):
    """Another process that uses half a processor, if the mode asks for that."""
    if not mode.endswith("+half"):
        yield
        return
    other = subprocess.Popen([sys.executable, "-c", HALF])
    try:
        yield
    finally:
        other.kill()
        other.wait()


def run_process(tool, library, files, threads, runs):
    """The median of the runs of one process, in milliseconds."""
    command = [tool, "run", files[0], "--inputs", files[1], "--threads", str(threads), "--repeat", str(runs), "--library", library, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    if done.returncode:
        raise Wrong(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["runs"]["median_ms"]


class Processes:
    """The processes of one scenario in one mode."""

    def __init__(self, measure, stolen, clock=processor_time):
        self.measure, self.stolen, self.clock = measure, stolen, clock
        self.repeated = 0

    def one(self, library):
        """A process from which the host took little time; of many that all lost more, the last."""
        for _ in range(10):
            before = self.clock()
            ms = self.measure(library)
            after = self.clock()
            if after[0] - before[0] <= self.stolen * (after[1] - before[1]):
                break
            self.repeated += 1
        return ms

    def all(self, libraries, count):
        """{library: milliseconds of each process}; each library is first equally often."""
        times = {name: [] for name in libraries}
        for i in range(count):
            order = list(libraries) if i % 2 == 0 else list(libraries)[::-1]
            for name in order:
                times[name].append(self.one(libraries[name]))
        return times


def figures(times):
    middle = statistics.median(times)
    return {"median_ms": middle, "slowest": max(times) / middle, "fastest": min(times) / middle, "ms": times}


def misses(found, target):
    """Whether the first library's slowest process is too far from its median."""
    judged, *others = found.values()
    return judged["slowest"] > max([target] + [other["slowest"] for other in others[:1]])


def line(name, found):
    cells = "".join(f"{f['median_ms']:12.3f}{f['slowest']:7.2f}{f['fastest']:7.2f}" for f in found.values())
    first, *others = [f["median_ms"] for f in found.values()]
    return f"{name:28}{cells}" + "".join(f"{other / first:8.2f}" for other in others)


def head(mode, libraries):
    first, *others = libraries
    return f"{'threads ' + mode:28}" + "".join(f"{name[:11]:>12}{'slow':>7}{'fast':>7}" for name in libraries) + "".join(f"{'/' + first[:6]:>8}" for _ in others)


def runs_for(a, measure):
    """As many runs as take about the wanted time."""
    ms = max(measure(library, LEAST_RUNS) for library in a.library.values())
    return int(min(max(1000 * a.seconds / ms, LEAST_RUNS), MOST_RUNS))


def measure_mode(a, mode, scenarios):
    """{scenario: {library: figures}}, and the scenarios that miss the target."""
    threads, results, missed = int(mode.split("+")[0]), {}, []
    print(head(mode, a.library), flush=True)
    for name, files in scenarios.items():
        with company(mode):
            measure = lambda library, runs: run_process(a.tool, library, files, threads, runs)
            runs = runs_for(a, measure)
            processes = Processes(lambda library: measure(library, runs), a.stolen)
            results[name] = {library: figures(times) for library, times in processes.all(a.library, a.processes).items()}
        missed += [f"{name} ({mode})"] if misses(results[name], a.target) else []
        print(line(name, results[name]) + (f"  {processes.repeated} repeated" if processes.repeated else ""), flush=True)
    return results, missed


def named_library(text):
    name, found, path = text.partition("=")
    if not found or not os.path.exists(path):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=FILE with a file that exists")
    return name, path


def mode(text):
    number = text.removesuffix("+half")
    if not number.isdigit() or not 1 <= int(number) <= 1024:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of threads, with or without +half")
    return text


def arguments(words=None):
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("zoo")
    ap.add_argument("scenarios", nargs="*", default=[])
    ap.add_argument("--tool", required=True)
    ap.add_argument("--library", action="append", type=named_library, required=True, metavar="NAME=FILE")
    ap.add_argument("--mode", action="append", type=mode)
    ap.add_argument("--processes", type=int, default=30)
    ap.add_argument("--seconds", type=float, default=0.5, help="time of the runs of a process (default: 0.5)")
    ap.add_argument("--stolen", type=float, default=0.01, help="share of the processors' time (default: 0.01)")
    ap.add_argument("--target", type=float, default=1.15)
    ap.add_argument("--json", default="", help="also write the figures to this file")
    a = ap.parse_intermixed_args(words)
    a.library = dict(a.library)
    return a


def main():
    a = arguments()
    try:
        scenarios = find_scenarios(a.zoo, a.scenarios or SCENARIOS)
        results, missed = {}, []
        for m in a.mode or MODES:
            results[m], some = measure_mode(a, m, scenarios)
            missed += some
    except Wrong as e:
        print(f"threads.py: {e}", file=sys.stderr)
        return 2
    print(f"median of {a.processes} processes in ms; slow, fast: the slowest and the fastest over the median; last columns: the other medians over the first")
    print(f"beyond {a.target} and the spread of the second library: {', '.join(missed) or 'none'}")
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
