#!/usr/bin/env python3
"""Worked examples in docs/: files that the reader writes. A block of code below a line

    <!-- file: src/passes/rules/double_neg.cc -->

is such a file. A block below `<!-- row: abi/functions.tsv -->` is a row of that table. It follows the last row with the
same first cell.

    recipes.py                list the files and rows of all pages
    recipes.py write DIR      write into DIR the files, the tables with the new rows, and what tools/gen_abi.py generates from these
                              tables (DIR/include, DIR/abi). Prints the paths of sources. Does not write files whose text has not
                              changed, or files that exist in the tree (recipes_test.py then fails and asks for another example)
    recipes.py filters        print the test programs and filters that the pages tell the reader to run: "ops_test *GatedRelativePositionBias*"
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = re.compile(r"<!-- (file|row): (\S+) -->\n```\w*\n(.*?)^```$", re.S | re.M)
NAMED = re.compile(r"<!-- (?:file|row):")
GENERATED = ("include", "abi")  # folders that generate_abi() fills
RUN = re.compile(r"^    build/release/(\w+) --gtest_filter='([^']+)'$", re.M)


def pages(root=ROOT):
    for path in sorted(glob.glob(os.path.join(root, "docs", "*.md"))):
        with open(path, encoding="utf-8") as f:
            yield os.path.relpath(path, root), f.read()


def blocks(text):
    """("file" or "row", path, text) of a page."""
    found = BLOCK.findall(text)
    if len(found) != len(NAMED.findall(text)):
        raise ValueError("a line 'file: PATH' or 'row: PATH' has no block of code right below it")
    return found


def with_row(table, row):
    """The text of a table with the row inserted after the last one that has the same first cell."""
    lines = table.splitlines(True)
    kind = row.split("\t")[0] + "\t"
    last = max((i for i, line in enumerate(lines) if line.startswith(kind)), default=len(lines) - 1)
    return "".join([*lines[:last + 1], row.rstrip("\n") + "\n", *lines[last + 1:]])


def put(path, text):
    """Writes a file if its text changes, so that builds stay incremental."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            if f.read() == text:
                return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def generate_abi(rows, folder, root=ROOT):
    """Runs gen_abi.py on the tables with these rows."""
    with tempfile.TemporaryDirectory() as tree:
        shutil.copytree(os.path.join(root, "abi"), os.path.join(tree, "abi"))
        os.mkdir(os.path.join(tree, "tools"))
        for path in glob.glob(os.path.join(root, "tools", "gen_abi*.py")):
            shutil.copy(path, os.path.join(tree, "tools"))
        for path, row in rows:
            table = os.path.join(tree, path)
            with open(table, encoding="utf-8") as f:
                text = f.read()
            put(table, with_row(text, row))
        for what, to in (("headers", os.path.join("include", "retort")), ("sources", "abi")):
            subprocess.run([sys.executable, os.path.join(tree, "tools", "gen_abi.py"), what, os.path.join(folder, to)], check=True)


def remove_others(folder, kept):
    """Removes files of examples that the pages no longer have."""
    for path in glob.glob(os.path.join(folder, "**", "*.*"), recursive=True):
        made = os.path.relpath(path, folder).split(os.sep)[0] in GENERATED
        if not made and path not in kept and os.path.isfile(path):
            os.remove(path)


def write(folder):
    rows, files = [], []
    for _, text in pages():
        for kind, path, content in blocks(text):
            if kind == "row":
                rows.append((path, content))
            elif not os.path.exists(os.path.join(ROOT, path)):
                files.append(os.path.join(folder, path))
                put(files[-1], content)
    remove_others(folder, files)
    generate_abi(rows, folder)
    print("\n".join(files))


def main(arguments):
    if arguments[:1] == ["write"] and len(arguments) == 2:
        write(os.path.abspath(arguments[1]))
    elif arguments == ["filters"]:
        for _, text in pages():
            for program, tests in RUN.findall(text):
                print(program, tests)
    elif not arguments:
        for page, text in pages():
            for kind, path, _ in blocks(text):
                print(f"{page}\t{kind}\t{path}")
    else:
        return __doc__
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
