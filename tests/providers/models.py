"""Whole models of bench/zoo, with expected outputs beside their inputs."""
import glob
import json
import os
import subprocess
import sys

import onnx
import onnx.numpy_helper
import onnxruntime

BUILDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bench", "zoo", "build_zoo.py")


def on_cpu(model):
    """Official ONNX Runtime on the CPU, without optimisation; for models in float32."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def expect(model, folders, evaluator=on_cpu):
    """Writes the results of evaluator(model) beside the inputs."""
    session, inputs = evaluator(model), [v.name for v in onnx.load(model, load_external_data=False).graph.input]
    for folder in folders:
        files = sorted(glob.glob(os.path.join(folder, "input_*.pb")))
        values = [onnx.load_tensor(f) for f in files]
        feeds = {v.name or inputs[i]: onnx.numpy_helper.to_array(v) for i, v in enumerate(values)}
        for i, y in enumerate(session.run(None, feeds)):
            onnx.save_tensor(onnx.numpy_helper.from_array(y), os.path.join(folder, f"output_{i}.pb"))


def zoo(folder, chosen, evaluator=on_cpu):
    """Rows of name, model, folders of inputs for {model: scenario}. If the folder has no models yet, makes them, with
    the results of evaluator(model)."""
    done = os.path.join(folder, "expected")
    if not os.path.exists(done):
        subprocess.run([sys.executable, BUILDER, folder, *chosen], check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, "index.json"), encoding="utf-8") as f:
        index = [r for r in json.load(f) if chosen.get(r["model"]) == r["scenario"]]
    rows = [(r["model"], os.path.join(folder, r["path"]), [os.path.join(folder, r["inputs"])]) for r in index]
    if not os.path.exists(done):
        for _, model, folders in rows:
            expect(model, folders, evaluator)
        open(done, "w", encoding="utf-8").close()
    return rows
