#!/usr/bin/env python3
"""Runs the programs of examples/python with this interpreter, and compares what they print. Last line: "N passed, N failed".

    python_examples.py [--library FILE] [--loopback FILE]

--library: the engine; by default that of the package. --loopback: the provider on whose device any_device and pinned run.
RETORT_CUDA, if it is set, names the CUDA provider, on which any_device and device_cache run as well.
The notebook needs functions that only Retort has, so it runs without --library only.
"""
import argparse
import ast
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXAMPLES = os.path.join(ROOT, "examples")
HERE = os.path.join(EXAMPLES, "python")
MODELS = {"unknown_shape": "io_binding/places.onnx", "kv_cache": "io_binding/decoder.onnx", "device_cache": "io_binding/decoder.onnx"}
SHARED = ("known_shape", "unknown_shape", "preallocated", "pinned", "kv_cache", "device_cache", "any_device")


def expected(folder, name):
    with open(os.path.join(EXAMPLES, folder, "expected", name + ".txt"), encoding="utf-8") as f:
        return f.read()


def run(name, arguments, wanted, model=""):
    """Whether a program prints what it must; the difference is printed if not."""
    model = os.path.join(EXAMPLES, model or MODELS.get(name, "digits/digits.onnx"))
    done = subprocess.run([sys.executable, os.path.join(HERE, name + ".py"), model, *arguments], capture_output=True, encoding="utf-8", check=False, cwd=HERE)
    if done.returncode == 0 and done.stdout == wanted:
        return True
    print(f"FAIL {name} {' '.join(arguments)} ended with {done.returncode} and printed\n{done.stdout}{done.stderr}in place of\n{wanted}", flush=True)
    return False


def notebook():
    """Whether every cell of the notebook runs, and its reports have pages."""
    os.chdir(HERE)
    sys.path.insert(0, HERE)
    with open("notebook.ipynb", encoding="utf-8") as f:
        cells = ["".join(c["source"]) for c in json.load(f)["cells"] if c["cell_type"] == "code"]
    names, pages = {}, 0
    for cell in cells:
        tree = ast.parse(cell)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "notebook", "exec"), names)  # as Jupyter does
        value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names) if last else None
        pages += bool(hasattr(value, "_repr_html_") and value._repr_html_())
    if pages < 3:
        print(f"FAIL notebook: {pages} of its values show a page; expected: 3 or more")
    return pages >= 3


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--library", default="")
    ap.add_argument("--loopback", default="")
    a = ap.parse_args()
    a.loopback = a.loopback and os.path.abspath(a.loopback)  # programs run in another folder
    if a.library:
        os.environ["RETORT_LIBRARY"] = a.library
    results = [run("first", (), expected("python", "first")), run("service", ("20",), expected("python", "service")), run("by_name", (), expected("python", "by_name"))]
    results += [run(name, (), expected("io_binding", name)) for name in SHARED]
    if a.loopback:
        # The official library cannot copy from the pinned memory of this provider.
        names = ("any_device",) if a.library else ("any_device", "pinned")
        results += [run(name, (a.loopback,), expected("python", name), "java/templates.onnx") for name in names]
    if os.environ.get("RETORT_CUDA"):
        vendor = "vendor 0x10de runs the model\n"
        results.append(run("any_device", (os.environ["RETORT_CUDA"],), vendor + expected("io_binding", "any_device").split("\n", 1)[1]))
        results.append(run("device_cache", (os.environ["RETORT_CUDA"],), expected("io_binding", "device_cache")))
    if not a.library:
        results.append(notebook())
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed" + ("" if a.loopback else ", 1 skipped"))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
