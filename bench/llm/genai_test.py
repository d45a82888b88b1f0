#!/usr/bin/env python3
"""Runs onnxruntime-genai, unmodified, on a library in place of official ONNX Runtime, and compares the tokens: genai_test.py LIBRARY MODELS.

The generator opens capi/libonnxruntime.so* in the folder of the package onnxruntime. For ours, a folder that comes first on the path has a
link to LIBRARY there. The last line is "N passed, N failed"."""
import json
import os
import subprocess
import sys
import tempfile

import prompts

# The form, and how many words of each answer must be equal (None: all). With activations of 8 bits, the engines round in different places,
# which decides some later words.
FORMS = {"fp32": None, "int4_rounded": 3}
QUESTIONS = prompts.QUESTIONS[:4]
COUNT = 24
PROGRAM = """
import json, sys
import onnxruntime_genai as og
folder, prompts, count = json.loads(sys.argv[1])
model = og.Model(folder)
tokenizer = og.Tokenizer(model)
answers = []
for prompt in prompts:
    parameters = og.GeneratorParams(model)
    parameters.set_search_options(max_length=512, do_sample=False)
    generator = og.Generator(model, parameters)
    generator.append_tokens(tokenizer.encode(prompt))
    tokens = []
    while not generator.is_done() and len(tokens) < count:
        generator.generate_next_token()
        tokens.append(int(generator.get_next_tokens()[0]))
    answers.append(tokenizer.decode(tokens))
with open("/proc/self/maps", encoding="utf-8") as f:
    libraries = sorted({line.split()[-1] for line in f if "/libonnxruntime.so" in line})
print(json.dumps([answers, libraries]))
"""


def answers(folder, path=""):
    """(the answers, the libraries that were open)"""
    request = json.dumps([folder, [prompts.prompt(q) for q in QUESTIONS], COUNT])
    done = subprocess.run([sys.executable, "-c", PROGRAM, request], capture_output=True, encoding="utf-8", errors="replace",
                          env={**os.environ, "PYTHONPATH": path}, check=False)
    if done.returncode:
        return [f"ended with {done.returncode}: {done.stderr[-1000:]}"], []
    return json.loads(done.stdout.splitlines()[-1])


def stand_in(area, library):
    """A folder with a package onnxruntime whose library is a link to this one."""
    capi = os.path.join(area, "onnxruntime", "capi")
    os.makedirs(capi)
    with open(os.path.join(area, "onnxruntime", "__init__.py"), "w", encoding="utf-8"):
        pass
    os.symlink(library, os.path.join(capi, "libonnxruntime.so.1.32.0"))
    return area


def main():
    library, models = os.path.realpath(sys.argv[1]), sys.argv[2]
    failed = 0
    with tempfile.TemporaryDirectory() as area:
        path = stand_in(area, library)
        for form, words in FORMS.items():
            official, _ = answers(os.path.join(models, form))
            own, opened = answers(os.path.join(models, form), path)
            good = opened == [library] and [a.split()[:words] for a in own] == [a.split()[:words] for a in official]
            failed += not good
            print(f"{'ok  ' if good else 'FAIL'} {form}: {len(own)} answers of the generator on {', '.join(opened)}", flush=True)
            if not good:
                print(f"  ours: {own}\n  official: {official}")
    print(f"{len(FORMS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
