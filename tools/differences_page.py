#!/usr/bin/env python3
"""Makes docs/differences.md, the differences from official ONNX Runtime and their reasons, from the tests' lists.

    differences_page.py            checks that the page agrees with the lists
    differences_page.py --update   writes it

The lists: tests/abi/differences.tsv, tests/errors/other_codes.tsv, abi/pending.tsv, and expected_failures.tsv and
operator_differences.tsv in tests/conformance.
"""
import argparse
import csv
import difflib
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "differences.md")
AS_ABOVE = "as above"
EXAMPLE = 48  # characters of a line that are shown
CODES = ("OK FAIL INVALID_ARGUMENT NO_SUCHFILE NO_MODEL ENGINE_ERROR RUNTIME_EXCEPTION INVALID_PROTOBUF MODEL_LOADED "
         "NOT_IMPLEMENTED INVALID_GRAPH EP_FAIL").split()
# Chapters of the page, and the groups of scenes that belong to each.
CHAPTERS = {
    "I/O binding": "binding binding_alias binding_cache binding_devices binding_life binding_names binding_shapes binding_types lora",
    "Values and memory": "allocator values sparse types memory_info",
    "Sessions and models": "session options config ort_format custom editor editor_session devices pool_hooks run names graph saving compile compile_weights compile_context package op_schemas",
    "Providers and their devices": "plugins choice plugin_hooks plugin_packages lending aliases aliases_on_device loopback loopback_copies loopback_bodies loopback_kernels loopback_context loopback_layout loopback_capture loopback_together shared_weights",
    "Arguments": "env null",
}
HEAD = """# Differences from ONNX Runtime
Programs for ONNX Runtime run on Retort unchanged: {scenes} scenes (short test programs on the C interface) and the
error cases of [errors.md](errors.md) run on both libraries (ONNX Runtime 1.32.0), and each result, code and untouched
out-parameter must be equal. This page lists the exceptions, each with its reason. There are three kinds. Retort returns
a result where ONNX Runtime crashes or overwrites memory that is in use. It rejects calls with undefined results. It
returns a different code where ONNX Runtime has several codes for one mistake. Each row shows one example; its last
column names all scenes in `tests/abi` that have this difference.

In short, for a program that changes the library:
- Results of a binding are never overwritten while the program holds a handle, and outputs that are bound to a device
  may change their shape between runs.
- Inputs and outputs that overlap in memory may be bound. If an output cannot be written in place, it is computed
  elsewhere and copied, unless `session.disallow_implicit_copies` is set.
- Null arguments and handles of another session are errors, not crashes.
- Some error codes and all texts differ: test for success, not for a certain code.

`tools/differences_page.py` makes this page from the lists of the tests. A test fails if a row of the lists is no longer
true.
"""
PARTS = """
## What Retort does not have
| part of ONNX Runtime | in Retort |
|---|---|
| systems other than Linux | none: neither Windows nor macOS, Android or iOS |
| a plug-in provider that is added or selected after the CPU's gets the nodes of element types that the official CPU provider has no kernel for | it gets the nodes of operators that the CPU does not have; the CPU runs these element types |
| browsers: WebAssembly, WebGL, WebNN, JSEP | none; the WebGPU provider runs as a plug-in on Linux |
| bindings for C#, Objective-C, Swift, React Native | none of our own |
| GPU providers inside the library (CUDA, TensorRT, ROCm, DirectML and others) | none: [CUDA](cuda.md) is a library of its own beside it, other GPUs need the plug-in of their vendor ([execution providers](architecture/execution_providers.md)) |
| training: `OrtTrainingApi`, ORTModule, checkpoints | none; [operators of training graphs run](architecture/training_vs_inference.md) |
| tools that quantise or prune models, or convert those of other frameworks | none; models that such tools wrote run |
| the AZURE provider, which calls remote services | none |
| a server with HTTP or gRPC, dynamic batching, cached results | none; `examples/python/service.py` is a service in asyncio |
| builds with a chosen subset of operators | none |
"""
LOADER = """
## The loader's note about versions
The official library gives its functions a symbol version (`VERS_1.32.0`), and a program that was linked with it
requires that version. Retort's functions have no version. When such a program starts on Retort, the dynamic loader
therefore writes one line to standard error:

    ./program: …/libonnxruntime.so.1: no version information available (required by ./program)

The program then runs as usual, because the loader finds the functions by their names. The line does not appear for
programs that open the library themselves (`dlopen`, as most bindings for other languages do), or that were linked with
Retort's library.

This is intentional. If a library defines a version, programs that require another version do not start with it: a
program that was linked with official 1.20.1 does not start on official 1.32.0 (``version `VERS_1.20.1' not found``),
but it starts on Retort.
"""
CELLS = {c: f"&#{ord(c)};" for c in "|*`<>"}


def rows_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def said(line):
    """A transcript line for readers: codes by name, calls as calls."""
    key, _, value = line.partition(" = ")
    if value.isdigit() and int(value) < len(CODES) and (key[:1].isupper() or key in ("code", "tensor")):
        what = {"code": "the call", "tensor": "CreateTensorWithDataAsOrtValue"}.get(key, key)
        return f"{what}: {'success' if value == '0' else CODES[int(value)]}"
    text = line if len(line) <= EXAMPLE else line[:EXAMPLE] + " …"
    return "".join(CELLS.get(c, c) for c in text)


