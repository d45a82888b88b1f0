#!/usr/bin/env python3
"""The tables of figures in README.md, made from reports of `retort bench --suite --report`.

    headlines.py REPORT [--bf16 REPORT] [--rows FILE] [--page PAGE]

FILE (bench/headlines.tsv) says which figures. REPORT has the float32 models, and may have the quantised ones; that of
--bf16 was measured with `--config session.precision=bf16`. A figure is the peer's time divided by Retort's with one
thread; in brackets: with the second thread count. --page writes each table between its marks. A table of which the
report has nothing stays as it is; one of which it has a part is an error, so that all rows of a table are of one run.
"""
import argparse
import os
import sys

from check import Wrong, load
from levels import complete, exit_code, group_of, write_between

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


def ratio_cell(report, names):
    """A figure for each scenario; None if one has no ratio."""
    scenarios = {s["name"]: s for s in report["scenarios"] if "error" not in s}
    cells = []
    for name in names.split():
        values = [row["ratio"] for row in scenarios.get(name, {}).get("report", []) if "ratio" in row]
        if not values:
            return None
        cells.append(brackets(values))
    return "; ".join(cells), {}


def group_cell(report, figure, name):
    """A figure of a group beside a peer, and what its words name; None if the report does not have it."""
    group = group_of(report["means"], name)
    peer = int(figure.partition(" ")[2] or 1) - 1
    if not group or any(len(row["peers"]) <= peer for row in group["report"]):
        return None
    found = [row["peers"][peer] for row in group["report"]]
    words = {"n": found[0]["scenarios"]}
    if figure == "start":
        return f"{found[0]['start_ratio']:.1f}; {found[0]['peak_ratio']:.1f}", words
    if figure == "slowest":
        words["of"] = " and ".join(dict.fromkeys(f["slowest"]["name"] for f in found))
        return brackets([f["slowest"]["ratio"] for f in found]), words
    return brackets([f["ratio"] for f in found]), words


def table(report, rows, title):
    """The figures in two columns, the first half on the left; None if the report has none of them."""
    found = [ratio_cell(report, what) if figure == "ratio" else group_cell(report, figure, what) for _, _, figure, what in rows]
    if not any(found):
        return None
    for (_, _, figure, what), cell in zip(rows, found):
        if not cell:
            raise Wrong(f"the report has no {figure} of {what}, but other figures of the table '{title}'; measure all of them in one run")
    cells = [f"| {words.format(**named)} | {cell} " for (_, words, _, _), (cell, named) in zip(rows, found)]
    half = (len(cells) + 1) // 2
    cells += ["| | "] * (2 * half - len(cells))
    return "\n".join([f"| {title} | ratio | | ratio |", "|---|---|---|---|"] + [cells[k] + cells[half + k] + "|" for k in range(half)])


def tables(report, bf16, rows):
    """{name: text} of the tables of which a report has figures."""
    found = {}
    for name, title in TITLES.items():
        own = [row for row in rows if row[0] == name]
        source = bf16 if name == "bf16" else report
        text = table(source, own, title) if source else None
        if text:
            found[name] = text
    if not found:
        raise Wrong("the report has no figure of the tables")
    return found


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("report", metavar="REPORT")
    ap.add_argument("--bf16", default="", metavar="REPORT")
    ap.add_argument("--rows", default=os.path.join(HERE, "headlines.tsv"), metavar="FILE")
    ap.add_argument("--page", default="")
    a = ap.parse_args()

    def write():
        rows = read_rows(a.rows)
        report, bf16 = load(a.report, "report"), load(a.bf16, "report") if a.bf16 else None
        for name, text in complete(lambda: tables(report, bf16, rows)).items():
            print(text)
            if a.page:
                write_between(a.page, f"<!-- {name}: begin (make bench-docs) -->", f"<!-- {name}: end -->", text)

    return exit_code("headlines.py", write)


if __name__ == "__main__":
    sys.exit(main())
