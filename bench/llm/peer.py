#!/usr/bin/env python3
"""Runs a GGUF file by a package of llama.cpp, with the requests and replies of worker.cc: peer.py PACKAGE FILE THREADS."""
import ctypes
import json
import sys
import time

import numpy as np

ROOM = 1024


class XLlama:
    """xllamacpp: the server of llama.cpp inside the process."""

    def __init__(self, path, threads):
        import xllamacpp
        p = xllamacpp.CommonParams()
        p.model.path, p.n_ctx, p.n_parallel, p.verbosity = path, ROOM, 1, 0
        p.cpuparams.n_threads = p.cpuparams_batch.n_threads = threads
        self._server = xllamacpp.Server(p)

    def generate(self, prompt, count):
        # The first token comes with the prompt: its time is that of the prompt, as the server counts it.
        reply = self._server.handle_completions({"prompt": prompt, "n_predict": count + 1, "temperature": 0, "ignore_eos": True,
                                                 "return_tokens": True, "cache_prompt": False, "n_probs": 0})
        timings = reply["timings"]
        return {"prompt_seconds": timings["prompt_ms"] / 1e3, "seconds": timings["predicted_ms"] / 1e3 * count / (count + 1), "tokens": []}

    def greedy(self, prompt, count):
        """For each token: the most probable one, the next best, by how much the logit of the first is larger."""
        reply = self._server.handle_completions({"prompt": prompt, "n_predict": count, "temperature": 0, "n_probs": 2, "cache_prompt": False})
        steps = [c["top_logprobs"] for c in reply["choices"][0]["logprobs"]["content"]]
        if len(steps) != reply["timings"]["predicted_n"]:
            raise RuntimeError("the server leaves out tokens that are parts of characters; choose another prompt")
        return {"steps": [[s[0]["id"], s[1]["id"], s[0]["logprob"] - s[1]["logprob"]] for s in steps]}


class IkLlama:
    """ik_llama.cpp by its C interface."""

    def __init__(self, path, threads):
        from ik_llama_cpp import _ctypes_api as C
        self._c = C
        C.llama_backend_init()
        self._model = C.llama_model_load_from_file(path.encode(), C.llama_model_default_params())
        params = C.llama_context_default_params()
        params.n_ctx = ROOM
        params.n_threads = params.n_threads_batch = threads
        self._context = C.llama_init_from_model(self._model, params)
        self._vocabulary = C.llama_vocab_n_tokens(C.llama_model_get_vocab(self._model))
        self._batch = C.llama_batch_init(ROOM, 0, 1)
        self._length = 0

    def append(self, tokens):
        """The logits after the last token."""
        b = self._batch
        b.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            b.token[i], b.pos[i], b.n_seq_id[i], b.logits[i] = token, self._length + i, 1, i + 1 == len(tokens)
            b.seq_id[i][0] = 0
        if self._c.llama_decode(self._context, b):
            raise RuntimeError("llama_decode failed")
        self._length += len(tokens)
        logits = ctypes.cast(self._c.llama_get_logits_ith(self._context, len(tokens) - 1), ctypes.POINTER(ctypes.c_float))
        return np.ctypeslib.as_array(logits, (self._vocabulary,))

    def generate(self, prompt, count):
        self._c.llama_kv_cache_clear(self._context)
        self._length = 0
        started = time.perf_counter()
        tokens = [int(self.append(prompt).argmax())]
        between = time.perf_counter()
        while len(tokens) <= count:
            tokens.append(int(self.append(tokens[-1:]).argmax()))
        return {"prompt_seconds": between - started, "seconds": time.perf_counter() - between, "tokens": tokens}


def main():
    package, path, threads = sys.argv[1:]
    engine = {"xllamacpp": XLlama, "ik_llama_cpp": IkLlama}[package](path, int(threads))
    for line in sys.stdin:
        request = json.loads(line)
        try:
            greedy = "greedy" in request
            reply = engine.greedy(request["prompt"], request["greedy"]) if greedy else engine.generate(request["prompt"], request["count"])
        except (RuntimeError, KeyError) as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
