"""Finds phrases that must not come back into hand-written pages; phrases.tsv lists each with what to write instead.

check_layers.py prints the complaints. Code in a page (fenced or indented blocks, `spans`) is ignored, and so are generated
pages.
"""
import os
import re

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "phrases.tsv")
GENERATED = {"docs/benchmarks.md", "docs/config.md", "docs/differences.md", "docs/errors.md"}
FENCED = re.compile(r"^[ \t]*```.*?^[ \t]*```[ \t]*$", re.M | re.S)
INDENTED = re.compile(r"(?<=\n\n) {4}[^\n]*(?:\n(?: {4}[^\n]*)?)*")
SPAN = re.compile(r"`[^`\n]+`")


def read_phrases(path=LIST):
    """[(pattern, what to write instead)]; a space in a phrase also matches the end of a line."""
    with open(path, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    for row in rows:
        if len(row) != 2 or not all(row):
            raise ValueError(f"{path}: a row is a phrase, a tab and what to write instead, not {row}")
    return [(re.compile(phrase.replace(" ", r"\s+"), re.I), instead) for phrase, instead in rows]


def without_code(text):
    """The text with code blanked out; every line stays where it was."""
    def blank(match):
        return re.sub(r"[^\n]", "`", match.group(0))
    for code in (FENCED, INDENTED, SPAN):
        text = code.sub(blank, text)
    return text


def complaints(path, text, phrases):
    """The errors in a page, one sentence each."""
    prose = without_code(text)
    for phrase, instead in phrases:
        for found in phrase.finditer(prose):
            words = " ".join(text[found.start():found.end()].split())
            yield f"{path}:{prose.count(chr(10), 0, found.start()) + 1}: '{words}': {instead} (tools/phrases.tsv)"


def check(root, paths):
    """Complaints about the pages among `paths`."""
    phrases = read_phrases()
    for path in paths:
        if path.endswith(".md") and path not in GENERATED and os.path.isfile(os.path.join(root, path)):
            with open(os.path.join(root, path), encoding="utf-8") as f:
                yield from complaints(path, f.read(), phrases)
