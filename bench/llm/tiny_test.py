#!/usr/bin/env python3
"""Tests of bench/llm and examples/chat with a model of the same form as SmolLM2 whose weights are random: nothing is downloaded.

Environment: RETORT_LIBRARY and RETORT_ORACLE, the engine libraries; LLM_WORKER, the program of worker.cc; CHAT, the program of examples/chat.
"""
import os
import subprocess
import tempfile
import unittest

import numpy as np

import build_llm
import gguf_file
import workers

LAYERS, WIDTH, HEADS, KV_HEADS, INNER = 2, 64, 4, 2, 96
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
PROMPT, COUNT = [1, 70, 80, 90, 100, 2, 60], 12


def letters():
    """The letters of all bytes, as GPT-2 writes them."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = iter(range(256, 512))
    return [chr(b) if b in printable else chr(next(others)) for b in range(256)]


def write_model(path):
    merges = ["e r", "a n", "an d"]
    tokens = [*SPECIALS, *letters(), *(merge.replace(" ", "") for merge in merges)]
    random = np.random.default_rng(5)

    def weights(rows, columns, kind=gguf_file.Q4_1):
        return kind, random.normal(0, columns ** -0.5, (rows, columns)).astype(np.float32)

    def ones():
        return gguf_file.F32, random.normal(1, 0.1, WIDTH).astype(np.float32)

    tensors = {"token_embd.weight": weights(len(tokens), WIDTH, gguf_file.Q8_0)}
    kv = WIDTH // HEADS * KV_HEADS
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        for name, shape in {"attn_q": (WIDTH, WIDTH), "attn_k": (kv, WIDTH), "attn_v": (kv, WIDTH), "attn_output": (WIDTH, WIDTH),
                            "ffn_gate": (INNER, WIDTH), "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER)}.items():
            tensors[f"{at}{name}.weight"] = weights(*shape)
        tensors[at + "attn_norm.weight"], tensors[at + "ffn_norm.weight"] = ones(), ones()
    tensors["output_norm.weight"] = ones()
    facts = {"general.architecture": "llama", "llama.block_count": LAYERS, "llama.context_length": 256, "llama.embedding_length": WIDTH,
             "llama.feed_forward_length": INNER, "llama.attention.head_count": HEADS, "llama.attention.head_count_kv": KV_HEADS,
             "llama.rope.freq_base": 10000.0, "llama.attention.layer_norm_rms_epsilon": 1e-5, "tokenizer.ggml.model": "gpt2",
             "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": [3] * len(SPECIALS) + [1] * (len(tokens) - len(SPECIALS)),
             "tokenizer.ggml.merges": merges, "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2}
    gguf_file.write(path, facts, tensors)
    return tensors


class Tiny(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._area = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._area.cleanup)
        cls.area = cls._area.name
        cls.gguf = os.path.join(cls.area, "model.gguf")
        cls.tensors = write_model(cls.gguf)
        build_llm.build(cls.gguf, cls.area)

    def ask(self, form, library="RETORT_LIBRARY", **request):
        worker = workers.engine(os.environ["LLM_WORKER"], os.environ[library], os.path.join(self.area, form))
        try:
            return worker.ask(prompt=PROMPT, **request)
        finally:
            worker.close()

    def test_weights_come_back(self):
        file = gguf_file.File(self.gguf)
        for name, (kind, wanted) in self.tensors.items():
            found = file.tensor(name)
            if kind == gguf_file.F32:
                np.testing.assert_array_equal(found, wanted)
                continue
            step = np.repeat(found.scales, gguf_file.BLOCK, axis=1)
            self.assertLessEqual(np.max(np.abs(found.floats() - wanted) / step), 0.75, name)

    def test_the_same_file_every_time(self):
        again = os.path.join(self.area, "again")
        build_llm.build(self.gguf, again, ["int4"])
        for name in os.listdir(os.path.join(again, "int4")):
            with open(os.path.join(again, "int4", name), "rb") as new, open(os.path.join(self.area, "int4", name), "rb") as old:
                self.assertEqual(new.read(), old.read(), name)

    def test_an_unknown_type_is_named(self):
        path = os.path.join(self.area, "wrong.gguf")
        gguf_file.write(path, {"general.architecture": "gemma"}, {})
        with self.assertRaisesRegex(SystemExit, "'gemma'"):
            build_llm.build(path, self.area)

    def test_same_tokens_as_official(self):
        own = self.ask("fp32", count=COUNT)["tokens"]
        self.assertEqual(len(own), COUNT + 1)
        self.assertEqual(own, self.ask("fp32", "RETORT_ORACLE", count=COUNT)["tokens"])

    def test_forms_agree(self):
        tokens = self.ask("fp32", count=COUNT)["tokens"]
        pairs = [[t, (t + 17) % 250] for t in tokens]
        margins = {form: np.array([s[1] for s in self.ask(form, forced=tokens, pairs=pairs)["steps"]]) for form in ("fp32", "int4", "bf16")}
        self.assertGreater(np.min(margins["fp32"]), 0)
        for form in ("int4", "bf16"):  # activations of 8 bits
            np.testing.assert_allclose(margins[form], margins["fp32"], atol=0.1, err_msg=form)

    def chat(self, *options, library="RETORT_LIBRARY"):
        done = subprocess.run([os.environ["CHAT"], os.path.join(self.area, "fp32"), "--tokens", "10", *options], input=b"and now?\nreally and truly?\n",
                              capture_output=True, env={**os.environ, "RETORT_LIBRARY": os.environ[library]}, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_chat(self):
        plain = self.chat()
        self.assertEqual(plain, self.chat(library="RETORT_ORACLE"))
        cache = os.path.join(self.area, "cache")
        for _ in "written", "read":
            self.assertEqual(plain, self.chat("--cache", cache))
        drawn = [self.chat("--temperature", "2", "--top-k", "50", "--top-p", "0.95", "--seed", seed) for seed in ("1", "1", "2")]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])

    def test_chat_rejects_a_wrong_cache(self):
        cache = os.path.join(self.area, "wrong_cache")
        with open(cache, "w", encoding="utf-8") as f:
            f.write("{}\n")
        done = subprocess.run([os.environ["CHAT"], os.path.join(self.area, "fp32"), "--cache", cache], input=b"", capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"holds no cache", done.stderr)


if __name__ == "__main__":
    unittest.main()
