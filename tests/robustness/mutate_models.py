#!/usr/bin/env python3
"""Load and run mutated models: whatever a file contains, the engine returns a result or an error.

    mutate_models.py --library LIB --cases DIR [--seed N] [--count N] [--only REGEX] [--keep DIR]

DIR is filled by tests/conformance/export_cases.py if it does not exist. Each mutant is loaded, and run with the inputs
of the case it was made from, in a forked process under limits of processor time (--time-s; ten times as long by the
clock) and of address space (--mem-mib more than before; 0: none, as sanitizers need). It fails if that process crashes
or does not finish in time, if it loads data from outside of the model's folder, or if it is an unchanged model that
does not run, unless ../conformance/expected_failures.tsv lists it. Same seed and onnx release: same mutants. Failing
ones are stored in the folder --keep. The last line is "N passed, N failed".
"""
import argparse
import collections
import json
import math
import os
import random
import re
import resource
import select
import signal
import sys
import tempfile
import time

import onnx
from onnx import SequenceProto, TensorProto, numpy_helper

from engine import Engine
from mutations import MUTATIONS, Base

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, os.pardir), os.path.join(HERE, os.pardir, "conformance")]
from c_api import ApiError  # noqa: E402
from run_cases import load_cases  # noqa: E402
SUPPORTED = {TensorProto.DataType.Value(n) for n in "FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 BOOL FLOAT16 DOUBLE UINT32 UINT64 BFLOAT16".split()}
OUT_OF_MEMORY = re.compile(r"bad_alloc|[Oo]ut of memory|[Ff]ailed to allocate")
SLOWEST = 10  # the time limit by the clock, per second of processor time
MAX_BYTES = 8 << 20
RECURSION_INPUT = [("x", (TensorProto.FLOAT, [2], bytes(8)))]


def read_file(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def read_bases(cases):
    """{name: Base} of the cases that bases.txt lists."""
    index = {c["dir"]: c for c in load_cases(cases)}
    bases = {}
    for name in read_file(HERE, "bases.txt").decode().split():
        inputs = {}
        data = index[name]["data_sets"][0]
        for v in data["inputs"]:
            raw = read_file(cases, data["dir"], v["file"])
            if v["type"] == "tensor":
                inputs[v["name"]] = TensorProto.FromString(raw)
            elif v["type"] == "sequence":
                inputs[v["name"]] = list(SequenceProto.FromString(raw).tensor_values)
        ort = os.path.join(HERE, "ort", name.replace("/", "-") + ".ort")
        bases[name] = Base(read_file(cases, name, "model.onnx"), inputs, read_file(ort) if os.path.exists(ort) else b"")
    return bases


def mutants(bases, seed, count):
    """Yields (id, class, base name, mutation, bytes); unchanged models first."""
    for i, (name, base) in enumerate(bases.items()):
        yield f"c{i:03}", "unchanged", name, "", base.raw
        if base.ort:
            yield f"o{i:03}", "unchanged", name, "in ORT format", base.ort
    r, total = random.Random(seed), sum(share for share, _ in MUTATIONS.values())
    plan = [cls for cls, (share, _) in MUTATIONS.items() for _ in range(round(count * share / total))]
    for i, cls in enumerate(plan):
        result = None
        while not result or len(result[0]) > MAX_BYTES:
            name = r.choice(list(bases))
            try:
                result = MUTATIONS[cls][1](r, bases[name])
            except (ValueError, TypeError, IndexError):  # protobuf for Python rejects it
                result = None
        yield f"{seed}.{i:04}", cls, name, result[1], result[0]


def make_traps(folder):
    """Makes files that a model in `folder`/models may read, and files that it must not read."""
    models = os.path.join(folder, "models")
    os.makedirs(models)
    for path, content in ((os.path.join(folder, "outside.bin"), b"\x42"), (os.path.join(models, "inside.bin"), b"\x01")):
        with open(path, "wb") as f:
            f.write(content * 4096)
    os.symlink(os.path.join("..", "outside.bin"), os.path.join(models, "link.bin"))
    os.mkfifo(os.path.join(models, "fifo.bin"))
    return models


def tensor_for(proto):
    return proto.data_type, list(proto.dims), numpy_helper.to_array(proto).tobytes()


def inputs_for(cls, base, raw):
    """The inputs for the mutant: those that it still has, in the form of Engine.run(). None: it cannot be run."""
    if cls == "recursion":
        return RECURSION_INPUT
    try:
        graph = onnx.load_model_from_string(raw).graph
        baked = {t.name for t in graph.initializer}
        given = [(i.name, base.inputs[i.name]) for i in graph.input if i.name in base.inputs and i.name not in baked]
    except Exception:  # any error of protobuf for Python about a broken file
        given = list(base.inputs.items())
    if any(t.data_type not in SUPPORTED for _, v in given for t in (v if isinstance(v, list) else [v])):
        return None
    return [(name, [tensor_for(t) for t in v] if isinstance(v, list) else tensor_for(v)) for name, v in given]


def limit_memory(mib):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not mib:
        return
    with open("/proc/self/statm", encoding="ascii") as f:
        used = int(f.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (mib << 20),) * 2)


