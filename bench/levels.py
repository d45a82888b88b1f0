#!/usr/bin/env python3
"""One table of the means that bench/measured.py keeps: a column for each instruction level and processor.

    levels.py [REPORT ...] [--page PAGE ...] [--list PAGE]

Ratios are the first peer's time or memory divided by Retort's; in brackets: with the second thread count. --page writes
the table between the marks of the page. With REPORTs, the table is of them.
"""
import argparse
import sys

from check import Wrong, level_of, load
from measured import file_name, files

BEGIN, END = "<!-- levels: begin (make bench-docs) -->", "<!-- levels: end -->"
LIST_MARKS = "<!-- pages: begin (make bench-docs) -->", "<!-- pages: end -->"
# The group of means, what the table calls it, and the figure.
ROWS = [("float32", "float32, geometric mean", "ratio"), ("float32, CNN", "CNNs", "ratio"), ("float32, transformer", "transformers", "ratio"),
        ("float32, rest", "others", "ratio"), ("float32", "load and first run", "start_ratio"), ("float32", "peak memory", "peak_ratio")]


def group_of(means, name):
    """The means of a group; a report of one precision has it under "all"."""
    found = {m["name"]: m for m in means}
    return found.get(name) or (found.get(name.replace("float32", "all")) if "float32" not in found else None)


def figure(group, key):
    """The mean of each thread count: "1.43 (1.40)"; times of starts and memory with the first thread count only."""
    values = [f"{row['peers'][0][key]:.2f}" for row in group["report"] if row["peers"]]
    if key != "ratio":
        return values[0] if values else ""
    return values[0] + (f" ({', '.join(values[1:])})" if values[1:] else "") if values else ""


def slower(report):
    """The number of float32 scenarios that are slower than with the first peer, for each thread count."""
    counts = {}
    for s in report["scenarios"]:
        if not s.get("precision", "").startswith("float32"):
            continue
        for row in s.get("report", []):
            if "ratio" in row:
                counts.setdefault(row["threads"], []).append(row["ratio"] < 1)
    words = [f"{sum(c)} of {len(c)}" for c in counts.values()]
    return words[0] + (f" ({', '.join(words[1:])})" if words[1:] else "") if words else ""


def title(report):
    machine = report["machine"]
    level = level_of(machine)
    name = report.get("called", machine["processor"])
    return f"{level} on {name}" + (" (RETORT_ISA)" if level != (machine.get("best_level") or level) else "")


def pages(kept):
    """The pages with all figures of what is kept, one line for each."""
    return "\n".join(f"- [{title(r)}](benchmarks/{file_name(r)}.md), {r['date'].partition(' ')[0]}, {' and '.join(r['engines'])}" for r in kept)


def table(reports):
    lines = ["| beside " + reports[0]["engines"][1] + " | " + " | ".join(map(title, reports)) + " |", "|---" * (len(reports) + 1) + "|"]
    for name, words, key in ROWS:
        cells = [figure(group, key) if (group := group_of(r["means"], name)) else "" for r in reports]
        lines += [f"| {words} | " + " | ".join(cells) + " |"] if any(cells) else []
    lines.append("| scenarios below 1.00 | " + " | ".join(map(slower, reports)) + " |")
    return "\n".join(lines)


def write_between(page, begin, end, text):
    """Replaces what the page has between two lines."""
    with open(page, encoding="utf-8") as f:
        head, found, rest = f.read().partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise Wrong(f"{page} has no lines {begin} and {end}")
    with open(page, "w", encoding="utf-8") as f:
        f.write(f"{head}{begin}\n{text}\n{end}{tail}")


def complete(make):
    """make(), which reads reports and needs all of them to be complete."""
    try:
        return make()
    except (KeyError, IndexError, TypeError, ValueError) as e:
        raise Wrong(f"a report is not complete, or has no peer: {e!r}; measure with --against") from e


def exit_code(script, work):
    """0, or 2 if work() cannot be done, with the reason."""
    try:
        work()
    except Wrong as e:
        print(f"{script}: {e}", file=sys.stderr)
        return 2
    return 0


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("reports", nargs="*", metavar="REPORT")
    ap.add_argument("--page", default=[], action="append")
    ap.add_argument("--list", default="", metavar="PAGE", help="also write the list of pages between the marks of this page")
    a = ap.parse_intermixed_args()

    def write():
        reports = [load(path, "report") for path in a.reports] or files()
        text = complete(lambda: table(reports))
        print(text)
        for page in a.page:
            write_between(page, BEGIN, END, text)
        if a.list:
            write_between(a.list, *LIST_MARKS, pages(reports))

    return exit_code("levels.py", write)


if __name__ == "__main__":
    sys.exit(main())
