"""The programs of examples/io_binding, for the stage `package` of run_tests.py: each in C and in C++, on the installed library
and on official ONNX Runtime, must print what expected/ says. Both libraries answer alike, so one text serves four runs.
any_device also runs on a device if there is one: the GPU that a software Vulkan simulates, by the plug-in of WebGPU."""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "providers"))
import foreign

WEBGPU = "onnxruntime-ep-webgpu"

MODELS = {"unknown_shape": "io_binding/places.onnx", "kv_cache": "io_binding/decoder.onnx"}
MODEL = "digits/digits.onnx"


def programs(examples):
    return sorted(os.path.basename(p)[:-4] for p in glob.glob(os.path.join(examples, "io_binding", "expected", "*.txt")))


def on_a_device(start, examples, build):
    """[whether the program in each language runs in the memory of a device, and computes there what the processor does]"""
    why = foreign.missing(WEBGPU)
    if why:
        print("    any_device runs on no device: " + why)
        return []
    plugin = foreign.PLUGINS[WEBGPU]
    with open(os.path.join(examples, "io_binding", "expected", "any_device.txt"), encoding="utf-8") as f:
        computed = f.read().splitlines()[-1]
    results = []
    for language in ("c", "cc"):
        driver = [f"{name}={value}" for name, value in foreign.variables(plugin).items()]
        command = ["env", "-u", "RETORT_LIBRARY", *driver, os.path.join(build, "any_device_" + language), os.path.join(examples, MODEL),
                   foreign.library(plugin), "retort.discover_vulkan", "1"]
        code, printed = start(f"package.io_binding.any_device_{language}.webgpu", command)
        results.append(code == 0 and re.fullmatch(r"vendor 0x[0-9a-f]{4} runs the model\n" + re.escape(computed), printed.strip()) is not None)
        if not results[-1]:
            print(f"    FAIL any_device_{language} printed on a device\n{printed}", end="")
    return results


def run(start, examples, prefix, oracle):
    """`start` runs a command into a log and answers (exit code, output), `examples` is a copy of the folder; [whether each run was right]"""
    source = os.path.join(examples, "io_binding")
    build = os.path.join(source, "build")
    steps = (["cmake", "-S", source, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix, "-DCMAKE_BUILD_TYPE=Release"], ["cmake", "--build", build])
    if any(start(f"package.io_binding.cmake{i}", step)[0] for i, step in enumerate(steps)):
        return [False]
    # A program that is linked with libretort.so.1 takes the interface from the library that is loaded before.
    engines = {"retort": []} | ({"official": ["LD_PRELOAD=" + oracle]} if oracle else {})
    results = []
    for name in programs(examples):
        with open(os.path.join(source, "expected", name + ".txt"), encoding="utf-8") as f:
            expected = f.read()
        for language in ("c", "cc"):
            for engine, preload in engines.items():
                command = ["env", "-u", "RETORT_LIBRARY", *preload, os.path.join(build, f"{name}_{language}"), os.path.join(examples, MODELS.get(name, MODEL))]
                code, printed = start(f"package.io_binding.{name}_{language}.{engine}", command)
                printed = "".join(line for line in printed.splitlines(True) if "[W:onnxruntime" not in line)  # of devices it cannot read
                results.append(code == 0 and printed == expected)
                if code == 0 and printed != expected:
                    print(f"    FAIL {name}_{language} printed on the {engine} library\n{printed}    in place of\n{expected}", end="")
    return results + on_a_device(start, examples, build)