def answer(engine, path, inputs, args):
    """In the child: (outcome, message)."""
    limit_memory(args.mem_mib)
    # Other programs may use the processors, too.
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(args.time_s), math.ceil(args.time_s) + 1))
    stage = "load"
    try:
        engine.load(path)
        stage = "run"
        if inputs is not None:
            engine.run(inputs)
        return "ok", ""
    except (ApiError, MemoryError) as e:
        memory = isinstance(e, MemoryError) or OUT_OF_MEMORY.search(str(e))
        return ("out-of-memory" if memory else stage + "-error"), str(e)


def child(write_end, errors, engine, path, inputs, args):
    for target in (1, 2):
        os.dup2(errors.fileno(), target)
    try:
        os.write(write_end, json.dumps(answer(engine, path, inputs, args)).encode()[:60000])
        os._exit(0)
    except BaseException:  # the parent's code must not run in the child
        os._exit(99)


def read_answer(read_end, seconds):
    """The bytes until the child closes its end; None if it does not in time."""
    data, end = b"", time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([read_end], [], [], left)[0]:
            return None
        part = os.read(read_end, 65536)
        if not part:
            return data
        data += part


def attempt(engine, path, inputs, args):
    """(outcome, message) of one mutant in a separate process."""
    read_end, write_end = os.pipe()
    with tempfile.TemporaryFile() as errors:
        pid = os.fork()
        if pid == 0:
            child(write_end, errors, engine, path, inputs, args)
        os.close(write_end)
        data = read_answer(read_end, SLOWEST * args.time_s)
        os.close(read_end)
        if data is None:
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        if data is None:
            return "hang", f"no result within {SLOWEST * args.time_s:g} s"
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            return "hang", f"no result within {args.time_s:g} s of processor time"
        if data:
            try:
                return tuple(json.loads(data))
            except ValueError:
                return "load-error", data.decode("utf-8", "replace")  # a message of more than 60,000 bytes was cut
        errors.seek(0)
        end = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
        return "crash", f"{end} {errors.read()[-4000:].decode('utf-8', 'replace')}"


def verdict(cls, base, done, outcome, known):
    """The reason for a failure, or ''."""
    if outcome in ("crash", "hang"):
        return outcome
    if cls == "unchanged" and outcome != "ok" and base not in known:
        return "an unchanged model does not run"
    if done.startswith("escape") and outcome in ("ok", "run-error"):
        return "data from outside of the model's folder"
    return ""


def parse_arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--library", required=True)
    ap.add_argument("--cases", required=True)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--count", type=int, default=2000)
    ap.add_argument("--only", default="", help="regular expression on 'id class base'")
    ap.add_argument("--time-s", type=float, default=10)
    ap.add_argument("--mem-mib", type=int, default=1024)
    ap.add_argument("--keep", default="", help="folder for failing mutants")
    return ap.parse_args()


def main():
    args = parse_arguments()
    engine, bases = Engine(args.library), read_bases(args.cases)
    known = {row.split("\t")[0] for row in read_file(HERE, "..", "conformance", "expected_failures.tsv").decode().splitlines()}
    counts, failed = collections.defaultdict(collections.Counter), 0
    with tempfile.TemporaryDirectory() as folder:
        models = make_traps(folder)
        for name, cls, base, done, raw in mutants(bases, args.seed, args.count):
            if args.only and not re.search(args.only, f"{name} {cls} {base}"):
                continue
            path = os.path.join(models, "mutant.onnx")
            with open(path, "wb") as f:
                f.write(raw)
            outcome, message = attempt(engine, path, inputs_for(cls, bases[base], raw), args)
            counts[cls][outcome] += 1
            why = verdict(cls, base, done, outcome, known)
            if why:
                failed += 1
                print(f"FAIL {name} {cls} of {base} ({done}): {why}: {message}", flush=True)
                if args.keep:
                    os.makedirs(args.keep, exist_ok=True)
                    os.replace(path, os.path.join(args.keep, name + ".onnx"))
    for cls, c in counts.items():
        print(f"{cls:14}" + ", ".join(f"{n} {outcome}" for outcome, n in sorted(c.items())))
    total = sum(sum(c.values()) for c in counts.values())
    print(f"{total - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
