#!/usr/bin/env python3
"""Makes docs/differences.md, where Retort and official ONNX Runtime differ, and why, from the lists of the tests.

    differences_page.py            says whether the page is what the lists say
    differences_page.py --update   writes it

The lists: tests/abi/differences.tsv, tests/errors/other_codes.tsv, tests/conformance/expected_failures.tsv and abi/pending.tsv.
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
    "Providers and their devices": "plugins plugin_hooks plugin_packages lending aliases aliases_on_device loopback loopback_copies loopback_bodies loopback_kernels loopback_context loopback_layout loopback_capture loopback_together shared_weights",
    "Arguments": "env null",
}
HEAD = """# Differences from ONNX Runtime
Programs for ONNX Runtime run on Retort unchanged: {scenes} scenes and the error cases of [errors.md](errors.md) are told to both libraries
(ONNX Runtime 1.31.1), and each answer, code and untouched out-parameter must be equal. This page lists the exceptions, each with its reason. They are of
three kinds: Retort answers where ONNX Runtime crashes or overwrites what somebody still reads; it refuses what would be undefined; or it
gives another code where ONNX Runtime has several for one mistake. An example stands for all cases of a row; its last column names scenes in `tests/abi`.

In short, for a program that changes the library:
- Results of a binding are never written over while a handle is held, and outputs bound to a device may change their shape from run to run.
- Memory that overlaps may be bound: what cannot be written in place is computed elsewhere and copied, unless `session.disallow_implicit_copies` is set.
- Null arguments and handles of another session are errors, not crashes.
- Codes differ here and there, texts everywhere: test for success, not for a certain code.

Made by `tools/differences_page.py` from the lists that the tests hold; a row that is no longer true fails a test.
"""
LOADER = """
## The loader's note about versions
The official library gives its functions a version that is named after itself (`VERS_1.31.1`), and a program that was linked with it asks for that
version. Retort's functions have none, so when such a program starts, the loader writes one line to the standard error output:

    ./program: …/libonnxruntime.so.1: no version information available (required by ./program)

and goes on: the functions are found by their names, and nothing else is different. Programs that open the library themselves (`dlopen`, as most bindings for other
languages do) or were linked with Retort's get no note. It stays on purpose. A library that defines some version is refused by programs that ask for another
one: a program that was linked with official 1.20.1 does not start on official 1.31.1 (``version `VERS_1.20.1' not found``), and does on Retort.
"""
CELLS = {c: f"&#{ord(c)};" for c in "|*`<>"}


def rows_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def said(line):
    """A line of a transcript for readers: codes by their names, calls as calls."""
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
        text += f"\n## {chapter}\n| what is so here | Retort | ONNX Runtime | scenes |\n|---|---|---|---|\n"
        for reason, group in reasons.items():
            scenes = ", ".join(dict.fromkeys(r["scene"] for r in group))
            text += f"| {reason} | {said(group[0]['ours'])} | {said(group[0]['theirs'])} | {scenes} |\n"
    return text


def code_chapter(rows):
    """Rows with the same reason, which is written once."""
    text = "\n## Codes of errors\n| why | Retort | ONNX Runtime | mistakes of |\n|---|---|---|---|\n"
    reasons, reason = {}, ""
    for row in rows:
        reason = reason if row["reason"] == AS_ABOVE else row["reason"]
        reasons.setdefault(reason, []).append(row)
    for reason, group in reasons.items():
        cells = [" or ".join(dict.fromkeys("no error" if r[k] == "OK" else r[k] for r in group)) for k in ("ours", "theirs")]
        mistakes = dict.fromkeys(r["chapter"] if r["case"] == "*" else f"{r['chapter']}: {r['case']}" for r in group)
        text += f"| {reason} | {cells[0]} | {cells[1]} | {'; '.join(mistakes)} |\n"
    return text


def operator_of(case, operators):
    """The operator that an official case is named after, as far as its name tells; else the case."""
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
    text = "\n## What is not there\n"
    text += f"- Operators of ONNX: {', '.join(absent)}.\n" if absent else ""
    text += f"- Official cases whose numbers differ from the expected ones: {', '.join(other)}.\n" if other else ""
    text += f"- Functions that answer NOT_IMPLEMENTED with their name (`abi/pending.tsv`), in: {', '.join(tables)}.\n" if tables else ""
    return text


def count_scenes():
    count = 0
    for path in glob.glob(os.path.join(ROOT, "tests", "abi", "**", "*.cc"), recursive=True):
        with open(path, encoding="utf-8") as f:
            count += len(re.findall(r"^SCENE\(", f.read(), re.M))
    return count


def page():
    import onnx.defs
    operators = {s.name for s in onnx.defs.get_all_schemas()}
    return (HEAD.format(scenes=f"more than {count_scenes() // 50 * 50}") + scene_chapters(rows_of("tests", "abi", "differences.tsv"))
            + code_chapter(rows_of("tests", "errors", "other_codes.tsv"))
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
    print("FAIL docs/differences.md is not what the lists say; run tools/differences_page.py --update")
    print("".join(difflib.unified_diff(committed.splitlines(True), text.splitlines(True), "docs/differences.md", "now", n=0)))
    return 1


if __name__ == "__main__":
    sys.exit(main())
