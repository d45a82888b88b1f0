#!/usr/bin/env python3
"""The tables of figures in README.md, made from what bench/measured.py keeps: a column for each processor at its best level.

    headlines.py [--measured FOLDER] [--rows FILE] [--page PAGE]

FILE (bench/headlines.tsv) says which figures. A figure is the peer's time divided by Retort's with one thread; in
brackets: with the second thread count. --page writes each table between its marks. A processor that has nothing of a
table has no column there; one that has a part is an error, so that all rows of a column are of one run. A table without
columns stays as it is.
"""
import argparse
import os
import sys

from check import Wrong
from levels import complete, exit_code, group_of, write_between
from measured import FOLDER, files

FIGURES = ("ratio", "mean 1", "mean 2", "mean 3", "slowest", "start")
HERE = os.path.dirname(os.path.abspath(__file__))
TITLES = {"float32": "float32 model", "openvino": "beside OpenVINO", "quantised": "quantised model", "bf16": "with `session.precision` = bf16"}


def read_rows(path):
    """[(table, words, figure, of what)] in the order of the file."""
    try:
        with open(path, encoding="utf-8") as f:
            rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    except OSError as e:
        raise Wrong(f"rows: {e.strerror}: {path}") from e
    for row in rows:
        if len(row) != 4 or row[0] not in TITLES or row[2] not in FIGURES:
            raise Wrong(f"{path}: a row has a table of {', '.join(TITLES)}, words, one of {', '.join(FIGURES)} and what it is of, not {row}")
    return rows


def brackets(values):
    words = [f"{v:.2f}" for v in values]
    return words[0] + (f" ({', '.join(words[1:])})" if words[1:] else "")


def ratio_cell(scenarios, names):
    """A figure for each scenario; None if one has no ratio."""
    ratios = {s["name"]: [row["ratio"] for row in s["report"]] for s in scenarios}
    return "; ".join(brackets(ratios[name]) for name in names.split()) if set(names.split()) <= set(ratios) else None


def group_cell(report, figure, name):
    """A figure of a group beside a peer, and the number of its scenarios; None if the report does not have it."""
    group = group_of(report["means"], name)
    peer = int(figure.partition(" ")[2] or 1) - 1
    if not group or any(len(row["peers"]) <= peer for row in group["report"]):
        return None, 0
    found = [row["peers"][peer] for row in group["report"]]
    if figure == "start":
        text = f"{found[0]['start_ratio']:.1f}; {found[0]['peak_ratio']:.1f}"
    elif figure == "slowest":
        slowest = [f"{f['slowest']['ratio']:.2f} {f['slowest']['name']}" for f in found]
        text = slowest[0] + (f" ({', '.join(slowest[1:])})" if slowest[1:] else "")
    else:
        text = brackets([f["ratio"] for f in found])
    return text, found[0]["scenarios"]


def column(report, rows, title):
    """The cells of a processor, each with the number of scenarios that it is of (0: those that the row names); None if it has none of them."""
    scenarios = report["bf16" if rows[0][0] == "bf16" else "scenarios"]
    found = [(ratio_cell(scenarios, what), 0) if figure == "ratio" else group_cell(report, figure, what) for _, _, figure, what in rows]
    if not any(cell for cell, _ in found):
        return None
    for (_, _, figure, what), (cell, _) in zip(rows, found):
        if not cell:
            raise Wrong(f"{report['called']} has no {figure} of {what}, but other figures of the table '{title}'; measure all of them in one run")
    return found


def table(reports, rows, title):
    """A column for each processor that has figures of the table; None if none has."""
    columns = {r["called"]: column(r, rows, title) for r in reports}
    columns = {called: cells for called, cells in columns.items() if cells}
    if not columns:
        return None
    lines = [f"| {title} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for k, (_, words, _, _) in enumerate(rows):
        cells = [of_processor[k] for of_processor in columns.values()]
        n = cells[0][1]
        lines.append(f"| {words.format(n=n)} | " + " | ".join(cell + (f", of {own}" if own != n else "") for cell, own in cells) + " |")
    return "\n".join(lines)


def tables(reports, rows):
    """{name: text} of the tables of which a processor has figures."""
    found = {name: table(reports, [row for row in rows if row[0] == name], title) for name, title in TITLES.items() if any(row[0] == name for row in rows)}
    found = {name: text for name, text in found.items() if text}
    if not found:
        raise Wrong("no processor has a figure of the tables")
    return found


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--measured", default=FOLDER, metavar="FOLDER")
    ap.add_argument("--rows", default=os.path.join(HERE, "headlines.tsv"), metavar="FILE")
    ap.add_argument("--page", default="")
    a = ap.parse_args()

    def write():
        rows = read_rows(a.rows)
        best = [r for r in files(a.measured) if r["machine"]["level"] == (r["machine"]["best_level"] or r["machine"]["level"])]
        for name, text in complete(lambda: tables(best, rows)).items():
            print(text)
            if a.page:
                write_between(a.page, f"<!-- {name}: begin (make bench-docs) -->", f"<!-- {name}: end -->", text)

    return exit_code("headlines.py", write)


if __name__ == "__main__":
    sys.exit(main())
