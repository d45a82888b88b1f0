#!/usr/bin/env python3
"""Excerpts of programs in the documentation: a block of code below a line

    <!-- excerpt: examples/io_binding/known_shape.cc [bind] -->

is the part of that file between the comment [bind] and the next such comment.

    excerpts.py            lists the blocks that differ from the programs
    excerpts.py --update   corrects them
"""
import argparse
import glob
import os
import re
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = re.compile(r"(<!-- excerpt: (\S+) \[(\w+)\] -->\n```\w*\n)(.*?)(```\n)", re.S)
NAMED = re.compile(r"<!-- excerpt:")
MARK = re.compile(r"^\s*(?://|/\*|<!--|#) \[(\w+)\](?: \*/| -->)?$")


def part(text, name):
    """The lines from the mark of that name to the next mark, without their common indentation."""
    lines, found = [], False
    for line in text.splitlines(True):
        mark = MARK.match(line.rstrip("\n"))
        if mark and found:
            return textwrap.dedent("".join(lines))
        if mark:
            found = mark[1] == name
        elif found:
            lines.append(line)
    raise ValueError(f"no part [{name}] that ends with another mark")


def filled(text, root=ROOT):
    """The page with the current excerpts in its blocks."""
    def block(match):
        with open(os.path.join(root, match[2]), encoding="utf-8") as f:
            source = f.read()
        try:
            return match[1] + part(source, match[3]) + match[5]
        except ValueError as e:
            raise ValueError(f"{match[2]}: {e}") from None
    if len(BLOCK.findall(text)) != len(NAMED.findall(text)):
        raise ValueError("a line 'excerpt: FILE [PART]' has no block of code right below it")
    return BLOCK.sub(block, text)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--update", action="store_true", help="write the blocks")
    update, stale = ap.parse_args().update, 0
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "*.md"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        now = filled(text)
        if now != text and update:
            with open(path, "w", encoding="utf-8") as f:
                f.write(now)
        elif now != text:
            print(f"FAIL {os.path.relpath(path, ROOT)} does not agree with the programs; run tools/excerpts.py --update")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
