"""Checks that Markdown pages are well-formed and that the files they name exist; check_layers.py prints the complaints.

- A link leads to a file or folder of the project, and its anchor to a heading of that page.
- A path in `code` exists if it begins with a folder of the project or ends like a source file. Short forms are allowed:
  the end of a path, or a pattern with *. tools/absent_paths.tsv lists files that are generated or that the reader
  writes, with reasons; a file that a page shows in full (recipes.py) needs no row there. Parts that the reader replaces are written as <family>/<name>.cc or LANG/run.sh.
- The page was not damaged by a formatter of another language: it begins with a title, headings have a blank after their
  #, no line consists of punctuation alone, code blocks end and contain no Markdown, code spans close, and the rows of a
  table have as many cells as its head.
- Prose wraps at WIDTH columns, except in pages of GENERATED. Tables, headings, code, HTML and lines with a long link may
  be longer.
"""
import fnmatch
import os
import re

ABSENT = "tools/absent_paths.tsv"
WIDTH = 120
GENERATED = "docs/benchmarks/"  # the folder of pages that `retort bench --markdown` writes
FENCE = re.compile(r"\s*(```+|~~~+)")
LIST = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\s*\[[^\]]+\]:\s*(\S+)|\b(?:src|href)=\"([^\"]+)\"", re.M)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
ANY_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
SOURCE = re.compile(r"\.(?:cc|h|hpp|c|in|py|sh|rs|java|tsv|cmake|md|fbs|js|css|html|map)$|^CMakeLists\.txt$")
SHOWN = re.compile(r"^<!-- file: (\S+) -->$", re.M)
WORD = re.compile(r"[\w.+*-]+(?:/[\w.+*-]*)*")


class Tree:
    """The files and folders of the project, by all ends of their paths."""

    def __init__(self, files):
        self.paths, self.ends = {"."}, set()
        for path in files:
            while path and path not in self.paths:
                self.paths.add(path)
                parts = path.split("/")
                self.ends.update("/".join(parts[i:]) for i in range(len(parts)))
                path = os.path.dirname(path)
        self.tops = {p for p in self.paths if "/" not in p} - {"."}  # pages name headers of rooms without src/
        self.tops |= {p.removeprefix("src/") for p in self.paths if re.fullmatch(r"src/\w+", p)}

    def has(self, name):
        return bool(fnmatch.filter(self.ends, name)) if "*" in name else name in self.ends

    def leads(self, page, target):
        return os.path.normpath(os.path.join(os.path.dirname(page), target)) in self.paths


def with_kinds(text):
    """(line, "prose", "fence" or "indented") for each line."""
    fence, in_list, before = None, False, "blank"
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if fence:
            fence = None if mark and mark.group(1).startswith(fence) else fence
            before = "fence"
        elif mark:
            fence, before = mark.group(1), "fence"
        elif not line.strip():
            before = before if before == "indented" else "blank"
        elif line.startswith("    ") and not in_list and before != "prose":
            before = "indented"
        else:
            in_list = bool(LIST.match(line)) or in_list and (line.startswith(" ") or before == "prose")
            before = "blank" if line.startswith("#") else "prose"
        yield line, before if before in ("fence", "indented") and line.strip() else "prose"


def is_closed(text):
    """Whether every fence of the page ends."""
    fence = None
    for mark in filter(None, map(FENCE.match, text.split("\n"))):
        fence = mark.group(1) if not fence else None if mark.group(1).startswith(fence) else fence
    return fence is None


def cells(row):
    return len(re.findall(r"(?<!\\)\|", row.strip())) - 1


def table_errors(lines):
    """(line number, complaint) about rows of tables. `lines`: (line, kind)."""
    head = 0
    for number, (line, kind) in enumerate(lines, 1):
        if kind != "prose" or not line.startswith("|"):
            head = 0
        elif not line.rstrip().endswith("|"):
            yield number, "a row of a table that does not end with |"
        elif not head:
            head = cells(line)
            if number == len(lines) or not re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+\s*", lines[number][0]):
                yield number, "a table without a line of dashes under its head"
        elif cells(line) != head:
            yield number, f"a row with {cells(line)} cells in a table of {head}"


def span_errors(lines):
    """(line number, complaint) about paragraphs in which a code span does not close."""
    paragraph, begin = "", 1
    for number, (line, kind) in enumerate([*lines, ("", "prose")], 1):
        if kind != "prose" or not line.strip() or LIST.match(line) or line.startswith(("|", "#")):
            if "`" in ANY_SPAN.sub("", paragraph):
                yield begin, "a code span that does not close"
            paragraph, begin = "", number
        if kind == "prose":
            paragraph += line + "\n"


