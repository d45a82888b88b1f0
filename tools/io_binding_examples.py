"""The programs of examples/io_binding, for the stage `package` of run_tests.py: each in C and in C++, on the installed library
and on official ONNX Runtime, must print what expected/ says. Both libraries answer alike, so one text serves four runs."""
import glob
import os

MODELS = {"unknown_shape": "io_binding/places.onnx", "kv_cache": "io_binding/decoder.onnx"}
MODEL = "digits/digits.onnx"


def programs(examples):
    return sorted(os.path.basename(p)[:-4] for p in glob.glob(os.path.join(examples, "io_binding", "expected", "*.txt")))


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
    return results
