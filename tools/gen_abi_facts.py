"""The tables of abi/, which the generators of headers and sources read."""
import csv
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Facts that the tables keep, but that do not appear in the inference headers.
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