def is_too_long(line):
    """Whether a line of prose could be wrapped and is not."""
    shown = re.sub(r"\]\([^()]*\)", "]", line)
    is_other = shown.startswith(("|", "#", "<", "[", " " * 6))  # six spaces: code in a list
    return len(shown) > WIDTH and not is_other and " " in shown[:WIDTH].strip().lstrip("-* ")


def shape_errors(text):
    """(line number, complaint) about damage by a formatter that took the page for source code."""
    lines = list(with_kinds(text))
    if not text.startswith("# "):
        yield 1, "a page begins with its title: # TITLE"
    if not is_closed(text):
        yield len(lines), "a code block that does not end"
    for number, (line, kind) in enumerate(lines, 1):
        if kind == "prose" and re.match(r"#{1,6}[^#\s]", line):
            yield number, "a heading without a blank after its #"
        if kind == "indented" and "`" in line:
            yield number, "Markdown in an indented block, which is shown as code"
        if kind != "fence" and re.fullmatch(r"\s*[.,;:!?)\]}]\s*", line):
            yield number, "a line of punctuation alone"
    yield from table_errors(lines)
    yield from span_errors(lines)


def width_errors(text):
    """(line number, complaint) about lines of prose that are too long."""
    for number, (line, kind) in enumerate(with_kinds(text), 1):
        if kind == "prose" and is_too_long(line):
            yield number, f"a line of {len(line)} columns: wrap prose at {WIDTH}"


def anchors(text):
    """The anchors of a page's headings."""
    found = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for line, kind in with_kinds(text):
        if kind == "prose" and line.startswith("#"):
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip()).lower()
            slug, count = re.sub(r"[^\w\- ]", "", title).replace(" ", "-"), 0
            while slug + (f"-{count}" if count else "") in found:
                count += 1
            found.add(slug + (f"-{count}" if count else ""))
    return found


def link_errors(page, prose, tree, pages):
    for found in LINK.finditer(SPAN.sub(lambda m: " " * len(m.group(0)), prose)):
        link = next(filter(None, found.groups()))
        if re.match(r"[a-z]+:|//", link):
            continue
        target, _, anchor = link.partition("#")
        place = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
        if target and not tree.leads(page, target):
            yield f"{page}: the link to {link} leads nowhere"
        elif anchor and place in pages and anchor not in anchors(pages[place]):
            yield f"{page}: the link to {link} names no heading of {place}"


def named_paths(lines, tree):
    """Names in a page that look like paths of the project."""
    prose = "\n".join(line if kind == "prose" else "" for line, kind in lines)
    for span in SPAN.findall(prose):
        for word in re.sub(r"<[^<>]+>", "*", span).split():
            word = word.rstrip(",;:.").rstrip("/")
            if WORD.fullmatch(word) and not word.startswith("."):
                if SOURCE.search(word) or "/" in word and word.split("/")[0] in tree.tops:
                    yield word
    for line, kind in lines:
        if kind != "prose":
            for word in re.findall(r"(?<![\w./$~<>…-])[\w.+-]+(?:/[\w.+-]+)+(?![\w<{*…])", line):
                if word.split("/")[0] in tree.tops:
                    yield word.rstrip(".")


def is_placeholder(name, tree):
    """Whether the reader replaces a part of the path, as in LANG/run.sh."""
    return any(re.fullmatch(r"[A-Z]{2,}", os.path.splitext(part)[0]) and not tree.has(part) for part in name.split("/"))


def names(pages, files):
    """{name: pages} of all names that look like paths of the project."""
    tree, found = Tree(files), {}
    for page, text in sorted(pages.items()):
        for name in set(named_paths(list(with_kinds(text)), tree)):
            found.setdefault(name, []).append(page)
    return found


def path_errors(named, tree, absent, shown):
    """Complaints about names in pages that are not paths, and about rows of the table that are not needed. `shown`:
    {page: Tree of the files that it shows}."""
    for name, where in sorted(named.items()):
        for page in where:
            if not (name in absent or tree.has(name) or shown[page].has(name) or tree.leads(page, name) or is_placeholder(name, tree)):
                yield f"{page} names {name}, which does not exist"
    for name in sorted(set(absent) - set(named)):
        yield f"{ABSENT}: no page names {name}: take the row out (--update)"


def complaints(pages, files, absent):
    """The errors in the pages, one sentence each. `pages`: {path: text}; `files`: paths of the project; `absent`: names
    that need not exist."""
    tree = Tree(files)
    for page, text in sorted(pages.items()):
        widths = [] if page.startswith(GENERATED) else width_errors(text)
        yield from (f"{page}:{number}: {what}" for number, what in [*shape_errors(text), *widths])
        yield from link_errors(page, "\n".join(line if kind == "prose" else "" for line, kind in with_kinds(text)), tree, pages)
    shown = {page: Tree(SHOWN.findall(text)) for page, text in pages.items()}
    yield from path_errors(names(pages, files), tree, absent, shown)
