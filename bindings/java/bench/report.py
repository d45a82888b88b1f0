#!/usr/bin/env python3
"""Makes the tables of docs/java.md from the measurements of bench.sh.

    report.py FOLDER [PAGE]    prints them; with PAGE, writes them between its lines <!-- measured --> and <!-- end -->
"""
import collections
import glob
import json
import os
import re
import statistics
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools"))
import processor  # noqa: E402

ENGINES = ("retort", "official")
CALLS = (
    ("bound", "bound run, this binding"),
    ("named", "run by names, this binding"),
    ("jni", "`OrtSession.run`, official binding"),
    ("jniGivenOutput", "the same, into a tensor of the program"),
    ("package", "bound run, Python's package `onnxruntime`"),
    ("ctypes", "bound run, Python's `ctypes`"),
)
STEPS = {
    "roomy": (("Bound", "one buffer is past and present, bound once"), ("Named", "run by names, presents handed back"),
              ("Jni", "official binding, presents handed back"), ("JniThroughJava", "official binding, presents read into buffers of Java")),
    "growing": (("Bound", "presents bound to their place, handed back"), ("Named", "run by names, presents handed back"),
                ("Jni", "official binding, presents handed back"), ("JniThroughJava", "official binding, presents read into buffers of Java")),
}


def measured(folder):
    """{(way, engine): [time of each round, in nanoseconds]}"""
    times = collections.defaultdict(list)
    scale = {"ns/op": 1, "us/op": 1000}
    for path in sorted(glob.glob(os.path.join(folder, "java*.json"))):
        with open(path, encoding="utf-8") as f:
            for row in json.load(f):
                metric = row["primaryMetric"]
                values = [v for fork in metric["rawData"] for v in fork]
                times[row["benchmark"].rpartition(".")[2], row["params"]["engine"]].append(statistics.median(values) * scale[metric["scoreUnit"]])
    for path in sorted(glob.glob(os.path.join(folder, "python*.json"))):
        with open(path, encoding="utf-8") as f:
            for way, engines in json.load(f).items():
                for engine, value in engines.items():
                    times[way, engine].append(value)
    return times


def figure(times, way, engine, base, unit):
    """The median time, and the median over rounds of its ratio to the time of `base`."""
    values, others = times.get((way, engine)), times.get((base, engine))
    if not values:
        return "–"
    ratio = statistics.median(v / o for v, o in zip(values, others))
    text = f"{statistics.median(values) / unit:.2f}"
    return f"{text} (1)" if way == base else f"{text} ({ratio:.2f})"


def table(times, head, rows, base, unit):
    lines = [f"| {head} | Retort | ONNX Runtime |", "|---|---|---|"]
    lines += [f"| {text} | " + " | ".join(figure(times, way, engine, base, unit) for engine in ENGINES) + " |" for way, text in rows]
    return "\n".join(lines)


def versions(folder):
    with open(sorted(glob.glob(os.path.join(folder, "java*.json")))[0], encoding="utf-8") as f:
        java = json.load(f)[0]["jdkVersion"]
    try:
        import onnxruntime
        python = f", Python's package {onnxruntime.__version__}"
    except ImportError:
        python = ""
    jars = glob.glob(os.path.join(folder, "..", "lib", "onnxruntime-[0-9]*.jar"))
    official = re.search(r"onnxruntime-([\d.]+)\.jar", jars[0])[1] if jars else "?"
    return f"Java {java}, ONNX Runtime {official} (the library of the official binding's jar, for both bindings){python}"


def page(folder):
    times = measured(folder)
    rounds = len(times["bound", "retort"])
    head = (f"Measured by `bindings/java/bench.sh` on {processor.describe()}; {versions(folder)}; {'one round' if rounds == 1 else f'medians of {rounds} rounds'}, one thread. In brackets: the ratio to "
            "the time of the official binding's `OrtSession.run` on the same library in the same round (0.50: half its time).")
    return f"""{textwrap.fill(head, 120, break_long_words=False, break_on_hyphens=False)}

{table(times, "sum of 4 floats, µs", CALLS, "jni", 1e3)}

A decoder of 4 layers with 8 heads of size 64 and 1000 tokens. A step follows 512 or a few more tokens, and includes the
search for the next token in Java.

{table(times, "caches with room for 1024 rows (`GroupQueryAttention`), ms a step", [("roomy" + w, t) for w, t in STEPS["roomy"]], "roomyJni", 1e6)}

{table(times, "caches that grow (`Concat`), ms a step", [("growing" + w, t) for w, t in STEPS["growing"]], "growingJni", 1e6)}
"""


def main(folder, target=None):
    text = page(folder)
    print(text)
    if target:
        with open(target, encoding="utf-8") as f:
            before = f.read()
        after, count = re.subn(r"(<!-- measured -->\n).*?(<!-- end -->)", lambda m: m[1] + text + m[2], before, flags=re.S)
        if count != 1:
            raise SystemExit(f"{target} has {count} places for the tables instead of one: lines <!-- measured --> and <!-- end -->")
        with open(target, "w", encoding="utf-8") as f:
            f.write(after)


if __name__ == "__main__":
    main(*sys.argv[1:])
