"""The figures of bench.py: each function measures both packages in turn, {"official": seconds, "ours": seconds}."""
import gc
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time

import methods
import models
import numpy as np

PACKAGES = {"official": "onnxruntime", "ours": "retort"}
BLOCK_SECONDS = 0.02


def session(package, model, threads=1):
    options = package.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return package.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def alternate(calls, rounds, block_seconds=BLOCK_SECONDS, pause=0):
    """The median of the time of a call over blocks that alternate: what disturbs the machine disturbs all.

    With more than one thread, there has to be a pause in seconds before each block: the threads of the official package spin for a while
    after their last run, and would take a processor away from the other package."""
    counts, times = {}, {name: [] for name in calls}
    for name, call in calls.items():
        start, count = time.perf_counter(), 0
        while count < 3 or time.perf_counter() - start < block_seconds:
            call()
            count += 1
        counts[name] = count
    gc.disable()
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(pause)
            start = time.perf_counter()
            for _ in range(counts[name]):
                call()
            times[name].append((time.perf_counter() - start) / counts[name])
    gc.enable()
    return {name: statistics.median(values) for name, values in times.items()}


def both():
    """The two packages, in one process."""
    import onnxruntime
    import retort
    return {"official": onnxruntime, "ours": retort}


def run_of_four(rounds):
    """session.run of one Add of four floats."""
    x = np.ones(4, np.float32)
    sessions = {name: session(package, models.add()) for name, package in both().items()}
    return alternate({name: lambda s=s: s.run(None, {"x": x}) for name, s in sessions.items()}, rounds)


def run_bound(rounds):
    """The same, bound: `run_with_iobinding` of both, and `run` of the binding that only ours has."""
    calls, kept = {}, []
    for name, package in both().items():
        s = session(package, models.add())
        x, y = (package.OrtValue.ortvalue_from_numpy(np.ones(4, np.float32)) for _ in range(2))
        binding = s.io_binding()
        binding.bind_ortvalue_input("x", x)
        binding.bind_ortvalue_output("y", y)
        calls[name] = lambda s=s, b=binding: s.run_with_iobinding(b)
        kept += [x, y]
        if name == "ours":
            short = s.bind(x=np.ones(4, np.float32), y=np.empty(4, np.float32))
            calls["ours, binding.run()"] = short.run
    return alternate(calls, rounds)


def run_of_100_mib(rounds):
    """session.run of one operator of 100 MiB, from array to array, with two threads; the copies that our ledger lists."""
    x = np.random.default_rng(0).standard_normal(25 * 1024 * 1024, np.float32)
    found = {"copied bytes": 0}
    for operator in ("Identity", "Relu", "Neg"):
        sessions = {name: session(package, models.of_one(operator), 2) for name, package in both().items()}
        times = alternate({name: lambda s=s: s.run(None, {"x": x}) for name, s in sessions.items()}, max(5, rounds // 5), pause=0.05)
        found |= {f"{operator}, {name}": seconds for name, seconds in times.items()}
        found["copied bytes"] += sessions["ours"].copies().total_bytes
    return found


def small_calls(rounds):
    """Each method of values, bindings and options: {method: {package: seconds}}."""
    packages = both()
    for package in packages.values():
        package.set_default_logger_severity(4)  # the official package warns of entries that are set twice
    calls = {name: methods.all_of(package, session(package, models.add())) for name, package in packages.items()}
    return {method: alternate({name: of[method] for name, of in calls.items()}, max(15, rounds // 5), 0.002) for method in calls["ours"]}


def in_new_process(code, *arguments):
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, encoding="utf-8", check=True, cwd="/")
    return json.loads(done.stdout.splitlines()[-1])


START = """
import json, sys, time, importlib, numpy
begun = time.perf_counter()
package = importlib.import_module(sys.argv[1])
loaded = time.perf_counter()
package.InferenceSession(sys.argv[2], providers=["CPUExecutionProvider"])
print(json.dumps([loaded - begun, time.perf_counter() - begun]))
"""


def start(rounds):
    """Import with numpy loaded already, and import with the first session of a model of 8 MB; the fastest of new processes."""
    times = {name: [] for name in PACKAGES}
    for _ in range(max(5, rounds // 5)):
        for name, package in PACKAGES.items():
            times[name].append(in_new_process(START, package, models.layers()))
    return {f"{name}{what}": min(row[i] for row in rows) for name, rows in times.items() for i, what in enumerate((" import", ""))}


INTERRUPT = """
import json, sys, time, importlib, os, signal, threading, numpy
package = importlib.import_module(sys.argv[1])
options = package.SessionOptions()
options.intra_op_num_threads = 1
session = package.InferenceSession(sys.argv[2], options, providers=["CPUExecutionProvider"])
a = numpy.ones((int(sys.argv[3]),) * 2, numpy.float32)
sent = []
def send():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.5, send).start()
begun = time.perf_counter()
try:
    session.run(None, {"a": a, "b": a})
    late = True
except KeyboardInterrupt:
    late = False
try:
    print(json.dumps([time.perf_counter() - sent[0], time.perf_counter() - begun]))
except KeyboardInterrupt:  # it comes when the run is over
    print(json.dumps([time.perf_counter() - sent[0], time.perf_counter() - begun]))
"""


def interrupt(_):
    """From Ctrl-C, sent half a second after the start of a product of three seconds, until Python goes on."""
    size = models.slow_product_size(session(both()["ours"], models.product()))
    return {name: in_new_process(INTERRUPT, package, models.product(), str(size))[0] for name, package in PACKAGES.items()}


def main():
    """figures.py NAME ROUNDS: measures in this process and prints the result."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.current_thread().name = "measure"
    os.environ.setdefault("ORT_LOG_SEVERITY_LEVEL", "3")
    print(json.dumps(globals()[sys.argv[1]](int(sys.argv[2]))))


if __name__ == "__main__":
    main()
