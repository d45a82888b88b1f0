#!/usr/bin/env python3
"""Tests of a real language model: tokens beside llama.cpp, the tokenizer in C++ beside the library tokenizers.

    llm_test.py --worker PROGRAM --tokenize PROGRAM --retort LIBRARY --models DIR --gguf FILE

The last line is "N passed, N failed"."""
import argparse
import json
import os
import subprocess

from tokenizers import Tokenizer

import prompts
import workers

COUNT = 48
# Both engines round activations to 8 bits, and llama.cpp also its cache to 16. By how much that changes the difference of two logits is
# measured: the largest change of the margin between the two best tokens, beside a run of the same weights in float32. It must stay below
# this limit, or the comparison would prove nothing: the logits of these prompts have a standard deviation of 2 to 3.
MOST_ROUNDING = 1.5
TEXTS = ("", " ", "\n\n", "Hello, world!", "It's 2026, isn't it? We'll see: 1234567890.", "  two  spaces\tand\ta tab \n and lines\r\n\n\nend ",
         "naïve café — “quotes”… ½ Ⅷ ٣", "日本語のテキスト、한국어, Ελληνικά, русский", "👩‍👩‍👧‍👦 🇩🇪 emoji", "<|im_start|>user is text here<|im_end|>",
         "def f(x):\n    return x**2  # comment\n", "a\u0085b\u00a0c\u2003d\u200be", "x" * 300, "I'M SHOUTING, DON'T'VE 'll 's")


def same_tokens(a):
    """The texts on which the tokenizer in C++ and that of the library differ."""
    path = os.path.join(a.models, "int4", "tokenizer.json")
    library = Tokenizer.from_file(path)
    library.encode_special_tokens = True
    done = subprocess.run([a.tokenize, path], input="".join(json.dumps(t) + "\n" for t in TEXTS), capture_output=True, encoding="utf-8", check=True)
    own = [json.loads(line) for line in done.stdout.splitlines()]
    for text, tokens in zip(TEXTS, own, strict=True):
        wanted = library.encode(text, add_special_tokens=False).ids
        if tokens != wanted:
            yield f"tokens of {text!r}: {tokens}, expected {wanted}"


class Answer:
    """The tokens of llama.cpp for a prompt, and what Retort makes of each step after the same tokens."""

    def __init__(self, question, prompt, theirs, ours, exact):
        self.question = question
        steps = theirs.ask(prompt=prompt, greedy=COUNT)["steps"]
        self.tokens, second, self.margins = map(list, zip(*steps))
        own = ours.ask(prompt=prompt, forced=self.tokens, pairs=[[0, 0]] * len(self.tokens))["steps"]
        self.own = [s[0] for s in own]
        self.second = second
        pairs = [[token, s if o == token else o] for token, s, o in zip(self.tokens, second, self.own)]
        self.exact_margins = [s[1] for s in exact.ask(prompt=prompt, forced=self.tokens, pairs=pairs)["steps"]]

    def rounding(self):
        """The largest change of the margin between the two tokens that llama.cpp finds best."""
        return max(abs(margin - exact) for token, second, own, margin, exact
                   in zip(self.tokens, self.second, self.own, self.margins, self.exact_margins) if own in (token, second))

    def differences(self, rounding):
        """(steps with another token that rounding does not explain, number of steps that it explains)"""
        other = [i for i, (own, token) in enumerate(zip(self.own, self.tokens)) if own != token]
        wrong = [i for i in other if abs(self.exact_margins[i]) > rounding]
        return [f"token {i}: {self.own[i]} in place of {self.tokens[i]}; in float32 its logit is smaller by {self.exact_margins[i]:.3f}"
                for i in wrong], len(other) - len(wrong)


def answers(a):
    tokenizer = Tokenizer.from_file(os.path.join(a.models, "int4", "tokenizer.json"))
    ours, exact = (workers.engine(a.worker, a.retort, os.path.join(a.models, form)) for form in ("int4", "fp32"))
    theirs = workers.peer("xllamacpp", a.gguf)
    found = [Answer(q, tokenizer.encode(prompts.prompt(q)).ids, theirs, ours, exact) for q in prompts.QUESTIONS]
    for worker in (ours, exact, theirs):
        worker.close()
    return found


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("worker", "tokenize", "retort", "models", "gguf"):
        ap.add_argument("--" + name, required=True)
    a = ap.parse_args()
    wrong = list(same_tokens(a))
    print("\n".join("FAIL " + text for text in wrong) or f"ok   {len(TEXTS)} texts have the tokens of the library tokenizers")
    passed, failed = int(not wrong), int(bool(wrong))
    found = answers(a)
    rounding = max(answer.rounding() for answer in found)
    passed, failed = passed + (rounding <= MOST_ROUNDING), failed + (rounding > MOST_ROUNDING)
    print(f"{'ok  ' if rounding <= MOST_ROUNDING else 'FAIL'} rounding changes differences of logits by up to {rounding:.2f}, allowed: {MOST_ROUNDING}")
    for answer in found:
        bad, explained = answer.differences(rounding)
        print(f"{'FAIL' if bad else 'ok  '} {answer.question} {len(answer.tokens)} tokens, {explained} decided by rounding", *bad, sep="\n  ")
        passed, failed = passed + (not bad), failed + bool(bad)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
