"""Stages that test installed files: providers, packages, the tool, and programs that use the library."""
import concurrent.futures
import contextlib
import glob
import os
import re
import shutil
import sys
import time

import io_binding_examples
import surroundings
from stages.context import ROOT, Count, in_python, oracle, python_tests, run_cases, skip

LIBRARY_BYTES = 8_850_000
PROVIDERS = {"onednn": "OneDnnExecutionProvider", "xnnpack": "XnnPackExecutionProvider"}
PLUGINS = ("nxrt-ep-cpu", "onnxruntime-ep-openvino", "onnxruntime-ep-webgpu", "onnxruntime-ggml", "onnxruntime-qnn")  # of tests/providers/foreign.py
CLIENTS = {"go": ["go"], "node": ["node", "npm"], "java": ["java", "javac", "mvn"], "rust": ["cargo"], "cpp": ["c++", "apt-get", "dpkg"], "foreign": ["c++", "tar"]}


def providers(c):
    total, parts = Count(), {"": {}}
    if c.sanitizer:  # with the threads of libgomp, ASan's leak checker crashes when it reads the thread-local storage of modules
        parts = {"programs": {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":intercept_tls_get_addr=0"}, "python": in_python(c)}
    if not c.sanitizer:
        total += python_tests(c, "providers.new_provider", os.path.join("tests", "providers", "new_provider_test.py"), RETORT_OUT=c.out)
    for name, offered in PROVIDERS.items():
        plugin = os.path.join(c.build, f"libretort_{name}.so")
        if not os.path.exists(plugin):
            total += skip(f"{name}: its library was not found when this was built")
            continue
        command = [sys.executable, "tests/providers/check_provider.py", c.library, "--oracle", os.environ["RETORT_ORACLE"], "--tool", run_cases(c),
                   "--provider", f"{offered}={plugin}", "--cases", os.path.join(c.work, "cases"), "--work", os.path.join(c.work, "providers", name)]
        for part, env in parts.items():
            total += c.counted(".".join(filter(None, ("providers", name, part))), [*command, *(["--only", part] if part else [])], **env)
    return total


def cuda(c):
    """The CUDA provider on stand-ins for NVIDIA's libraries, or on a GPU (make test-cuda-gpu)."""
    gpu = "RETORT_TEST_GPU" in os.environ
    software, plugin = os.path.join(c.build, "software_cuda"), os.path.join(c.build, "libretort_cuda.so")
    if c.sanitizer or not os.path.exists(plugin):
        return skip("the software CUDA switches stacks, which sanitizers do not follow" if c.sanitizer else "libretort_cuda.so was not built")
    total = Count() if gpu else c.counted("cuda.software", [os.path.join(c.build, "software_cuda_test"), software, os.path.join(ROOT, "providers", "cuda", "kernels")])
    return total + c.counted("cuda.provider", [
        sys.executable, "tests/cuda/check_cuda.py", c.library, "--oracle", os.environ["RETORT_ORACLE"], "--tool", run_cases(c), "--retort",
        os.path.join(c.out, "bin", "retort"), "--provider", f"CUDAExecutionProvider={plugin}", "--software", software,
        "--cases", os.path.join(c.work, "cases"), "--work", os.path.join(c.work, "cuda"), *(["--gpu"] if gpu else [])])


def plugins(c):
    total = Count()
    for name in PLUGINS:
        started = time.time()
        at = os.path.join(c.work, "plugins")
        # The limit that tools/levels.py sets is for our provider: OpenVINO, which contains a oneDNN, crashes with it.
        count = c.counted("plugins." + name, ["env", "-u", "ONEDNN_MAX_CPU_ISA", sys.executable, "tests/providers/check_plugins.py", name, c.library, "--oracle", os.environ["RETORT_ORACLE"],
                                              "--programs", c.build, "--cases", os.path.join(c.work, "cases"), "--zoo", os.path.join(at, "zoo"),
                                              "--work", os.path.join(at, name)])
        with open(os.path.join(c.work, f"plugins.{name}.log"), encoding="utf-8") as f:
            print("".join(f"    {line[5:]}" for line in f if line.startswith("note ")), end="")
        print(f"    {name}: {count} ({time.time() - started:.1f} s)", flush=True)
        total += count
    return total


def digits(c):
    return c.counted("digits", [c.digits, "--check", os.path.join("examples", "digits")], RETORT_LIBRARY=c.library)


def build_example(c, name, source, prefix):
    """Builds one of the examples with an installed Retort. Returns the program, or None."""
    build = os.path.join(source, "build")
    steps = [["cmake", "-S", source, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix, "-DCMAKE_BUILD_TYPE=Release"], ["cmake", "--build", build]]
    if os.path.exists(os.path.join(source, "Makefile")):
        build, steps = source, [["make", "-C", source, "PKG_CONFIG_PATH=" + os.path.join(prefix, "lib", "pkgconfig")]]
    done = all(c.start(f"package.{name}.{step[0]}{i}", step)[0] == 0 for i, step in enumerate(steps))
    return os.path.join(build, name) if done else None


