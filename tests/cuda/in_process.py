#!/usr/bin/env python3
"""Uses the CUDA provider in this process, through the C ABI of an engine.

    in_process.py leaks LIBRARY PLUGIN SOFTWARE MODEL...   sessions leave nothing behind
    in_process.py absent LIBRARY PLUGIN MODEL              no driver: no devices, one sentence, and a session on the CPU
    in_process.py lacking LIBRARY PLUGIN SOFTWARE MODEL    no cuBLASLt: its nodes run on the CPU, and one line says so; no NVRTC: all nodes do

A MODEL is a folder with model.onnx and 0/input_*.pb. The last line is "N passed, N failed".
"""
import ctypes
import glob
import os
import subprocess
import sys
import tempfile

import onnx

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "robustness"))
from engine import Engine  # noqa: E402

NAME = "CUDAExecutionProvider"
# SoftwareCudaCounted in software/counts.h
COUNTED = ("allocations", "blocks", "bytes", "pinned", "streams", "events", "modules", "graphs", "execs", "to_device", "to_host", "on_device",
           "fills", "launches", "kernels", "graph_launches")
ALIVE = ("blocks", "bytes", "pinned", "streams", "events", "modules", "graphs", "execs")
ROUNDS = 4
ATTEMPTS = 4
SAID = "no CUDA device is offered: "


class Provider(Engine):
    """An environment with the plug-in, and what it logs."""

    def __init__(self, library, plugin):
        super().__init__(library)
        self.said = []
        log = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p, ctypes.c_int] + [ctypes.c_char_p] * 4)
        self.logger = log(lambda _, level, category, name, place, message: self.said.append(message.decode()))
        self.environment = self.make_environment()
        self.call("RegisterExecutionProviderLibrary", self.environment, ctypes.c_char_p(b"cuda"), ctypes.c_char_p(os.fsencode(plugin)))

    def make_environment(self):
        made = ctypes.c_void_p()
        self.call("CreateEnvWithCustomLogger", self.logger, None, ctypes.c_int(2), ctypes.c_char_p(b"cuda"), ctypes.byref(made))
        return made

    def devices(self):
        all_devices, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_size_t()
        self.call("GetEpDevices", self.environment, ctypes.byref(all_devices), ctypes.byref(count))
        name = self.function("EpDevice_EpName", ctypes.c_char_p, ctypes.c_void_p)
        return [all_devices[i] for i in range(count.value) if name(all_devices[i]).decode() == NAME]

    def use(self, folder, devices, runs=2):
        """A session of a model, some runs, and its end."""
        options, self.session = self.make("CreateSessionOptions"), ctypes.c_void_p()
        if devices:
            chosen = (ctypes.c_void_p * 1)(devices[0])
            self.call("SessionOptionsAppendExecutionProvider_V2", options, self.environment, chosen, ctypes.c_size_t(1), None, None, ctypes.c_size_t(0))
        self.call("CreateSession", self.environment, ctypes.c_char_p(os.fsencode(os.path.join(folder, "model.onnx"))), options, ctypes.byref(self.session))
        model = onnx.load(os.path.join(folder, "model.onnx"))
        values = [onnx.load_tensor(f) for f in sorted(glob.glob(os.path.join(folder, "0", "input_*.pb")))]
        arrays = [onnx.numpy_helper.to_array(v) for v in values]
        feeds = [(model.graph.input[i].name, (values[i].data_type, a.shape, a.tobytes())) for i, a in enumerate(arrays)]
        for _ in range(runs):
            self.run(feeds)
        self.function("ReleaseSession", None, ctypes.c_void_p)(self.session)
        self.function("ReleaseSessionOptions", None, ctypes.c_void_p)(options)

    def run(self, inputs):
        release = self.function("ReleaseValue", None, ctypes.c_void_p)
        kept = [self.tensor(*v) for _, v in inputs]
        outputs = self.output_names()
        names = (ctypes.c_char_p * len(inputs))(*[i[0].encode() for i in inputs])
        given = (ctypes.c_void_p * len(kept))(*[value.value for value, _ in kept])
        made = (ctypes.c_void_p * len(outputs))()
        self.call("Run", self.session, None, names, given, ctypes.c_size_t(len(kept)), (ctypes.c_char_p * len(outputs))(*[o.value for o in outputs]),
                  ctypes.c_size_t(len(outputs)), made)
        for value in [*given, *made]:
            release(value)