def chapter_of(scene):
    group = scene.split(".")[0]
    for chapter, groups in CHAPTERS.items():
        if group in groups.split():
            return chapter
    raise SystemExit(f"no chapter for the scenes '{group}': give them one in CHAPTERS of {__file__}")


def merged(rows):
    """{chapter: {reason: [rows]}}; "as above" is the reason of the row before."""
    chapters, reason = {name: {} for name in CHAPTERS}, ""
    for row in rows:
        reason = reason if row["reason"] == AS_ABOVE else row["reason"]
        chapters[chapter_of(row["scene"])].setdefault(reason, []).append(row)
    return chapters


def scene_chapters(rows):
    text = ""
    for chapter, reasons in merged(rows).items():
        if not reasons:
            continue
        text += f"\n## {chapter}\n| reason | Retort | ONNX Runtime | scenes |\n|---|---|---|---|\n"
        for reason, group in reasons.items():
            scenes = ", ".join(dict.fromkeys(r["scene"] for r in group))
            text += f"| {reason} | {said(group[0]['ours'])} | {said(group[0]['theirs'])} | {scenes} |\n"
    return text


def code_chapter(rows):
    """Rows with the same reason, which is written once."""
    text = "\n## Codes of errors\n| reason | Retort | ONNX Runtime | mistakes |\n|---|---|---|---|\n"
    reasons, reason = {}, ""
    for row in rows:
        reason = reason if row["reason"] == AS_ABOVE else row["reason"]
        reasons.setdefault(reason, []).append(row)
    for reason, group in reasons.items():
        cells = [" or ".join(dict.fromkeys("no error" if r[k] == "OK" else r[k] for r in group)) for k in ("ours", "theirs")]
        mistakes = dict.fromkeys(r["chapter"] if r["case"] == "*" else f"{r['chapter']}: {r['case']}" for r in group)
        text += f"| {reason} | {cells[0]} | {cells[1]} | {'; '.join(mistakes)} |\n"
    return text


def operator_chapter(rows):
    text = "\n## Operators\nThese are the most important differences in results that `tools/fuzz_ops` finds with models of one\n"
    text += "operator; `tools/fuzzing/oracle_faults.tsv` lists all. `tests/conformance/difference_rows.py` runs the rows on both\n"
    text += "libraries, except for those that it names with a reason.\n"
    text += "\n| operators | condition | Retort | ONNX Runtime | reason |\n|---|---|---|---|---|\n"
    return text + "".join("| " + " | ".join("".join(CELLS.get(c, c) for c in cell) for cell in row.values()) + " |\n" for row in rows)


def operator_of(case, operators):
    """The operator in the name of an official case; if there is none, the case."""
    name = re.sub(r"^\w+/test_", "", case)
    squeezed = name.replace("_", "")
    held = [o for o in operators if o.lower() in squeezed]
    starting = [o for o in held if squeezed.startswith(o.lower())]
    return max(starting or held, key=len, default=name)


def read_failures():
    with open(os.path.join(ROOT, "tests", "conformance", "expected_failures.tsv"), encoding="utf-8") as f:
        return [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]


def absent_chapter(failures, pending, operators):
    absent = sorted({operator_of(case, operators) for case, kind in failures if "NOT_IMPLEMENTED" in kind})
    other = [case for case, kind in failures if "NOT_IMPLEMENTED" not in kind]
    tables = list(dict.fromkeys(row["struct"] for row in pending))
    text = f"- Operators of ONNX: {', '.join(absent)}.\n" if absent else ""
    text += "- Official cases whose numbers differ from the expected ones:\n" if other else ""
    text += "".join(f"  - {case}\n" for case in other)
    text += f"- Functions that return NOT_IMPLEMENTED with their name (`abi/pending.tsv`), in: {', '.join(tables)}.\n" if tables else ""
    return f"\n## What is missing\n{text}" if text else ""


def count_scenes():
    count = 0
    for path in glob.glob(os.path.join(ROOT, "tests", "abi", "**", "*.cc"), recursive=True):
        with open(path, encoding="utf-8") as f:
            count += len(re.findall(r"^SCENE\(", f.read(), re.M))
    return count


def page():
    import onnx.defs
    operators = {s.name for s in onnx.defs.get_all_schemas()}
    return (HEAD.format(scenes=f"more than {count_scenes() // 50 * 50}") + PARTS + scene_chapters(rows_of("tests", "abi", "differences.tsv"))
            + code_chapter(rows_of("tests", "errors", "other_codes.tsv"))
            + operator_chapter(rows_of("tests", "conformance", "operator_differences.tsv"))
            + absent_chapter(read_failures(), rows_of("abi", "pending.tsv"), operators) + LOADER)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--update", action="store_true", help="write the page")
    a = ap.parse_args()
    text = page()
    if a.update:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    committed = ""
    if os.path.exists(PAGE):
        with open(PAGE, encoding="utf-8") as f:
            committed = f.read()
    if committed == text:
        return 0
    print("FAIL docs/differences.md does not agree with the lists; run tools/differences_page.py --update")
    print("".join(difflib.unified_diff(committed.splitlines(True), text.splitlines(True), "docs/differences.md", "now", n=0)))
    return 1


if __name__ == "__main__":
    sys.exit(main())
