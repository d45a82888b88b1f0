#!/usr/bin/env python3
"""Makes the table of bindings/rust/README.md from the outputs of the program `ratios`.

    report.py RETORT OFFICIAL [PAGE]   files with the output on each library; prints the table, and with PAGE writes it
                                       between the lines <!-- measured --> and <!-- end --> of that page
"""
import os
import re
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "tools"))
import processor  # noqa: E402

# What the page calls a call, and its name in the output, where LENGTH is the number of elements.
CALLS = (
    ("run, 1 input", "run, 1 input of LENGTH"),
    ("run, 3 inputs", "run, 3 inputs of LENGTH"),
    ("view of data, run, read the output", "view, run and extract, 1 input of LENGTH"),
    ("bound run, 1 input", "bound run, 1 input of LENGTH"),
    ("bound run, 3 inputs", "bound run, 3 inputs of LENGTH"),
    ("bound run to a place in memory, read the output", "bound run to a place in memory and extract, 1 input of LENGTH"),
    ("value by copy", "value by copy, LENGTH"),
    ("value of a vector", "value of a vector, LENGTH"),
    ("value over borrowed memory", "value over borrowed memory, LENGTH"),
    ("read elements", "extract of LENGTH"),
)
LENGTHS = (4, 1024)
ROW = re.compile(r"^\| (.+?) \| \d+ ns \| \d+ ns \| ([\d.]+) \|$", re.M)


def measured(text):
    """The ratios of an output by name, and the version of its library."""
    version = re.search(r"library (\S+)$", text, re.M)
    if not version:
        raise SystemExit("the output names no library: it is not whole")
    return dict(ROW.findall(text)), version[1]


def table(retort, official):
    lines = ["| call | " + " | ".join(f"{name}, {length}" for name in ("Retort", "official") for length in LENGTHS) + " |", "|---|---:|---:|---:|---:|"]
    for title, name in CALLS:
        ratios = [library[name.replace("LENGTH", str(length))] for library in (retort, official) for length in LENGTHS]
        lines.append(f"| {title} | " + " | ".join(ratios) + " |")
    return "\n".join(lines)


def ort_version():
    with open(os.path.join(HERE, "Cargo.toml"), encoding="utf-8") as f:
        return re.search(r'^ort = .*version = "=([^"]+)"', f.read(), re.M)[1]


def page(retort, official, machine, rust):
    (ours, _), (theirs, version) = measured(retort), measured(official)
    head = (f"Measured by `bench.sh` on {machine}, with Rust {rust} and crate `ort` {ort_version()}. \"Official\" is ONNX Runtime {version}; \"4\" and \"1024\" are "
            "the numbers of floats in an input.")
    return textwrap.fill(head, 120, break_long_words=False, break_on_hyphens=False) + "\n\n" + table(ours, theirs) + "\n"


def written(before, text):
    """The page with that text between its marks."""
    after, count = re.subn(r"(<!-- measured -->\n).*?(<!-- end -->)", lambda m: m[1] + text + m[2], before, flags=re.S)
    if count != 1:
        raise SystemExit(f"the page has {count} places for the table instead of one: lines <!-- measured --> and <!-- end -->")
    return after


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def main(retort, official, target=None):
    rust = subprocess.run(["rustc", "--version"], check=True, capture_output=True, encoding="utf-8").stdout.split()[1]
    text = page(read(retort), read(official), processor.describe(), rust)
    print(text)
    if target:
        after = written(read(target), text)
        with open(target, "w", encoding="utf-8") as f:
            f.write(after)


if __name__ == "__main__":
    main(*sys.argv[1:])
