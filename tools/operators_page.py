#!/usr/bin/env python3
"""Makes docs/operators.md: the operators that the library implements, their versions and types, and which of them run fast.

    operators_page.py [--library LIB]            checks that the page agrees with the library
    operators_page.py [--library LIB] --update   writes it

The names come from the library's list (what `retort ops --json` prints), versions and types from the schemas of the onnx package and of
official ONNX Runtime. For each operator, version and type, a drawn model of one node (operator_probe.py) says whether and how the library
runs it. LIB is out/lib/libretort.so.1 by default. Needs the packages of requirements.txt.
"""
import argparse
import difflib
import os
import sys
import textwrap

import operator_probe as probing
import schemas

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "operators.md")
DOMAINS = {"": "ai.onnx", "ai.onnx.ml": "ai.onnx.ml", "ai.onnx.preview": "ai.onnx.preview", "ai.onnx.preview.training": "ai.onnx.preview.training",
           "com.microsoft": "com.microsoft", "com.microsoft.nchwc": "com.microsoft.nchwc"}
RENAMED = {"float": "float32", "double": "float64"}
FAMILIES = {"floats": "float32 float64 float16 bfloat16", "integers": "int8 int16 int32 int64 uint8 uint16 uint32 uint64",
            "complex": "complex64 complex128", "float8": "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz"}
INDICES = {"int32", "int64"}
FIXED = "*the only ones*"  # instead of a type, if the definition has no choice
HEAD = """# Operators
This page answers three questions about an operator of a model: does Retort run it, in which versions and types, and
fast? `retort ops` lists the same for the library that is installed, and `retort ops model.onnx` shows it for the
operators of one model.

- **Versions** are the operator set versions (opsets) in which the operator's definition changed. Models of all opsets
  from the first of them on are understood.
- **Kernel**: the types for which the operator has a kernel of its own. 16-bit floats are in this column, too, if the
  operator is computed in float32 and its values are converted.
- **Plain loop**: the types that run by the simple loop that defines the operator. It is correct, but uses one thread
  and no vector instructions.
- **Not**: types of the definition that are refused when the model is loaded.
- *partly*: only some values of the attributes are possible. Strings, for example, cannot be interpolated.
- **Loaded as**: the operators that replace this one when the model is loaded. They are optimised like nodes of the
  model.

*floats* are float32, float64, float16 and bfloat16; *integers* are the signed and unsigned ones of 8 to 64 bits;
*complex* and *float8* are all types of that name with a sign; *the only ones*: the definition leaves no choice. The
types are those of inputs; where an attribute chooses the type of an output, all types of the definition run. If inputs
may have types that do not depend on each other, the name of each type parameter stands before its types; parameters
that are only int32 or int64 are left out. Operators with bodies (If, Loop, Scan, SequenceMap) and those for sequences
are listed with the types of the tensors in them.

| domain | operators | versions | versions × types | of these by a kernel | by a plain loop | refused |
|---|---|---|---|---|---|---|
{counts}

`tools/operators_page.py` makes this page: for each operator, version and type, the library loads a model of one node,
whose first input is computed and whose other inputs are constants, as in most models; all shapes are known. A test does
this again and fails if the page is no longer true.
"""
MISSING = """
## What is missing
These operators are in the schemas of ONNX Runtime 1.32, but its CPU has no kernel for them either:

"""


def type_name(element):
    name = schemas.NAMES[element]
    return RENAMED.get(name, name)


def shortened(names):
    """Names of types as text, whole families by their names."""
    left, text = set(names), []
    for family, members in FAMILIES.items():
        if left >= set(members.split()):
            left -= set(members.split())
            text.append(f"*{family}*")
    return " ".join(text + sorted(left))


