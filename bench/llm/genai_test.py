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

# The form, and by how much the two best logits may differ where the engines choose different tokens. With activations of 8 bits, the
# engines round in different places; llm_test.py measures what that changes. What follows such a token is another text.
FORMS = {"fp32": 1e-3, "int4_rounded": 1.5}
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
    steps = []
    while not generator.is_done() and len(steps) < count:
        best = sorted(generator.get_logits().ravel().tolist())[-2:]
        generator.generate_next_token()
        steps.append([int(generator.get_next_tokens()[0]), best[1] - best[0]])
    answers.append(steps)
with open("/proc/self/maps", encoding="utf-8") as f:
    libraries = sorted({line.split()[-1] for line in f if "/libonnxruntime.so" in line})
print(json.dumps([answers, libraries]))
"""


def answers(folder, path=""):
    """(for each answer, its tokens and by how much the logit of each exceeds the second best; the libraries that were open)"""
    request = json.dumps([folder, [prompts.prompt(q) for q in QUESTIONS], COUNT])
    done = subprocess.run([sys.executable, "-c", PROGRAM, request], capture_output=True, encoding="utf-8", errors="replace",
                          env={**os.environ, "PYTHONPATH": path}, check=False)
    if done.returncode:
        raise SystemExit(f"the generator ended with {done.returncode}: {done.stderr[-1000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def difference(own, official, most):
    """Where two answers part although the choice is not close; empty if they do not."""
    for i, (ours, theirs) in enumerate(zip(own, official)):
        if ours[0] != theirs[0]:
            margin = max(ours[1], theirs[1])
            return f"token {i} is {ours[0]} in place of {theirs[0]}, margin {margin:.3f}" if margin > most else ""
    return "" if len(own) == len(official) else f"{len(own)} tokens in place of {len(official)}"


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
        for form, most in FORMS.items():
            official, _ = answers(os.path.join(models, form))
            own, opened = answers(os.path.join(models, form), path)
            wrong = [d for pair in zip(own, official, strict=True) if (d := difference(*pair, most))]
            if opened != [library]:
                wrong.append(f"opened {opened}, expected {library}")
            failed += bool(wrong)
            equal = sum([t for t, _ in a] == [t for t, _ in b] for a, b in zip(own, official))
            print(f"{'FAIL' if wrong else 'ok  '} {form}: {equal} of {len(own)} answers have the same tokens", *wrong, sep="\n  ", flush=True)
    print(f"{len(FORMS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
