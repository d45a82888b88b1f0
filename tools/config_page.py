#!/usr/bin/env python3
"""Makes docs/config.md, and the engine's table of config keys, from abi/config_keys.tsv.

    config_page.py               checks that the page matches the table
    config_page.py --update      writes the page
    config_page.py --table FILE  writes the table for the engine, as C++

The columns of abi/config_keys.tsv: the object to which an entry is given; key; possible values; default; the values as
the engine checks them (src/session/config.h; empty if the code that reads the entry checks them); the result of other
values, a warning or the code of an error; how the entry is treated; what it does, or why it does nothing; the owner of
the key.
"""
import argparse
import csv
import difflib
import json
import os
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FACTS = os.path.join(ROOT, "abi", "config_keys.tsv")
PAGE = os.path.join(ROOT, "docs", "config.md")
SCOPES = {  # of entries that a program gives: a chapter each
    "session": ("Sessions", "`AddSessionConfigEntry` before the session is created."),
    "run": ("Runs", "`AddRunConfigEntry`."),
    "env": ("Environments", "`OrtEnvCreationOptions.config_entries` of `CreateEnvWithOptions`; only those of the first environment of a process have an effect."),
    "ep_dynamic": ("Sessions that run", "`SetEpDynamicOptions`."),
}
METADATA = {
    "ep_device_metadata": "`EpDevice_EpMetadata`",
    "hw_device_metadata": "`HardwareDevice_Metadata`",
    "model_metadata": "metadata of a model",
}
DEEDS = ("honoured", "rejected", "no effect")
CELLS = {"|": "&#124;", "<": "&lt;", ">": "&gt;", "*": "&#42;"}
HEAD = """# Config keys
Programs set config keys with functions of ONNX Runtime. Retort knows all keys of release 1.31 and some keys of its own.
A key is **honoured**; **rejected** with an error that gives the reason, because a result or a file would be missing; or
it has no effect, because its request is always fulfilled, or concerns a provider or a kernel library that Retort does
not have. Keys without effect are logged as information, with the reason.

| | {heads} |
|---|{rules}|
{counts}

- A value that a key cannot have is an error if ONNX Runtime rejects it. Otherwise it is ignored with a warning. Keys
  with the values `0` and `1` treat every other value as 0.
- Retort warns once about an unknown key, and names the most similar known key: `session.dissable_prepacking`,
  `optimisation.x`, `verbose`. The same applies to a key in the wrong place, such as a session's key given to a run.
- Keys of other owners cause no warning: options of providers, `ep.<name>.<option>`, and keys that begin with an owner
  that ONNX Runtime does not know, such as `my_app.tag`. All of them can be read back.
- Warnings go to the logger of the session (also for runs) or of the environment.
- Environment variables of the process are listed [at the end](#environment-variables).

`tools/config_page.py` makes this page from `abi/config_keys.tsv`, from which the engine's own table is made, too. Tests
compare both with the keys that the sources read.
"""

TAIL = """
## Environment variables
An empty variable counts as not set.

| variable | read by | values | otherwise |
|---|---|---|---|
| `RETORT_ISA` | the engine, once in a process | the instruction level to compute at, at most that of the processor: `v2`, `avx2` or `avx512` on x86-64, `neon` on AArch64; by default the processor's best | creating an environment fails (INVALID_ARGUMENT), also if the processor does not support the level: no other level is used instead |
| `RETORT_LIBRARY` | the tool `retort`, `retort/retort.hpp`, the bindings for Rust (linked at run time) and Java | the engine to open: a path or a name | opening it fails; no other engine is tried |
| `NO_COLOR` | the tool | anything: no colours | |

[`bindings/rust`](../bindings/rust/README.md) and [`docs/java.md`](java.md) list the other variables that the bindings
read.
"""


