#!/usr/bin/env python3
"""Measures the Python package beside the official one, in one run: calls, large arrays, start, Ctrl-C, size.

    bench.py --wheels DIR --work DIR [--rounds N] [--json FILE] [--page FILE]

WORK/venv gets the wheel `retort` and official onnxruntime. Prints a table; exit code 1 if a figure misses its limit.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
REQUIREMENTS = ("numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.32.0")
MIB = 2 ** 20
# Figure, row of ours, row of official, unit, its size in seconds, largest ratio.
FIGURES = (
    ("run of one Add, float[4]", "run_of_four", "ours", "official", "µs", 1e-6, 0.30),
    ("the same, bound", "run_bound", "ours", "official", "µs", 1e-6, 0.25),
    ("the same, `binding.run()`", "run_bound", "ours, binding.run()", "official", "µs", 1e-6, 0.25),
    ("run of Identity, 100 MiB in and out", "run_of_100_mib", "Identity, ours", "Identity, official", "ms", 1e-3, 0.6),
    ("run of Relu, 100 MiB in and out", "run_of_100_mib", "Relu, ours", "Relu, official", "ms", 1e-3, 0.6),
    ("run of Neg, 100 MiB in and out", "run_of_100_mib", "Neg, ours", "Neg, official", "ms", 1e-3, 0.6),
    ("import, after numpy", "start", "ours import", "official import", "ms", 1e-3, 0.5),
    ("import and first session, 8 MiB of weights", "start", "ours", "official", "ms", 1e-3, 0.5),
    ("Ctrl-C in a product of 3 s", "interrupt", "ours", "official", "ms", 1e-3, None),
)
CTRL_C_LIMIT = 0.05


def install(a):
    """The environment of the measurement; returns its interpreter and the wheel."""
    tags = (f"cp3{sys.version_info.minor}-cp3{sys.version_info.minor}", *(["cp312-abi3"] if sys.version_info >= (3, 12) else []))
    wheels = [p for tag in tags for p in glob.glob(os.path.join(a.wheels, f"retort-*-{tag}-*.whl"))]
    if not wheels:
        raise SystemExit(f"{a.wheels} has no wheel for this Python; make wheel makes it")
    venv = os.path.join(a.work, "venv")
    python = os.path.join(venv, "bin", "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if not os.path.exists(os.path.join(venv, ".ready")):
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([*pip, *REQUIREMENTS], check=True)
        with open(os.path.join(venv, ".ready"), "w", encoding="utf-8"):
            pass
    subprocess.run([*pip, "--force-reinstall", "--no-deps", wheels[0]], check=True)
    return python, wheels[0]


def measure(python, name, rounds, models):
    env = {k: v for k, v in os.environ.items() if k not in ("RETORT_LIBRARY", "PYTHONPATH")} | {"RETORT_BENCH_MODELS": models}
    done = subprocess.run([python, os.path.join(HERE, "figures.py"), name, str(rounds)], capture_output=True, encoding="utf-8", env=env, check=False)
    if done.returncode:
        raise SystemExit(f"{name} cannot be measured:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def loops(work, rounds):
    """What the memory allows (stores.c), in this run: {"negated": {"plain": seconds, "streamed": seconds}, "copied": ...}."""
    program = os.path.join(work, "stores")
    subprocess.run(["cc", "-O2", "-pthread", os.path.join(HERE, "stores.c"), "-o", program], check=True)
    done = subprocess.run([program, str(25 * MIB), str(max(5, rounds // 5))], capture_output=True, encoding="utf-8", check=True)
    return json.loads(done.stdout)


def bound(found):
    """The row of what the memory allows: Relu and Neg cannot have a smaller ratio if both engines use all of it."""
    plain, streamed = found["loops"]["negated"]["plain"], found["loops"]["negated"]["streamed"]
    return ("loop of Neg in C, two threads: past the caches; with plain stores", f"{streamed / 1e-3:.2f} ms ({streamed / plain:.2f} ×)",
            f"{plain / 1e-3:.2f} ms", "", True)


def folder_bytes(path):
    return sum(os.path.getsize(os.path.join(at, name)) for at, folders, names in os.walk(path) for name in names if not name.endswith(".pyc"))


def sizes(python, wheel):
    """[row] of the table: packed and installed."""
    site = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, encoding="utf-8", check=True).stdout.strip()
    ours, official = (folder_bytes(os.path.join(site, name)) for name in ("retort", "onnxruntime"))
    return [("wheel", f"{os.path.getsize(wheel) / 1e6:.1f} MB", "", "≤ 6 MB", os.path.getsize(wheel) <= 6e6),
            ("installed", f"{ours / 1e6:.1f} MB", f"{official / 1e6:.1f} MB", "≤ 20 MB", ours <= 20e6)]


def rows(found):
    for title, name, ours, official, unit, scale, limit in FIGURES:
        mine, theirs = found[name][ours], found[name][official]
        if limit is None:
            yield title, f"{mine / scale:.1f} {unit}", f"{theirs / scale:.0f} {unit}", f"≤ {CTRL_C_LIMIT / scale:.0f} {unit}", mine <= CTRL_C_LIMIT
        else:
            ratio = mine / theirs
            yield title, f"{mine / scale:.2f} {unit} ({ratio:.2f} ×)", f"{theirs / scale:.2f} {unit}", f"≤ {limit:g} ×", ratio <= limit
    yield bound(found)
    ratios = {method: row["ours"] / row["official"] for method, row in found["small_calls"].items()}
    slowest = max(ratios, key=ratios.get)
    row = found["small_calls"][slowest]
    yield (f"slowest of {len(ratios)} small calls: `{slowest}`", f"{row['ours'] / 1e-6:.2f} µs ({ratios[slowest]:.2f} ×)", f"{row['official'] / 1e-6:.2f} µs", "≤ 1 ×",
           ratios[slowest] <= 1.02)  # two percent of a third of a microsecond are not measured reliably
    copied = found["run_of_100_mib"]["copied bytes"]
    yield "bytes that its ledger lists as copied", f"{copied}", "", "0", copied == 0


def table(lines):
    text = "| figure | Retort | onnxruntime 1.32.0 | limit |\n|---|---:|---:|---:|\n"
    return text + "".join(f"| {title} | {mine} | {theirs} | {limit}{'' if good else ' (missed)'} |\n" for title, mine, theirs, limit, good in lines)


def fill(path, text, marks="figures"):
    """Writes the table between the marks of a page."""
    with open(path, encoding="utf-8") as f:
        page = f.read()
    filled, count = re.subn(rf"(<!-- {marks}: begin .*?-->\n).*(<!-- {marks}: end -->)", lambda m: m[1] + text + m[2], page, flags=re.S)
    if count != 1:
        raise SystemExit(f"{path} has {count} pairs of marks `{marks}: begin` and `{marks}: end`; expected one")
    with open(path, "w", encoding="utf-8") as f:
        f.write(filled)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--wheels", default="out/wheels")
    ap.add_argument("--work", default="build/python/bench")
    ap.add_argument("--rounds", type=int, default=100)
    ap.add_argument("--json", default="")
    ap.add_argument("--page", default="", help="a page with the marks `figures: begin` and `figures: end`, between which the table is written")
    a = ap.parse_args()
    os.makedirs(a.work, exist_ok=True)
    python, wheel = install(a)
    with tempfile.TemporaryDirectory(prefix="retort-bench-") as models:
        found = {name: measure(python, name, a.rounds, models) for name in dict.fromkeys([*(figure[1] for figure in FIGURES), "small_calls"])}
    found["loops"] = loops(a.work, a.rounds)
    lines = [*rows(found), *sizes(python, wheel)]
    print(table(lines), end="")
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(found, f, indent=1)
    if a.page:
        fill(a.page, table(lines))
    return 0 if all(line[-1] for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