def counts(software):
    values = (ctypes.c_int64 * len(COUNTED))()
    ctypes.CDLL(os.path.join(software, "libcuda.so.1")).SoftwareCudaCounts(values)
    return dict(zip(COUNTED, values))


def leaks(library, plugin, software, *folders):
    """What is alive after a session is what was alive after the first session of that model."""
    os.environ["RETORT_CUDA_LIBRARIES"] = software
    provider = Provider(library, plugin)
    devices, wrong = provider.devices(), []
    for folder in folders:
        provider.use(folder, devices)
        # The provider keeps events for their next use, and how many it needs at once depends on time: if nothing else has
        # grown, it is counted again. A leak grows each time.
        for _ in range(ATTEMPTS):
            first = counts(software)
            for _ in range(ROUNDS):
                provider.use(folder, devices)
            last = counts(software)
            grown = [f"{last[k] - first[k]} more {k}" for k in ALIVE if last[k] > first[k]]
            if [k for k in ALIVE if last[k] > first[k]] != ["events"]:
                break
        if last["kernels"] == first["kernels"]:
            grown.append("no kernel ran")
        wrong.append(f"{os.path.basename(folder)}, {ROUNDS} further sessions: {', '.join(grown)}" if grown else "")
    return wrong


def absent(library, plugin, folder):
    os.environ["RETORT_CUDA_LIBRARIES"] = os.path.join(ROOT, "tests", "cuda", "nothing")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # on a machine that has a driver, it has no device
    provider = Provider(library, plugin)
    said = [m for m in provider.said if SAID in m]
    wrong = ["" if not provider.devices() else "a device is offered", "" if len(said) == 1 else f"{len(said)} sentences: {said}"]
    text = said[0] if said else ""
    wrong.append("" if text.endswith(".") and ". " not in text and "\n" not in text else f"this is not one sentence: {text!r}")
    provider.use(folder, [])
    return wrong


def lacking(library, plugin, software, folder):
    wrong = []
    for left, has, sentence in (("libcublasLt", ["libcuda.so.1", "libnvrtc.so.13"], "nodes of type MatMul are left to other providers: cuBLASLt was not found"),
                                ("libnvrtc", ["libcuda.so.1", "libcublasLt.so.13"], "no node is claimed, since no kernel can be compiled: NVRTC was not found")):
        with tempfile.TemporaryDirectory() as some:
            for name in has:
                os.symlink(os.path.join(software, name), os.path.join(some, name))
            command = [sys.executable, os.path.abspath(__file__), "without", library, plugin, some, folder]
            done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
            lines = [line for line in done.stdout.splitlines() if "other providers: cu" in line or "no node is claimed" in line]
            as_said = done.returncode == 0 and len(lines) == 1 and sentence in lines[0]
            wrong.append("" if as_said else f"without {left}: code {done.returncode}, {lines} {done.stderr[-500:]}")
    return wrong


def without(library, plugin, some, folder):
    """Prints what the provider says while it uses a model with the libraries of a folder."""
    os.environ.update(RETORT_CUDA_LIBRARIES=some, XDG_CACHE_HOME=some)
    provider = Provider(library, plugin)
    provider.use(folder, provider.devices())
    print(*provider.said, sep="\n")
    return []


def main():
    wrong = {"leaks": leaks, "absent": absent, "lacking": lacking, "without": without}[sys.argv[1]](*map(os.path.abspath, sys.argv[2:]))
    for w in filter(None, wrong):
        print("FAIL", w)
    print(f"{sum(not w for w in wrong)} passed, {sum(map(bool, wrong))} failed")


if __name__ == "__main__":
    main()
