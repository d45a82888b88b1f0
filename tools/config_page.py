#!/usr/bin/env python3
"""docs/config.md and the engine's table of config keys, both made from abi/config_keys.tsv.

    config_page.py               checks that the page agrees with the table
    config_page.py --update      writes it
    config_page.py --table FILE  writes the table for the engine, as C++

Columns of abi/config_keys.tsv: the object that takes the entry; key; values; value of an entry that is not set; the
values as the engine checks them (src/session/config.h; empty: the reader of the entry checks them); the effect of other
values, a warning or an error of that code; how the entry is handled; what it does, or why it has no effect; the owner
of the key. A key that ends in '*' stands for all keys that begin like it and have no row of their own.
"""
import argparse
import csv
import difflib
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FACTS = os.path.join(ROOT, "abi", "config_keys.tsv")
PAGE = os.path.join(ROOT, "docs", "config.md")
SCOPES = {  # of entries that a program sets; each has a chapter
    "session": ("Sessions", "`AddSessionConfigEntry` before the session is made."),
    "run": ("Runs", "`AddRunConfigEntry`."),
    "env": ("Environments", "`OrtEnvCreationOptions.config_entries` of `CreateEnvWithOptions`. Only the first\nenvironment of a process reads them."),
    "ep_dynamic": ("Sessions that run", "`SetEpDynamicOptions`."),
}
METADATA = {
    "ep_device_metadata": "`EpDevice_EpMetadata`",
    "hw_device_metadata": "`HardwareDevice_Metadata`",
    "model_metadata": "metadata of a model",
    "allocator_options": "options of `OrtEpFactory::CreateAllocator`",
}
DEEDS = ("honoured", "rejected", "no effect")
CELLS = {"|": "&#124;", "<": "&lt;", ">": "&gt;", "*": "&#42;"}
HEAD = """# Config keys
Programs set keys by the functions of ONNX Runtime. Retort knows all keys of release 1.32 and some of its own. This page
lists how Retort handles each of them:
- **honoured**: the column "what Retort does" describes the effect;
- **rejected**: the call fails with an error that gives the reason, because a result or a file would be missing;
- **no effect**: Retort always does what the key requests, or the key is for a provider or a kernel library that Retort
  does not have. Retort logs such keys as information, with the reason.

| | {heads} |
|---|{rules}|
{counts}

- An invalid value is an error if ONNX Runtime rejects it; otherwise it is ignored with a warning. Keys with the values
  `0` and `1` read every other value as 0.
- An unknown key causes one warning, which names the nearest known key. Examples are `session.dissable_prepacking`,
  `optimisation.x` and `verbose`. A key that was given to the wrong object, such as a session's key to a run, also
  causes a warning.
- Other keys cause no warning: options of providers, `ep.<name>.<option>`, and keys whose prefix is not one of ONNX
  Runtime's, such as `my_app.tag`. Programs can read all of them back.
- Warnings go to the logger of the session (also for runs) or of the environment.
- Environment variables are listed [at the end](#environment-variables).

`tools/config_page.py` makes this page, and the engine's own table, from `abi/config_keys.tsv`. Tests compare both with
the keys that the sources read.
"""

TAIL = """
## Environment variables
An empty variable counts as not set.

| variable | read by | values | otherwise |
|---|---|---|---|
| `RETORT_ISA` | the engine, once in a process | the instruction level to compute at, at most that of the processor: `v2`, `avx2` or `avx512` on x86-64, `neon` on AArch64; by default the processor's best. After the level, `-vnni`, `-bf16`, `-amx` and `-vbmi` take features away that the processor may have beside it, as in `avx512-vnni-bf16`: results for 8-bit codes stay the same | creating an environment fails (INVALID_ARGUMENT), also for a feature that does not exist, or if the processor lacks the level: Retort does not choose another one |
| `RETORT_LIBRARY` | the tool `retort`, `retort/retort.hpp`, the bindings for Python, Java and Rust (linked at run time) | path or name of the engine's library | opening it fails, and no other library is tried |
| `NO_COLOR` | the tool | any: the tool prints no colours | |

[`bindings/rust`](../bindings/rust/README.md) and [`docs/java.md`](java.md) list the other variables that these bindings read.
"""


def read_facts():
    with open(FACTS, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def is_pattern(key):
    return "<" in key


def escaped(text):
    return "".join(CELLS.get(c, c) for c in text)


def cell(text):
    """Text for a table; code stays in its backquotes, where nothing but the table needs an escape."""
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
        text += f"\n## {title}\nPrograms set these keys by {how}\n"
        for owner, name in ("retort", "Retort's own"), ("onnxruntime", "Of ONNX Runtime"):
            of = [r for r in mine if r["of"] == owner]
            if of:
                text += f"\n### {name}\n" * any(r["of"] == "retort" for r in mine) + "\n" + table(of)
    text += "\n## Metadata\nPrograms do not set these keys; devices, providers and models have them.\n\n| key | in | values | meaning |\n|---|---|---|---|\n"
    for r in rows:
        if r["scope"] in METADATA:
            text += f"| `{r['key']}` | {METADATA[r['scope']]} | {cell(r['values'])} | {cell(r['what'])} |\n"
    return text + TAIL


def engine_table(rows):
    """C++ rows of the keys that programs set, ordered by key, with reasons only if the engine reports them."""
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
    print("FAIL docs/config.md is not what the table says; run tools/config_page.py --update")
    print("".join(difflib.unified_diff(committed.splitlines(True), page(rows).splitlines(True), "docs/config.md", "now", n=0)))
    return 1


if __name__ == "__main__":
    sys.exit(main())
