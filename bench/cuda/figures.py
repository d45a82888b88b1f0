#!/usr/bin/env python3
"""Measures the CUDA provider on a GPU against PyTorch on the same shapes, in one process.

    figures.py --plugin out/lib/providers/libretort_cuda.so --zoo DIR [--only resnet50_b1,copies] [--json FILE]

DIR has models and inputs of bench/zoo (make zoo). Both sides run from one CUDA graph with their tensors on the device, in
turns: A B A B …; a row is the median of each side and their ratio. Results are compared with the CPU's first.
Needs a GPU, PyTorch, torchvision and transformers, and a package `onnxruntime` whose interface has plug-in providers:
Retort's or the official one.
"""
import argparse
import glob
import json
import os
import statistics
import time

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime as ort
import torch
from onnx import TensorProto, helper

VENDOR = 0x10DE
PROVIDER = "CUDAExecutionProvider"
ROUNDS, RUNS = 7, 100


def device_options(options, **settings):
    """Adds the provider's first device to session options."""
    devices = [d for d in ort.get_ep_devices() if d.ep_name == PROVIDER]
    if not devices:
        raise SystemExit(f"{PROVIDER} offers no device")
    options.add_provider_for_devices(devices[:1], {k: str(v) for k, v in settings.items()})
    return options


def inputs_of(zoo, model, scenario):
    """The arrays of a scenario, by name."""
    made = {}
    for file in glob.glob(os.path.join(zoo, "inputs", model, scenario, "*.pb")):
        tensor = onnx.TensorProto()
        with open(file, "rb") as f:
            tensor.ParseFromString(f.read())
        made[tensor.name] = onnx.numpy_helper.to_array(tensor)
    return made


class Bound:
    """A session with device tensors for its inputs and outputs, which runs from a CUDA graph."""

    def __init__(self, path, inputs, graph=True, **settings):
        self.session = ort.InferenceSession(path, device_options(ort.SessionOptions(), enable_cuda_graph=int(graph), **settings))
        outputs = ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs)
        self.expected = outputs
        self.binding = self.session.io_binding()
        self.keep = []
        for name, value in inputs.items():
            self.keep.append(on_device(value))
            self.binding.bind_ortvalue_input(name, self.keep[-1])
        self.results = []
        for entry, value in zip(self.session.get_outputs(), outputs):
            self.results.append(on_device(np.zeros_like(value)))
            self.binding.bind_ortvalue_output(entry.name, self.results[-1])
        self.options = ort.RunOptions()
        self.options.add_run_config_entry("disable_synchronize_execution_providers", "1")
        self.options.add_run_config_entry("gpu_graph_id", "1")

    def run(self):
        self.session.run_with_iobinding(self.binding, self.options)

    def error(self):
        """The largest difference from the CPU, relative to each output's largest value."""
        self.run()
        torch.cuda.synchronize()
        worst = 0.0
        for result, expected in zip(self.results, self.expected):
            got = to_host(result, expected).astype(np.float64)
            scale = max(float(np.abs(expected.astype(np.float64)).max()), 1e-30) if expected.size else 1.0
            worst = max(worst, float(np.abs(got - expected).max()) / scale if expected.size else 0.0)
        return worst


def on_device(value):
    return ort.OrtValue.ortvalue_from_numpy(value, "gpu", 0, VENDOR)


def to_host(value, like):
    """The elements of a device tensor, as an array like another one."""
    host = ort.OrtValue.ortvalue_from_numpy(np.zeros_like(like))
    ort.copy_tensors([value], [host])
    return np.array(host.numpy())  # in the official package, an array may share the memory of a value that ends here