class Entry:
    """What was found about one operator."""

    def __init__(self, operator, probe):
        self.operator, self.found = operator, {}  # {(version, variable, type): a way, refused, or "" if no model was drawn}
        self.partly = set()  # (variable, type) that only some attributes allow
        for version in operator.versions:
            types = probing.element_types(version)
            for variable, elements in types.items():
                for element in elements:
                    self.ask(probe, version, {variable: element}, variable, type_name(element))
            if not types:
                self.ask(probe, version, {}, "", FIXED)

    def ask(self, probe, version, types, *key):
        self.found[version.since, *key], partly = probe.way(self.operator, version, types)
        if partly:
            self.partly.add(key)

    def variables(self):
        """The type variables that are shown."""
        names = list(dict.fromkeys(variable for _, variable, _ in self.found))
        telling = [n for n in names if not {t for _, v, t in self.found if v == n} <= INDICES]
        return telling or names[:1]

    def is_drawn(self):
        return any(self.found.values())

    def types(self, variable, *ways):
        """{type: versions} of the types that run in one of these ways in some version, and in no slower one."""
        rank = [*probing.WAYS, probing.REFUSED]
        slowest = {}
        for (since, of, name), way in self.found.items():
            if of == variable and way:
                at = slowest.setdefault(name, {})
                at.setdefault(rank.index(way), []).append(since)
        return {name: at[max(at)] for name, at in slowest.items() if rank[max(at)] in ways}

    def cell(self, *ways):
        parts = []
        for variable in self.variables():
            types = self.types(variable, *ways)
            if not types:
                continue
            every = [n for n, versions in types.items() if self.in_all(variable, n, versions)]
            whole = [n for n in every if (variable, n) not in self.partly]
            text = [shortened(whole)] if whole else []
            text += [f"{n} (partly)" for n in sorted(set(every) - set(whole))]
            text += [f"{n} (version {', '.join(map(str, v))})" for n, v in sorted(types.items()) if n not in every]
            parts.append((f"{variable}: " if len(self.variables()) > 1 else "") + " ".join(text))
        return "; ".join(parts)

    def in_all(self, variable, name, versions):
        """Whether the type runs so in all versions that have it."""
        return len(versions) == sum(1 for (_, v, n), way in self.found.items() if v == variable and n == name and way)

    def row(self, becomes):
        versions = ", ".join(str(v.since) for v in self.operator.versions)
        kernel = self.cell("kernel") if self.is_drawn() else "depends on the nodes around it"
        cells = [kernel, self.cell("reference", "converted"), self.cell(probing.REFUSED), ", ".join(becomes)]
        return f"| {self.operator.name} | {versions} | " + " | ".join(c or "" for c in cells) + " |\n"


def counted(domain, entries):
    ways = [way for e in entries for way in e.found.values() if way]
    versions = sum(len(e.operator.versions) for e in entries)
    kernel, refused = ways.count("kernel"), ways.count(probing.REFUSED)
    return f"| {DOMAINS[domain]} | {len(entries)} | {versions} | {len(ways)} | {kernel} | {len(ways) - kernel - refused} | {refused} |"


def chapters(entries, rewritten, probe):
    text = ""
    for domain, title in DOMAINS.items():
        mine = [e for e in entries if e.operator.domain == domain]
        if not mine:
            continue
        text += f"\n## {title}\n| operator | versions | kernel | plain loop | not | loaded as |\n|---|---|---|---|---|---|\n"
        for e in mine:
            text += e.row(probe.parts(e.operator) if (domain, e.operator.name) in rewritten else [])
    return text


def missing(operators, known):
    text = MISSING
    for domain, title in DOMAINS.items():
        names = [o.name for key, o in sorted(operators.items()) if o.domain == domain and key not in known]
        if names:
            text += textwrap.fill(f"- {title}: {', '.join(names)}", 120, subsequent_indent="  ", break_on_hyphens=False) + "\n"
    return text


def page(library):
    """The text of the page."""
    import onnxruntime.capi.onnxruntime_pybind11_state as oracle
    operators = schemas.load(oracle, schemas.EVERY_OPSET)
    probe = probing.Probe(library)
    try:
        listed = {("" if o["domain"] == "ai.onnx" else o["domain"], o["name"]): o for o in probe.engine.operators()}
        rewritten = {key for key, o in listed.items() if o.get("rewritten")}
        lacking = sorted(o.label for key, o in operators.items() if o.kernels and key not in listed)
        if lacking:
            raise SystemExit(f"ONNX Runtime has kernels for {', '.join(lacking)}, Retort has not; say so in the page")
        entries = [Entry(o, probe) for key, o in sorted(operators.items()) if key in listed]
        counts = "\n".join(counted(d, [e for e in entries if e.operator.domain == d]) for d in DOMAINS if any(e.operator.domain == d for e in entries))
        return HEAD.format(counts=counts) + chapters(entries, rewritten, probe) + missing(operators, listed)
    finally:
        probe.close()


def differences(library):
    """The lines in which the committed page and the library differ."""
    committed = ""
    if os.path.exists(PAGE):
        with open(PAGE, encoding="utf-8") as f:
            committed = f.read()
    return list(difflib.unified_diff(committed.splitlines(True), page(library).splitlines(True), "docs/operators.md", "now", n=0))


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--library", default=os.environ.get("RETORT_LIBRARY") or os.path.join(ROOT, "out", "lib", "libretort.so.1"))
    ap.add_argument("--update", action="store_true", help="write the page")
    a = ap.parse_args()
    if a.update:
        text = page(a.library)
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    changed = differences(a.library)
    if changed:
        print("FAIL docs/operators.md does not agree with the library; run tools/operators_page.py --update")
        print("".join(changed))
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