def run_example(c, name, program, model):
    """Runs it with the library that it was linked with, and compares its output."""
    code, printed = c.start(f"package.{name}", ["env", "-u", "RETORT_LIBRARY", program, *([] if name == "embedded" else [model])])
    with open(os.path.join(ROOT, "examples", name, "expected.txt"), encoding="utf-8") as f:
        expected = f.read()
    if code == 0 and printed != expected:
        print(f"    FAIL {name} printed\n{printed}    in place of\n{expected}", end="")
    return code == 0 and printed == expected


def on_streams(c, source, prefix, loopback):
    """[whether the example of explicit synchronisation is built as programs of ONNX Runtime are, by CMake and by
    pkg-config, and prints the same on each library]"""
    program = build_example(c, "syncstreams", source, prefix)
    if not program or not loopback:
        return [False]
    with open(os.path.join(source, "expected.txt"), encoding="utf-8") as f:
        expected = f.read()
    results, cuda = [], c.cuda()
    plugins = {"loopback": os.path.join(os.path.dirname(loopback), "libloopback.so")} | ({"cuda": cuda["RETORT_CUDA"]} if cuda else {})
    for engine, preload in {"retort": [], "official": ["LD_PRELOAD=" + os.environ["RETORT_ORACLE"]]}.items():
        if c.sanitizer and preload:
            continue
        for name, plugin in plugins.items():
            code, printed = c.start(f"package.syncstreams.{engine}.{name}", ["env", *preload, program, plugin], **cuda)
            results.append(code == 0 and printed.endswith(expected))
    by_pkg_config = 'c++ -std=c++17 "$1" $(pkg-config --cflags --libs libonnxruntime) -o "$2"'
    code, _ = c.start("package.syncstreams.pkg_config", ["env", "PKG_CONFIG_PATH=" + os.path.join(prefix, "lib", "pkgconfig"), "sh", "-c", by_pkg_config,
                                                         "sh", os.path.join(source, "syncstreams.cc"), os.path.join(source, "by_pkg_config")])
    return [*results, code == 0]


def chat(c, source, prefix):
    """The example of a language model, with a small model that bench/llm makes."""
    if c.sanitizer:  # such a build has no programs of bench
        return Count()
    program = build_example(c, "chat", source, prefix)
    if not program:
        return Count(failed=1)
    library = os.path.join(prefix, "lib", "libretort.so.1")
    return python_tests(c, "package.chat_tests", os.path.join("bench", "llm", "tiny_test.py"), CHAT=program, RETORT_LIBRARY=library,
                        LLM_WORKER=os.path.join(c.build, "llm_worker"))


def package(c):
    """Tests the installed files as a user has them: moved to another folder, with copies of the examples, without the
    checkout."""
    area = os.path.join(c.work, "package")
    prefix, examples = os.path.join(area, "prefix"), os.path.join(area, "examples")
    shutil.rmtree(area, ignore_errors=True)
    shutil.copytree(c.out, prefix, symlinks=True)
    shutil.copytree(os.path.join(ROOT, "examples"), examples)
    results, programs = [], {}
    for name in ("first", "any_model", "embedded"):
        programs[name] = build_example(c, name, os.path.join(examples, name), prefix)
        results.append(programs[name] and run_example(c, name, programs[name], os.path.join(examples, "digits", "digits.onnx")))
    loopback = build_example(c, "loopback", os.path.join(examples, "providers", "loopback"), prefix)  # a module: nothing to run
    results.append(loopback and os.path.exists(os.path.join(os.path.dirname(loopback), "libloopback.so")))
    chats = chat(c, os.path.join(examples, "chat"), prefix)
    results += on_streams(c, os.path.join(examples, "syncstreams"), prefix, loopback)
    results += io_binding_examples.run(c.start, examples, prefix, "" if c.sanitizer else os.environ["RETORT_ORACLE"], c.cuda())
    needed = programs["embedded"] and c.start("package.needed", ["readelf", "-d", programs["embedded"]])
    results.append(needed and needed[0] == 0 and "libretort" not in needed[1])
    results.append(small_enough(c, os.path.join(prefix, "lib", "libretort.so.1")))
    return Count(sum(map(bool, results)), len(results) - sum(map(bool, results))) + chats + loads_on_old_systems(c, prefix)


def loads_on_old_systems(c, prefix):
    """Tests that each installed file loads on old systems."""
    with open(os.path.join(c.build, "CMakeCache.txt"), encoding="utf-8") as f:
        oldest = re.search(r"^RETORT_GLIBC:\w+=(.*)$", f.read(), re.M)
    if not oldest or not oldest.group(1):
        return skip("configured for no older glibc than that of this machine (RETORT_GLIBC)")
    built = [name for name in PROVIDERS if os.path.exists(os.path.join(prefix, "lib", "providers", f"libretort_{name}.so"))]
    works = python_tests(c, "package.here", os.path.join("tests", "old_systems", "old_systems_test.py"), RETORT_OUT=prefix, RETORT_PROVIDERS=" ".join(built))
    return works + c.counted("package.symbols", [sys.executable, "tools/check_symbols.py", "--glibc", oldest.group(1), prefix])


