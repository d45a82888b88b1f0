#!/usr/bin/env python3
"""Measures a language model on Retort, ONNX Runtime and packages of llama.cpp, alternately, in one run.

    bench.py --worker PROGRAM --retort LIBRARY --models DIR --gguf FILE [--page FILE] [--json FILE] [--rounds N] [NAME...]

NAME chooses engines: 'llama*' '*int4*'.

Prints tokens per second of a prompt and of the tokens after it, and writes them between the marks of the page."""
import argparse
import fnmatch
import json
import os
import re
import statistics

import onnxruntime
from tokenizers import Tokenizer

import prompts
import workers

COUNT = 48  # tokens after the prompt
FIRST = "Retort, int4"  # always measured; its share of the bandwidth is printed
MARKS = "<!-- llm: begin (make bench-llm-docs) -->", "<!-- llm: end -->"


def oracle():
    folder = os.path.join(os.path.dirname(onnxruntime.__file__), "capi")
    return next(os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith("libonnxruntime.so"))


def engines(a, threads):
    """[(name, worker)]. ONNX Runtime decodes zero points that are no integers in every run, so it gets both forms."""
    def model(library, form):
        return workers.engine(a.worker, library, os.path.join(a.models, form), threads)

    forms = {"int4": "int4", "int4 with integer zero points": "int4_rounded", "bf16": "bf16", "fp32": "fp32"}
    makers = {f"Retort, {text}": (model, a.retort, form) for text, form in forms.items()}
    makers |= {f"ONNX Runtime, {text}": (model, oracle(), form) for text, form in forms.items() if form != "bf16"}  # it lacks kernels for bf16
    makers["llama.cpp (xllamacpp), Q4_1"] = (workers.peer, "xllamacpp", a.gguf, threads)
    makers["ik_llama.cpp (ik-llama-cpp-python), Q4_1"] = (workers.peer, "ik_llama_cpp", a.gguf, threads)
    chosen = {name: maker for name, maker in makers.items() if name == FIRST or not a.names or any(fnmatch.fnmatch(name, p) for p in a.names)}
    return [(name, make(*rest)) for name, (make, *rest) in chosen.items()]


def measure(a, prompt, threads):
    """{name: [tokens per second of the prompt, of the tokens after it]}, medians of rounds in which all take part."""
    found, widths = {}, []
    all_engines = engines(a, threads)
    for round_ in range(a.rounds + 1):
        widths.append(all_engines[0][1].ask(bandwidth=threads)["bandwidth"])
        for name, worker in all_engines:
            reply = worker.ask(prompt=prompt, count=COUNT)
            if round_:  # the first one warms up
                found.setdefault(name, []).append((len(prompt) / reply["prompt_seconds"], COUNT / reply["seconds"]))
    for _, worker in all_engines:
        worker.close()
    return {name: [statistics.median(column) for column in zip(*rows)] for name, rows in found.items()}, max(widths)


def table(results, bytes_per_token):
    lines = ["| engine and weights | prompt, 1 thread | 2 threads | after it, 1 thread | 2 threads |", "|---|---:|---:|---:|---:|"]
    one, two = results["1"]["tokens"], results["2"]["tokens"]
    for name in one:
        lines.append(f"| {name} | {one[name][0]:,.0f} | {two[name][0]:,.0f} | {one[name][1]:,.0f} | {two[name][1]:,.0f} |")
    widths = [results[t]["bandwidth"] for t in ("1", "2")]
    shares = [100 * tokens[FIRST][1] * bytes_per_token / width for tokens, width in zip((one, two), widths)]
    lines += ["", f"Memory read in the same run: {widths[0] / 1e9:.0f} and {widths[1] / 1e9:.0f} GB/s with 1 and 2 threads. A token reads "
              f"{bytes_per_token / 1e6:.0f} MB of", f"4-bit weights: {shares[0]:.0f} % and {shares[1]:.0f} % of that. Load of the machine before the run: {results['load']:.1f}."]
    return "\n".join(lines)


def write_page(path, text):
    with open(path, encoding="utf-8") as f:
        page = f.read()
    begin, end = map(re.escape, MARKS)
    page, count = re.subn(f"(?s){begin}.*?{end}", lambda _: f"{MARKS[0]}\n{text}\n{MARKS[1]}", page)
    if count != 1:
        raise SystemExit(f"{path} has {count} places between {MARKS[0]} and {MARKS[1]}, expected 1")
    with open(path, "w", encoding="utf-8") as f:
        f.write(page)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("worker", "retort", "models", "gguf"):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("--page", default="")
    ap.add_argument("--json", default="")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("names", nargs="*", metavar="NAME")
    a = ap.parse_args()
    prompt = Tokenizer.from_file(os.path.join(a.models, "int4", "tokenizer.json")).encode(prompts.prompt(prompts.LONG)).ids
    results = {"prompt": len(prompt), "load": os.getloadavg()[0]}
    for threads in (1, 2):
        tokens, width = measure(a, prompt, threads)
        results[str(threads)] = {"tokens": tokens, "bandwidth": width}
    text = table(results, os.path.getsize(a.gguf))
    print(f"prompt of {len(prompt)} tokens, {COUNT} tokens after it; tokens per second\n\n{text}")
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)
    if a.page:
        write_page(a.page, text)


if __name__ == "__main__":
    main()
