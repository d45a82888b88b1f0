"""docs/errors.md: a table of the cases of each chapter, made from the libraries' messages, and read back."""
import html
import re

HEAD = """# Errors, side by side
This page shows {count} mistakes, and the error messages of Retort and of ONNX Runtime {version}. A message of Retort
names the place (model, node, operator), the actual and the expected values, and, after the semicolon, what to do.
`tests/errors` makes this page, and checks that each message has what its case requires. The models of the cases lie in
a folder that the page shows as `/models`.
"""
HEADINGS = "| mistake | Retort | ONNX Runtime |\n|---|---|---|\n"
SPECIAL = {c: f"&#{ord(c)};" for c in "|*`<>\\"}  # would end the cell, or be read as Markdown


def escape(text):
    return re.sub(r"\s*\n\s*", "<br>", "".join(SPECIAL.get(c, c) for c in text.replace("&", "&amp;")).replace("](", "]&#40;"))


def unescape(cell):
    return html.unescape(cell.replace("<br>", "\n"))


def cell(answer):
    code, text = answer
    return "no error" if code == "OK" else f"{escape(code)}: {escape(text)}" if text else escape(code)


def code_of(cell_text):
    code = cell_text.split(":")[0]
    return "OK" if code == "no error" else code


def page(answers, version):
    """The text of the page; `answers`: {(chapter, title): (ours, theirs)}, each (code, message), theirs as a
    finished cell."""
    text, last = HEAD.format(count=len(answers), version=version), ""
    for (chapter, title), (ours, theirs) in answers.items():
        if chapter != last:
            text += f"\n## {chapter}\n{HEADINGS}"
            last = chapter
        text += f"| {escape(title)} | {cell(ours)} | {theirs} |\n"
    return text


def read_oracle(text):
    """{(chapter, title): cell of the oracle} of a page, and the version of the oracle."""
    cells, chapter = {}, ""
    for line in text.splitlines():
        if line.startswith("## "):
            chapter = line[3:]
        parts = line.split(" | ")
        if line.startswith("| ") and len(parts) == 3 and parts[0] != "| mistake":
            cells[chapter, unescape(parts[0][2:])] = parts[2][:-2]
    version = re.search(r"ONNX Runtime ([\d.]+)\.", text)
    return cells, version.group(1) if version else ""