def small_enough(c, library):
    stripped = os.path.join(c.work, "stripped.so")
    if c.start("package.strip", ["strip", "-o", stripped, library])[0]:
        return False
    size = os.path.getsize(stripped)
    print(f"    {'' if size <= LIBRARY_BYTES else 'FAIL '}{os.path.basename(library)} has {size:,} bytes, stripped; allowed: {LIBRARY_BYTES:,}")
    return size <= LIBRARY_BYTES


def print_skipped(c, name):
    """The lines of a log that tell what was skipped."""
    with open(os.path.join(c.work, name + ".log"), encoding="utf-8", errors="replace") as f:
        print("".join(f"    {line}" for line in f if line.startswith("skipped:")), end="", flush=True)


def cli(c):
    tool, total = os.path.join(c.build if c.sanitizer else os.path.join(c.out, "bin"), "retort"), Count()
    examples = os.path.join(c.build, "generated", "recipes", "tests", "cli", "*_test.py")  # of docs/extend.md
    for tests, program in ((os.path.join(ROOT, "tests", "cli", "*_test.py"), tool), (examples, os.path.join(c.build, "recipes_cli"))):
        for path in sorted(glob.glob(tests)):
            name = "cli." + os.path.basename(path)[:-3]
            total += python_tests(c, name, path, RETORT_CLI=program, RETORT_DIGITS=c.digits, RETORT_LIBRARY=c.library, RETORT_LOOPBACK=c.loopback,
                                  PYTHONPATH=os.path.join(ROOT, "tests", "cli"))
            print_skipped(c, name)
    return total


def dist(c):
    """Release archive and Debian packages of the installed files; both are made and checked at the same time."""
    paths = sorted(glob.glob(os.path.join(ROOT, "tests", "dist", "*_test.py")))
    names = ["dist." + os.path.basename(p)[:-3] for p in paths]
    work = os.path.join(c.work, "dist")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        counts = pool.map(lambda name, path: python_tests(c, name, path, RETORT_BUILD=c.build, RETORT_OUT=c.out,
                                                          RETORT_WORK=os.path.join(work, name[5:])), names, paths)
    for name in names:
        with open(os.path.join(c.work, name + ".log"), encoding="utf-8") as f:
            print("".join(f"    {line}\n" for line in re.findall(r"^.* \.\.\. (skipped .*)$", f.read(), re.M)), end="")
    return sum(counts, Count())


def extensions(c):
    """Custom operators of the package onnxruntime-extensions."""
    return python_tests(c, "extensions", os.path.join(ROOT, "tests", "extensions", "extensions_test.py"), RETORT_LIBRARY=c.library, RETORT_ORACLE=oracle(),
                        **in_python(c))


def expect(client, count, c):
    """Failures that tests/clients/expected_failures.tsv lists count as skipped; a listed test that passes is a
    failure."""
    with open(os.path.join(ROOT, "tests", "clients", "expected_failures.tsv"), encoding="utf-8") as f:
        listed = {row.split("\t")[1] for row in f.read().splitlines()[1:] if row.split("\t")[0] == client}
    with open(os.path.join(c.work, f"clients.{client}.log"), encoding="utf-8", errors="replace") as f:
        failed = set(re.findall(r"^FAIL ([^:\s]+)", f.read(), re.M))
    surprises = listed - failed
    for test in sorted(surprises):
        print(f"    {client}: {test} passes: remove it from tests/clients/expected_failures.tsv", flush=True)
    known = len(listed & failed)
    return Count(count.passed, count.failed - known + len(surprises), count.skipped + known)


def by_maven(name):
    return surroundings.maven_alone() if name == "java" else contextlib.nullcontext()


def clients(c):
    total = Count()
    for name, tools in CLIENTS.items():
        missing = [t for t in tools if not shutil.which(t)]
        if missing:
            total += skip(f"{name}: no {missing[0]}")
            continue
        started = time.time()
        with by_maven(name):
            count = expect(name, c.counted("clients." + name, [f"tests/clients/{name}/run.sh", c.drop_in, os.path.join(c.work, "clients", name)],
                                           RETORT_OUT=c.out, PYTHON=sys.executable), c)
        print(f"    {name}: {count} ({time.time() - started:.1f} s)", flush=True)
        total += count
    return total


def bindings(c):
    scripts = sorted(glob.glob(os.path.join(ROOT, "bindings", "*", "test.sh")))
    total = Count()
    for path in scripts:
        name = os.path.basename(os.path.dirname(path))
        with by_maven(name):
            count = c.counted("bindings." + name, [path], RETORT_LIBRARY=c.library, RETORT_OUT=c.out, PYTHON=sys.executable, RETORT_LOOPBACK=c.loopback, **c.cuda())
        print_skipped(c, "bindings." + name)
        print(f"    {name}: {count}", flush=True)
        total += count
    return total
