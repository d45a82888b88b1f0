"""onnxruntime-genai: its C++ library opens capi/libonnxruntime.so of the package onnxruntime. The model is a small decoder with random weights."""
import os
import sys
import tempfile

import numpy as np

NEEDS = ("onnxruntime_genai",)
PROMPT, COUNT = [1, 70, 80, 90, 100, 2, 60], 12
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def engines():
    """The files with an engine that this process has open."""
    with open("/proc/self/maps", encoding="utf-8") as f:
        paths = {line.split(maxsplit=5)[5].strip() for line in f if "/onnxruntime/" in line}
    return sorted(path for path in paths if os.path.getsize(path) > 6_000_000)


def answer(folder):
    import onnxruntime_genai as genai
    model = genai.Model(folder)
    parameters = genai.GeneratorParams(model)
    parameters.set_search_options(max_length=len(PROMPT) + COUNT, do_sample=False)
    generator = genai.Generator(model, parameters)
    generator.append_tokens(PROMPT)
    logits = []
    while not generator.is_done():
        logits.append(np.array(generator.get_logits()).ravel())
        generator.generate_next_token()
    return np.array(generator.get_sequence(0)), np.array(logits)


def results():
    import onnxruntime
    sys.path.append(os.path.join(ROOT, "bench", "llm"))
    import build_llm
    import tiny_test
    with tempfile.TemporaryDirectory() as area:
        tiny_test.write_model(os.path.join(area, "model.gguf"))
        build_llm.build(os.path.join(area, "model.gguf"), area, ["fp32"])
        tokens, logits = answer(os.path.join(area, "fp32"))
    assert len(tokens) == len(PROMPT) + COUNT and len(logits) == COUNT, (tokens, logits.shape)
    # Python's sessions and the generator use one engine.
    onnxruntime.get_available_providers()
    if hasattr(onnxruntime, "install_as_onnxruntime"):
        assert [os.path.basename(path) for path in engines()] == ["libretort.so.1"], engines()
    return {"tokens": tokens, "logits": logits}
