"""Runs the programs of examples/io_binding, for the stage `package` of run_tests.py. Each program, in C++ and most
in C, must print the text in expected/, both on the installed library and on official ONNX Runtime.
any_device also runs on a device if there is one: the GPU that a software Vulkan simulates, through WebGPU's plug-in, and
the one of the CUDA provider, which runs device_cache as well."""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "providers"))
import foreign

WEBGPU = "onnxruntime-ep-webgpu"

MODELS = {"unknown_shape": "io_binding/places.onnx", "kv_cache": "io_binding/decoder.onnx", "device_cache": "io_binding/decoder.onnx"}
MODEL = "digits/digits.onnx"


def programs(examples):
    return sorted(os.path.basename(p)[:-4] for p in glob.glob(os.path.join(examples, "io_binding", "expected", "*.txt")))


def on_a_device(start, examples, build):
    """[whether the program in each language runs in the memory of a device, and gets the same results as on the
    processor]"""
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


def on_cuda(start, examples, build, cuda):
    """[whether the programs for any device get the same results on CUDA]"""
    results = []
    for program, model in ("any_device_c", MODEL), ("any_device_cc", MODEL), ("device_cache_cc", MODELS["device_cache"]):
        with open(os.path.join(examples, "io_binding", "expected", program.rpartition("_")[0] + ".txt"), encoding="utf-8") as f:
            computed = f.read().splitlines()[-1]
        command = ["env", "-u", "RETORT_LIBRARY", os.path.join(build, program), os.path.join(examples, model), cuda["RETORT_CUDA"]]
        code, printed = start(f"package.io_binding.{program}.cuda", command, **cuda)
        told = "vendor 0x10de runs the model" in printed or "any_device" not in program
        results.append(code == 0 and told and printed.splitlines()[-1:] == [computed])
        if not results[-1]:
            print(f"    FAIL {program} printed on CUDA\n{printed}", end="")
    return results


def run(start, examples, prefix, oracle, cuda):
    """[whether each run was right]. `start` runs a command with a log and returns (exit code, output); `examples` is a
    copy of the folder; `cuda` has the variables for the CUDA provider, or nothing."""
    source = os.path.join(examples, "io_binding")
    build = os.path.join(source, "build")
    steps = (["cmake", "-S", source, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix, "-DCMAKE_BUILD_TYPE=Release"], ["cmake", "--build", build])
    if any(start(f"package.io_binding.cmake{i}", step)[0] for i, step in enumerate(steps)):
        return [False]
    # A program that is linked with libretort.so.1 uses the library that is preloaded.
    engines = {"retort": []} | ({"official": ["LD_PRELOAD=" + oracle]} if oracle else {})
    results = []
    for name in programs(examples):
        with open(os.path.join(source, "expected", name + ".txt"), encoding="utf-8") as f:
            expected = f.read()
        for language in [end for end in ("c", "cc") if os.path.exists(os.path.join(source, f"{name}.{end}"))]:
            for engine, preload in engines.items():
                command = ["env", "-u", "RETORT_LIBRARY", *preload, os.path.join(build, f"{name}_{language}"), os.path.join(examples, MODELS.get(name, MODEL))]
                code, printed = start(f"package.io_binding.{name}_{language}.{engine}", command)
                printed = "".join(line for line in printed.splitlines(True) if "[W:onnxruntime" not in line)  # warnings about devices that it cannot read
                results.append(code == 0 and printed == expected)
                if code == 0 and printed != expected:
                    print(f"    FAIL {name}_{language} printed on the {engine} library\n{printed}    in place of\n{expected}", end="")
    return results + on_a_device(start, examples, build) + (on_cuda(start, examples, build, cuda) if cuda else [])