def torch_graph(call):
    """Captures a call into a CUDA graph; returns what replays it, or the call itself where it cannot be captured."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), torch.inference_mode():
        for _ in range(3):
            call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph), torch.inference_mode():
            call()
    except RuntimeError as e:
        print(f"PyTorch's side runs without a graph: {str(e).splitlines()[0]}")

        def eager():
            with torch.inference_mode():
                call()

        return eager, "eager"
    return graph.replay, "graph"


def seconds(run, runs):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(runs):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / runs


def compare(name, ours, theirs, error, how):
    for run in (ours, theirs):
        seconds(run, 10)
    times = ([], [])
    for _ in range(ROUNDS):
        for side, run in enumerate((ours, theirs)):
            times[side].append(seconds(run, RUNS))
    a, b = (statistics.median(t) * 1e3 for t in times)
    row = {"name": name, "ms": round(a, 4), "torch_ms": round(b, 4), "ratio": round(b / a, 3), "error": float(f"{error:.2g}"), "torch": how}
    print(row, flush=True)
    return row


def measured(zoo, model, scenario, peer):
    bound = Bound(os.path.join(zoo, "models", model + ".onnx"), inputs_of(zoo, model, scenario))
    error = bound.error()
    replay, how = torch_graph(peer)
    return compare(f"{model} {scenario}", bound.run, replay, error, how)


def resnet50(zoo, model, batch):
    import torchvision

    peer = torchvision.models.resnet50().cuda().eval().to(memory_format=torch.channels_last)
    x = torch.randn(batch, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    if model.endswith("fp16"):
        peer, x = peer.half(), x.half()
    return measured(zoo, model, f"b{batch}", lambda: peer(x))


def bert(zoo, model, batch):
    import transformers

    peer = transformers.BertModel(transformers.BertConfig()).cuda().eval()
    peer = peer.half() if model.endswith("fp16") else peer
    ids = torch.zeros(batch, 128, dtype=torch.int64, device="cuda")
    return measured(zoo, model, f"b{batch}s128", lambda: peer(ids))


def gpt2(zoo, past):
    import transformers
    from transformers.cache_utils import DynamicCache

    peer = transformers.GPT2LMHeadModel(transformers.GPT2Config()).cuda().eval()
    ids = torch.zeros(1, 1, dtype=torch.int64, device="cuda")
    position = torch.full((1, 1), past, dtype=torch.int64, device="cuda")
    caches = [(torch.randn(1, 12, past, 64, device="cuda"), torch.randn(1, 12, past, 64, device="cuda")) for _ in range(12)]

    def step():
        cache = DynamicCache()
        for layer, (k, v) in enumerate(caches):
            cache.update(k, v, layer)
        return peer(ids, past_key_values=cache, position_ids=position, use_cache=True).logits

    return measured(zoo, "gpt2_small", f"decode_p{past}", step)


def copies(zoo):
    """The loop of a hundred runs, with and without binding: time of all copies, as the driver's own records say it."""
    from torch.profiler import ProfilerActivity, profile

    path = make_images_model(zoo)
    picture = np.random.default_rng(1).random((1, 3, 1080, 1920), np.float32)
    session = ort.InferenceSession(path, device_options(ort.SessionOptions()))
    source, target = on_device(picture), on_device(np.zeros_like(picture))
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", source)
    binding.bind_ortvalue_output("y", target)
    pinned_in, pinned_out = (torch.empty(picture.shape, pin_memory=True).numpy() for _ in range(2))
    pinned_in[:] = picture
    start, landing = ort.OrtValue.ortvalue_from_numpy(pinned_in), ort.OrtValue.ortvalue_from_numpy(pinned_out)
    session.run(None, {"x": picture})
    session.run_with_iobinding(binding)

    def bound_loop():
        ort.copy_tensors([start], [source])
        for _ in range(RUNS):
            session.run_with_iobinding(binding)
        ort.copy_tensors([target], [landing])

    def unbound_loop():
        for _ in range(RUNS):
            session.run(None, {"x": pinned_in})

    rows = {}
    for name, loop in (("bound", bound_loop), ("unbound", unbound_loop)):
        with profile(activities=[ProfilerActivity.CUDA]) as p:
            loop()
            torch.cuda.synchronize()
        events = [e for e in p.events() if "Memcpy" in e.name]
        rows[name] = {"copies": len(events), "ms": sum(e.device_time_total if hasattr(e, "device_time_total") else e.cuda_time_total for e in events) / 1e3,
                      "names": sorted({e.name for e in events})}
    one_way = picture.nbytes / 1e9
    row = {"name": "copies", **rows, "ratio_percent": 100 * rows["bound"]["ms"] / rows["unbound"]["ms"],
           "unbound_gb_s": 2 * RUNS * one_way / (rows["unbound"]["ms"] / 1e3)}
    host, device = torch.empty(picture.shape, pin_memory=True), torch.empty(picture.shape, device="cuda")
    row["link_gb_s"] = {"up": one_way / seconds(lambda: device.copy_(host, non_blocking=True), 50),
                        "down": one_way / seconds(lambda: host.copy_(device, non_blocking=True), 50)}
    print(row, flush=True)
    return row


def make_images_model(folder):
    """A small model on a large picture, so that copies are what takes time; returns its path."""
    path = os.path.join(folder, "images.onnx")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 1080, 1920])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, 1080, 1920])
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [1, 3, 1, 1], [0.5, 2.0, 1.5])
    nodes = [helper.make_node("Mul", ["x", "scale"], ["t"]), helper.make_node("Relu", ["t"], ["y"])]
    graph = helper.make_graph(nodes, "images", [x], [y], [scale])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--zoo", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", default="")
    a = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True  # as the provider's use_tf32
    torch.backends.cudnn.benchmark = True
    ort.register_execution_provider_library("cuda", a.plugin)
    zoo = a.zoo
    rows = {"copies": lambda: copies(zoo),
            "resnet50_b1": lambda: resnet50(zoo, "resnet50", 1), "resnet50_b8": lambda: resnet50(zoo, "resnet50", 8),
            "resnet50_fp16_b8": lambda: resnet50(zoo, "resnet50_fp16", 8),
            "bert_b1": lambda: bert(zoo, "bert_base", 1), "bert_b8": lambda: bert(zoo, "bert_base", 8),
            "bert_fp16_b8": lambda: bert(zoo, "bert_base_fp16", 8),
            "gpt2_127": lambda: gpt2(zoo, 127), "gpt2_511": lambda: gpt2(zoo, 511)}
    wanted = a.only.split(",") if a.only else list(rows)
    made = []
    for name in wanted:
        try:
            made.append(rows[name]())
        except Exception as e:  # one that fails must not hide the others
            made.append({"name": name, "failed": str(e)[:2000]})
            print(made[-1], flush=True)
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump({"device": torch.cuda.get_device_name(), "engine": ort.__version__, "rows": made}, f, indent=1)


if __name__ == "__main__":
    main()
