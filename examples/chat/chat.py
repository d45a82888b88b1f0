"""Talks with a language model: questions are lines of the standard input, answers appear token by token.

    python chat.py FOLDER [options]        # needs the packages retort and tokenizers
"""
import argparse
import json
import os
import sys
import time
import zlib

import numpy as np
import retort
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

FORMAT = "retort chat cache 1"


def element_type(name: str) -> type:
    if name == "tensor(float)":
        return np.float32
    if name == "tensor(bfloat16)":
        import ml_dtypes  # only such models need this package
        return ml_dtypes.bfloat16
    raise ValueError(f"the cache is {name}, expected tensor(float) or tensor(bfloat16)")


class Decoder:
    """One sequence of tokens. The cache of keys and values lies in arrays of the program and is extended in place."""

    def __init__(self, folder: str, threads: int, room: int) -> None:
        with open(os.path.join(folder, "genai_config.json"), encoding="utf-8") as f:
            config = json.load(f)["model"]
        self.room = min(room, config["context_length"])
        self.tokens: list[int] = []
        self._model = os.path.join(folder, "model.onnx")
        options = retort.SessionOptions()
        options.intra_op_num_threads = threads
        # In Retort, a copy of the cache is then an error; other engines ignore the entry.
        options.add_session_config_entry("session.disallow_implicit_copies", "1")
        session = retort.InferenceSession(self._model, options)
        self._mask = np.ones((1, self.room), np.int64)
        self._caches = {}
        for port in session.get_inputs():
            if port.name.startswith("past_key_values."):
                self._caches[port.name] = np.zeros((1, port.shape[1], self.room, port.shape[3]), element_type(port.type))
        self._logits = np.empty((1, 1, config["vocab_size"]), np.float32)
        presents = {name.replace("past_key_values", "present"): cache for name, cache in self._caches.items()}
        self._step = session.bind({**self._caches, **presents, "logits": self._logits})

    def append(self, tokens: list[int]) -> np.ndarray:
        """Appends tokens, at least one; gives the logits after the last, which the next call overwrites."""
        total = len(self.tokens) + len(tokens)
        if total > self.room:
            raise ValueError(f"the sequence would have {total} tokens, there is room for {self.room}; begin a new conversation")
        self._step.run(input_ids=np.array([tokens], np.int64), attention_mask=self._mask[:, :total])
        self.tokens += tokens
        return self._logits[0, 0]

    def _header(self, tokens: list[int]) -> dict:
        size = os.path.getsize(self._model)
        with open(self._model, "rb") as f:
            f.seek(max(0, size - (1 << 20)))
            crc = zlib.crc32(f.read())
        cache = next(iter(self._caches.values()))
        return {"format": FORMAT, "model": f"{size}-{crc}", "row": cache.shape[3] * cache.itemsize, "heads": cache.shape[1],
                "caches": len(self._caches), "tokens": tokens}

    def save(self, path: str) -> None:
        """Writes the tokens and their rows of the cache to a file, which the program in C++ can read, too."""
        with open(path, "wb") as f:
            f.write(json.dumps(self._header(self.tokens)).encode() + b"\n")
            for cache in self._caches.values():
                f.write(cache[:, :, :len(self.tokens)].tobytes())

    def load(self, path: str) -> None:
        """Replaces the tokens by those of a file."""
        with open(path, "rb") as f:
            try:
                head = json.loads(f.readline())
                tokens = list(head["tokens"])
            except (ValueError, LookupError, TypeError):
                raise ValueError(f"{path} holds no cache of this program; remove it") from None
            if head != self._header(tokens):
                raise ValueError(f"{path} was saved with another model; remove it")
            if len(tokens) > self.room:
                raise ValueError(f"{path} has {len(tokens)} tokens, there is room for {self.room}; use a larger --room")
            for cache in self._caches.values():
                part = cache[:, :, :len(tokens)]
                rows = f.read(part.size * part.itemsize)
                if len(rows) < part.size * part.itemsize:
                    raise ValueError(f"{path} is shorter than its header says; remove it")
                part[:] = np.frombuffer(rows, cache.dtype).reshape(part.shape)
        self.tokens = tokens


