#!/usr/bin/env python3
"""Compare a report of `retort bench --suite --report` with the expected ratios.

    check.py REPORT [--expected FILE] [--update] [--tolerance X] [--again COMMAND ...]

FILE (bench/expected.json) holds tables of ratios, each measured at one instruction level (RETORT_ISA) of one processor:
for each scenario and number of threads, the ratio peer's time / Retort's time, and how much of it noise may take:
`tolerance`, or a scenario's own under `tolerances`. The report is compared with the table of its level and processor.
If a ratio fell by more, or a scenario failed or differs now, the exit code is 1; ratios that rose by more are listed,
so that they can be kept: --update writes the ratios of the report, and keeps those of scenarios that it does not have.
If there is no table of the processor, one of the same level is compared, with a note: it is only a hint.

--again: everything after it is a command that measures, `retort bench --suite ZOO --against … --threads 1,2`. Ratios
that fell are measured again by it at the level of the report, and the better of the two counts: other load on the
machine rarely occurs twice.
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT_TOLERANCE = 0.1


class Wrong(Exception):
    """An error message for the user; the exit code is 2."""


def load(path, what):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except OSError as e:
        raise Wrong(f"{what}: {e.strerror}: {path}") from e
    except ValueError as e:
        raise Wrong(f"{what}: {path} is not JSON: {e}") from e


def ratios_of(report):
    """{scenario: {threads: ratio}} of scenarios that ran and agreed, and {scenario: reason} of the others."""
    ratios, failed = {}, {}
    for s in report["scenarios"]:
        if "error" in s or s.get("differs"):
            failed[s["name"]] = s.get("error", "an output differs by more than the tolerance")
            continue
        found = {str(row["threads"]): round(row["ratio"], 3) for row in s["report"] if "ratio" in row}
        if found:
            ratios[s["name"]] = found
    return ratios, failed


def level_of(machine):
    """The instruction level of Retort; that of the processor in reports which do not say it."""
    isa = set(machine.get("isa", []))
    best = "neon" if "asimd" in isa else "avx512" if "avx512bw" in isa else "avx2" if {"avx2", "fma"} <= isa else "v2"
    return machine.get("level", best)


def read_report(path):
    """What is compared: {level, processor, isa, engines, date}, ratios, reasons of failures."""
    report = load(path, "report")
    try:
        ratios, failed = ratios_of(report)
        machine = report["machine"]
        about = {"level": level_of(machine), "processor": machine["processor"], "isa": machine.get("isa", []), "engines": report.get("engines", []),
                 "date": report.get("date", "")}
    except (KeyError, TypeError, AttributeError) as e:
        raise Wrong(f"{path} is not a report of retort bench --suite: {e!r} is missing") from e
    if not ratios and not failed:
        raise Wrong(f"{path} has no ratios: measure with --against")
    return about, ratios, failed


def find_table(expected, about):
    """The table of the report's level and processor, or else another one of the level; None if there is none."""
    tables = [t for t in expected["tables"] if t["level"] == about["level"]]
    return max(tables, key=lambda t: (t["processor"] == about["processor"], t["isa"] == about["isa"]), default=None)


def compare(table, tolerance_of_all, ratios, failed):
    """Lists of lines: ratios that fell, ratios that rose, and the names of scenarios that fell."""
    fell, rose, names = [], [], []
    for name, wanted in table["ratios"].items():
        tolerance = table.get("tolerances", {}).get(name, tolerance_of_all)
        if name in failed:
            fell.append(f"{name:32} {failed[name]}")
            names.append(name)
        for threads, ratio in wanted.items() if name in ratios else ():
            now = ratios[name].get(threads)
            if now is None:
                continue
            line = f"{name:32} {threads}T {ratio:6.2f} -> {now:6.2f}  ({100 * (now / ratio - 1):+.0f} %)"
            if now < ratio * (1 - tolerance):
                fell.append(line)
                names.append(name)
            elif now > ratio * (1 + tolerance):
                rose.append(line)
    return fell, rose, sorted(set(names))


