#!/usr/bin/env python3
"""Generates everything that follows from the ABI tables in abi/.

  gen_abi.py headers DIR    onnxruntime_c_api.h and onnxruntime_ep_c_api.h
  gen_abi.py sources DIR    slots.h, tables.cc, stubs.cc and the generated tests
  gen_abi.py check          exit 1 unless the committed headers equal the generated ones and the ledger names real slots

A file is rewritten only when its text changes, so builds stay incremental.
"""
import csv
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Facts kept in the tables, but without a place in the inference headers.
FOREIGN_TABLES = {"OrtTrainingApi", "OrtDmlApi"}
FOREIGN_TYPES = {"OrtDmlDeviceOptions", "OrtDmlPerformancePreference", "OrtDmlDeviceFilter", "OrtPropertyType",
                 "OrtCheckpointState", "OrtTrainingSession"}
# Table -> namespace of its functions inside retort::abi.
NAMESPACES = {"OrtApiBase": "base_api", "OrtApi": "", "OrtModelEditorApi": "editor_api", "OrtCompileApi": "compile_api",
              "OrtModelPackageApi": "package_api", "OrtInteropApi": "interop_api", "OrtEpApi": "ep_api"}


def rows(name):
    with open(os.path.join(ROOT, "abi", name), newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


class Facts:
    """The tables, grouped: tables[struct] and structs[struct] keep the order of the files."""

    def __init__(self):
        self.tables, self.structs, self.enums, self.groups = {}, {}, {}, {}
        for r in rows("functions.tsv"):
            if r["struct"] not in FOREIGN_TABLES:
                self.tables.setdefault(r["struct"], []).append(r)
        for r in rows("structs.tsv"):
            if r["struct"] not in FOREIGN_TYPES:
                self.structs.setdefault(r["struct"], []).append(r)
        for r in rows("enums.tsv"):
            if r["enum"] not in FOREIGN_TYPES:
                self.enums.setdefault(r["enum"], []).append(r)
        self.typedefs, self.macros = rows("typedefs.tsv"), rows("macros.tsv")
        with open(os.path.join(ROOT, "abi", "opaque.txt"), encoding="utf-8") as f:
            self.opaque = [n for n in f.read().split() if n not in FOREIGN_TYPES]
        for r in rows("groups.tsv"):
            self.groups[r["struct"], r["first"]] = r["text"]
        self.pending = [(r["struct"], r["name"]) for r in rows("pending.tsv")]

    def api_version(self):
        return int(next(m["value"] for m in self.macros if m["name"] == "ORT_API_VERSION"))

    def ledger_errors(self):
        slots = {(s, r["name"]) for s, table in self.tables.items() for r in table}
        bad = ["pending.tsv: no slot %s.%s" % p for p in self.pending if p not in slots]
        bad += ["groups.tsv: no slot %s.%s" % g for g in self.groups if g not in slots]
        return bad + ["pending.tsv: %s.%s twice" % p for p in set(self.pending) if self.pending.count(p) > 1]


def write(folder, name, text):
    path = os.path.join(folder, name)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            if f.read() == text:
                return
    os.makedirs(folder, exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def headers(facts):
    import gen_abi_header as h
    return {"onnxruntime_c_api.h": h.c_api(facts), "onnxruntime_ep_c_api.h": h.ep_c_api(facts)}


def sources(facts):
    import gen_abi_sources as s
    return {"slots.h": s.slots_header(facts), "tables.cc": s.tables(facts), "stubs.cc": s.stubs(facts),
            "layout_test.cc": s.layout_test(facts), "slots_test.cc": s.slots_test(facts),
            "null_calls.inc": s.null_calls(facts)}


def main(arguments):
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    facts = Facts()
    errors = facts.ledger_errors()
    if arguments[:1] == ["check"]:
        for name, text in headers(facts).items():
            with open(os.path.join(ROOT, "include", "retort", name), encoding="utf-8") as f:
                if f.read() != text:
                    errors.append(name + " is not what tools/gen_abi.py generates: run it again")
    elif len(arguments) == 2 and arguments[0] in ("headers", "sources"):
        for name, text in (headers if arguments[0] == "headers" else sources)(facts).items():
            write(arguments[1], name, text)
    else:
        return __doc__
    return "\n".join(errors) or None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