class Sampler:
    """Draws tokens as the program in C++ does: the same seed and logits give the same tokens."""

    def __init__(self, temperature: float, top_k: int, top_p: float, seed: int) -> None:
        self.temperature, self.top_k, self.top_p, self._state = temperature, top_k, top_p, seed

    def _draw(self) -> float:
        mask = (1 << 64) - 1
        self._state = z = (self._state + 0x9E3779B97F4A7C15) & mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        return ((z ^ z >> 31) >> 11) * 2.0 ** -53

    def choose(self, logits: np.ndarray) -> int:
        if self.temperature <= 0:
            return int(logits.argmax())
        order = np.argsort(-logits, kind="stable")[:self.top_k or None]
        weights = np.exp((logits[order].astype(np.float64) - float(logits[order[0]])) / self.temperature)
        sums = np.cumsum(weights)
        count = min(int(np.searchsorted(sums, self.top_p * sums[-1])) + 1, len(sums))
        return int(order[min(int(np.searchsorted(sums[:count], self._draw() * sums[count - 1], side="right")), count - 1)])


class Conversation:
    """A conversation in the form on which the model was trained (ChatML)."""

    def __init__(self, decoder: Decoder, tokenizer: Tokenizer, system: str, cache: str = "") -> None:
        self._decoder, self._tokenizer = decoder, tokenizer
        tokenizer.encode_special_tokens = True  # names of special tokens have no special meaning in texts
        self._start, self._end = (tokenizer.token_to_id(name) for name in ("<|im_start|>", "<|im_end|>"))
        self._pending = self._message("system", system)
        if not cache:
            return
        if os.path.exists(cache):
            decoder.load(cache)
        if decoder.tokens != self._pending:
            decoder.tokens = []
            decoder.append(self._pending)
            decoder.save(cache)
        self._pending = []

    def _encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def _message(self, role: str, text: str) -> list[int]:
        return [self._start, *self._encode(f"{role}\n{text}"), self._end, *self._encode("\n")]

    def ask(self, question: str, sampler: Sampler, most: int):
        """Yields the pieces of the answer as soon as they are there."""
        logits = self._decoder.append([*self._pending, *self._message("user", question), self._start, *self._encode("assistant\n")])
        stream = DecodeStream(skip_special_tokens=True)
        for _ in range(most):
            token = sampler.choose(logits)
            if token == self._end:
                break
            yield stream.step(self._tokenizer, token) or ""
            logits = self._decoder.append([token])
        self._pending = [self._end, *self._encode("\n")]


def options() -> argparse.Namespace:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("folder", help="model.onnx, tokenizer.json and genai_config.json, as bench/llm makes them")
    ap.add_argument("--system", default="You are a helpful AI assistant named SmolLM, trained by Hugging Face", help="tells the model who it is")
    ap.add_argument("--cache", default="", help="a file that keeps what the model computed of that text, for the next start")
    ap.add_argument("--tokens", type=int, default=256, help="the most tokens of an answer")
    ap.add_argument("--temperature", type=float, default=0, help="0: always the most probable token")
    ap.add_argument("--top-k", type=int, default=0, help="chooses among that many most probable tokens; 0: all")
    ap.add_argument("--top-p", type=float, default=1, help="chooses among the most probable tokens that have this probability together")
    ap.add_argument("--seed", type=int, default=0, help="the same seed gives the same answers")
    ap.add_argument("--threads", type=int, default=0, help="0: one per core")
    ap.add_argument("--room", type=int, default=2048, help="the longest conversation, in tokens")
    ap.add_argument("--timing", action="store_true", help="prints tokens per second to the standard error")
    return ap.parse_args()


def main() -> None:
    a = options()
    tokenizer = Tokenizer.from_file(os.path.join(a.folder, "tokenizer.json"))
    conversation = Conversation(Decoder(a.folder, a.threads, a.room), tokenizer, a.system, a.cache)
    sampler = Sampler(a.temperature, a.top_k, a.top_p, a.seed)
    for question in sys.stdin:
        started, count = time.perf_counter(), 0
        for piece in conversation.ask(question.rstrip("\n"), sampler, a.tokens):
            print(piece, end="", flush=True)
            count += 1
        print()
        if a.timing:
            print(f"{count} tokens in {time.perf_counter() - started:.2f} s", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as e:
        sys.exit(f"chat.py: {e}")