def read_facts():
    with open(FACTS, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def is_pattern(key):
    return "<" in key


def escaped(text):
    return "".join(CELLS.get(c, c) for c in text)


def cell(text):
    """Text for a table. Code stays in its backquotes, where only the table needs an escape."""
    parts = text.split("`")
    return "`".join(part.replace("|", "\\|") if i % 2 else escaped(part) for i, part in enumerate(parts))


def deed_of(row):
    what = cell(row["what"])
    return what if row["deed"] == "honoured" else f"**rejected**: {what}" if row["deed"] == "rejected" else f"no effect: {what}"


def table(rows):
    text = "| key | values | default | other values | what Retort does |\n|---|---|---|---|---|\n"
    for r in rows:
        text += f"| `{r['key']}` | {cell(r['values'])} | {cell(r['default'])} | {r['otherwise'] or '–'} | {deed_of(r)} |\n"
    return text


def counted(rows):
    lines = []
    for scope, (title, _) in SCOPES.items():
        of = [r["deed"] for r in rows if r["scope"] == scope]
        lines.append(f"| {title.lower()} | " + " | ".join(str(of.count(d)) for d in DEEDS) + " |")
    return "\n".join(lines)


def page(rows):
    text = HEAD.format(heads=" | ".join(DEEDS), rules="|".join("---" for _ in DEEDS), counts=counted(rows))
    for scope, (title, how) in SCOPES.items():
        mine = [r for r in rows if r["scope"] == scope]
        text += f"\n## {title}\n{textwrap.fill('Given by ' + how, 120, break_long_words=False, break_on_hyphens=False)}\n"
        for owner, name in ("retort", "Retort's own"), ("onnxruntime", "Of ONNX Runtime"):
            of = [r for r in mine if r["of"] == owner]
            if of:
                text += f"\n### {name}\n" * any(r["of"] == "retort" for r in mine) + "\n" + table(of)
    text += "\n## Metadata\nPrograms do not set these; devices, providers and models report them.\n\n| key | in | values | what it says |\n|---|---|---|---|\n"
    for r in rows:
        if r["scope"] in METADATA:
            text += f"| `{r['key']}` | {METADATA[r['scope']]} | {cell(r['values'])} | {cell(r['what'])} |\n"
    return text + TAIL


def engine_table(rows):
    """C++ rows of the keys that programs set, ordered by key; reasons only if the engine logs them."""
    text = '// Generated by tools/config_page.py from abi/config_keys.tsv.\n#include "session/config.h"\n\nnamespace retort {\n\n'
    text += "std::span<const ConfigKey> config_keys() {\n  static constexpr ConfigKey kKeys[] = {\n"
    for r in sorted(rows, key=lambda r: r["key"].encode()):
        if r["scope"] not in SCOPES or is_pattern(r["key"]):
            continue
        why = r["what"] if r["deed"] != "honoured" else ""
        code = r["otherwise"].lower() if r["otherwise"] not in ("", "warning") else "ok"
        standard = "" if r["default"] == "empty" else r["default"]
        key, form, standard, why = (json.dumps(t) for t in (r["key"], r["form"], standard, why))
        text += (f"      {{{key}, ConfigScope::{r['scope']}, ConfigDeed::{r['deed'].replace(' ', '_')}, {form}, {standard},\n"
                 f"       ErrorCode::{code}, {why}}},\n")
    return text + "  };\n  return kKeys;\n}\n\n}  // namespace retort\n"


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--update", action="store_true", help="write the page")
    ap.add_argument("--table", metavar="FILE", help="write the engine's table")
    a = ap.parse_args()
    rows = read_facts()
    if a.update or a.table:
        with open(a.table or PAGE, "w", encoding="utf-8") as f:
            f.write(engine_table(rows) if a.table else page(rows))
        return 0
    committed = ""
    if os.path.exists(PAGE):
        with open(PAGE, encoding="utf-8") as f:
            committed = f.read()
    if committed == page(rows):
        return 0
    print("FAIL docs/config.md does not match the table; run tools/config_page.py --update")
    print("".join(difflib.unified_diff(committed.splitlines(True), page(rows).splitlines(True), "docs/config.md", "now", n=0)))
    return 1


if __name__ == "__main__":
    sys.exit(main())