def measure_again(command, level, names, ratios, failed):
    """Measures again and takes the better ratio."""
    only = [word for name in names for word in ("--only", name)]
    done = subprocess.run([*command, *only, "--json"], stdout=subprocess.PIPE, encoding="utf-8", env={**os.environ, "RETORT_ISA": level})
    if done.returncode not in (0, 1) or not done.stdout:
        raise Wrong(f"{command[0]} ended with {done.returncode}")
    better, _ = ratios_of(json.loads(done.stdout))
    for name, found in better.items():
        failed.pop(name, None)
        old = ratios.setdefault(name, {})
        for threads, ratio in found.items():
            old[threads] = max(old.get(threads, 0), ratio)


def table_text(table):
    lines = [f"   {json.dumps(key)}: {json.dumps(value)}" for key, value in table.items() if key != "ratios"]
    rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(value)}" for name, value in sorted(table["ratios"].items()))
    return "  {\n" + ",\n".join(lines) + ',\n   "ratios": {\n' + rows + "\n   }\n  }"


def update(path, about, ratios, expected, tolerance):
    """Scenarios that the report lacks keep their ratios, and other levels and processors their tables."""
    old = find_table(expected, about)
    # Processors of one name may have other instructions: an EPYC may be Zen 4 or Zen 5.
    same = old is not None and (old["processor"], old["isa"]) == (about["processor"], about["isa"])
    new = {**about, "tolerances": old["tolerances"] if same else {}, "ratios": {**(old["ratios"] if same else {}), **ratios}}
    tables = [t for t in expected["tables"] if not (same and t is old)] + [new]
    tables.sort(key=lambda t: (t["level"], t["processor"], t["isa"]))
    head = json.dumps(tolerance or expected["tolerance"])
    with open(path, "w", encoding="utf-8") as f:
        f.write('{\n "tolerance": ' + head + ',\n "tables": [\n' + ",\n".join(map(table_text, tables)) + "\n ]\n}\n")
    print(f"{path}: {len(ratios)} scenarios written at {about['level']}, {len(new['ratios']) - len(ratios)} kept")


def show(title, lines):
    if lines:
        print(f"{title}:", *lines, sep="\n  ")


def chosen_table(path, expected, about):
    table = find_table(expected, about)
    if table is None:
        raise Wrong(f"{path} has no ratios at the instruction level {about['level']}; --update writes those of a report")
    if table["processor"] != about["processor"]:
        print(f"Another processor: the ratios are those of {table['processor']}, the report is of {about['processor']}. Differences are only a hint.")
    elif table["isa"] != about["isa"]:
        print("The processor of the report has other instructions than that of the ratios, under the same name. Differences are only a hint.")
    return table


def check(a):
    about, ratios, failed = read_report(a.report)
    there = os.path.exists(a.expected)
    expected = load(a.expected, "expected ratios") if there else {"tolerance": DEFAULT_TOLERANCE, "tables": []}
    if a.update:
        update(a.expected, about, ratios, expected, a.tolerance)
        return 0
    if not there:
        raise Wrong(f"{a.expected} does not exist; --update writes it from a report")
    tolerance = a.tolerance or expected["tolerance"]
    table = chosen_table(a.expected, expected, about)
    fell, rose, names = compare(table, tolerance, ratios, failed)
    if names and a.again:
        print(f"measuring again: {', '.join(names)}", flush=True)
        measure_again(a.again, about["level"], names, ratios, failed)
        fell, rose, names = compare(table, tolerance, ratios, failed)
    show("fell", fell)
    show("rose", rose)
    new = sorted((set(ratios) | set(failed)) - set(table["ratios"]))
    missing = set(table["ratios"]) - set(ratios) - set(failed)
    show("expected nothing of", new)
    measured = len(set(table["ratios"]) & set(ratios))
    print(f"{measured} scenarios compared at {about['level']}, tolerance {100 * tolerance:.0f} %: {len(names)} fell, {len(rose)} ratios rose; "
          f"{len(new)} new, {len(missing)} not measured")
    return 1 if names else 0


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("report")
    ap.add_argument("--expected", default=os.path.join(HERE, "expected.json"))
    ap.add_argument("--update", action="store_true", help="write the report's ratios as the expected ones")
    ap.add_argument("--tolerance", type=float, default=0, help=f"share of a ratio (default: that of the file, else {DEFAULT_TOLERANCE})")
    ap.add_argument("--again", nargs=argparse.REMAINDER, default=[], metavar="COMMAND", help="command that measures ratios that fell again")
    try:
        return check(ap.parse_args())
    except Wrong as e:
        print(f"check.py: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
