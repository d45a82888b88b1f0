#!/usr/bin/env python3
"""Run the zoo's models on an engine library and compare the outputs with those of ONNX Runtime.

    agree.py LIB --zoo ZOO --tool RUN_CASES [NAME ...] [--threads N] [--repeat N] [--json FILE]

ZOO is the output folder of build_zoo.py; RUN_CASES is the program of tests/conformance. A NAME is a model or
model/scenario and may be a glob. Outputs of ONNX Runtime (one thread) are stored in ZOO/expected, and made if they are
missing. An output agrees if no element is farther from ONNX Runtime's than the model's tolerance times the standard
deviation of that output; integers, booleans and strings must be equal. The tolerance is 1e-3, except if the model
itself rounds to few bits (recipes.json).

The table has the worst error divided by the allowed one, and the milliseconds to load and of the fastest run. The last
line is "N passed, N failed".
"""
import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

def read_index(zoo, names):
    """(model, scenario, tolerance) of the scenarios that match the names"""
    with open(os.path.join(zoo, "index.json"), encoding="utf-8") as f:
        rows = json.load(f)
    wanted = [(r["model"], r["scenario"], r["tolerance"]) for r in rows if not r.get("hand_back")]
    if names:
        wanted = [w for w in wanted if any(fnmatch.fnmatch(w[0], n) or fnmatch.fnmatch("/".join(w[:2]), n) for n in names)]
    return wanted


def make_reference(zoo, model, scenario):
    """Writes ZOO/expected/MODEL/SCENARIO/output_K.pb with ONNX Runtime."""
    import numpy as np
    import onnxruntime as ort
    from onnx import TensorProto, numpy_helper
    feed = {}
    inputs = os.path.join(zoo, "inputs", model, scenario)
    for name in os.listdir(inputs):
        tensor = TensorProto()
        with open(os.path.join(inputs, name), "rb") as f:
            tensor.ParseFromString(f.read())
        array = numpy_helper.to_array(tensor)
        feed[tensor.name] = array.astype(object) if tensor.data_type == TensorProto.STRING else array
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = ort.InferenceSession(os.path.join(zoo, "models", model + ".onnx"), options, providers=["CPUExecutionProvider"])
    folder = os.path.join(zoo, "expected", model, scenario)
    os.makedirs(folder, exist_ok=True)
    for k, (port, value) in enumerate(zip(session.get_outputs(), session.run(None, feed))):
        with open(os.path.join(folder, f"output_{k}.pb"), "wb") as f:
            f.write(numpy_helper.from_array(np.asarray(value), port.name).SerializeToString())


def data_set(zoo, model, scenario, scratch):
    """A folder with the scenario's input_K.pb and output_K.pb, as links."""
    expected = os.path.join(zoo, "expected", model, scenario)
    if not os.path.isdir(expected):
        print(f"reference of {model}/{scenario} ...", file=sys.stderr)
        make_reference(zoo, model, scenario)
    folder = os.path.join(scratch, model, scenario)
    os.makedirs(folder)
    for source in (os.path.join(zoo, "inputs", model, scenario), expected):
        for name in os.listdir(source):
            os.symlink(os.path.join(source, name), os.path.join(folder, name))
    return folder


def run(a, wanted, scratch):
    """rows of run_cases: name, status, class, worst, load_ms, run_ms, message"""
    manifest, results = os.path.join(scratch, "manifest.tsv"), os.path.join(scratch, "results.tsv")
    with open(manifest, "w", encoding="utf-8") as f:
        for model, scenario, tolerance in wanted:
            path = os.path.join(a.zoo, "models", model + ".onnx")
            folder = data_set(a.zoo, model, scenario, scratch)
            f.write("\t".join([f"{model}/{scenario}", "scale", repr(tolerance), "0", path, folder]) + "\n")
    command = [a.tool, a.library, manifest, results, "--threads", str(a.threads), "--repeat", str(a.repeat), "--timeout", "300"]
    subprocess.run(command, check=True)
    with open(results, encoding="utf-8", errors="replace") as f:
        return [line.rstrip("\n").split("\t") for line in f]


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("library")
    ap.add_argument("names", nargs="*")
    ap.add_argument("--zoo", default="build/zoo")
    ap.add_argument("--tool", default="build/release/run_cases")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--repeat", type=int, default=3)
    ap.add_argument("--json", default="", help="also write the rows to this file")
    a = ap.parse_args()
    a.zoo = os.path.abspath(a.zoo)
    with tempfile.TemporaryDirectory() as scratch:
        rows = run(a, read_index(a.zoo, a.names), scratch)
    print(f"{'model/scenario':34}{'error':>9}{'load ms':>10}{'run ms':>10}  result")
    for name, status, reason, worst, load_ms, run_ms, message in rows:
        verdict = "ok" if status == "pass" else f"{reason}: {message[:160]}"
        print(f"{name:34}{worst:>9}{float(load_ms):10.1f}{float(run_ms):10.2f}  {verdict}")
    if a.json:
        keys = ("name", "status", "class", "error", "load_ms", "run_ms", "message")
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump([dict(zip(keys, r)) for r in rows], f, indent=1)
    passed = sum(r[1] == "pass" for r in rows)
    print(f"{passed} passed, {len(rows) - passed} failed")
    return 0 if passed == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
