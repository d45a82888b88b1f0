#!/usr/bin/env python3
"""Tests of examples/chat/chat.py beside the program in C++, with the model of tiny_test.py: nothing is downloaded.

Environment: CHAT, the program in C++; RETORT_LIBRARY and RETORT_ORACLE, the engine libraries. The interpreter has the packages retort and tokenizers.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import build_llm
import tiny_test

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "chat", "chat.py")
QUESTIONS = b"and now?\nreally and truly?\n"
DRAWN = ["--temperature", "2", "--top-k", "50", "--top-p", "0.95"]


class Chat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        area = tempfile.TemporaryDirectory()
        cls.addClassCleanup(area.cleanup)
        cls.area = area.name
        gguf = os.path.join(cls.area, "model.gguf")
        tiny_test.write_model(gguf)
        build_llm.build(gguf, cls.area, ["fp32", "bf16"])

    def start(self, program, *options, form="fp32", library="RETORT_LIBRARY"):
        return subprocess.run([*program, os.path.join(self.area, form), "--tokens", "10", *options], input=QUESTIONS, capture_output=True,
                              env={**os.environ, "RETORT_LIBRARY": os.environ[library]}, check=False)

    def says(self, program, *options, **where):
        done = self.start(program, *options, **where)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(done.stdout.count(b"\n"), 2, done.stdout)
        return done.stdout

    def letters(self, said):
        """What both programs print: the bytes that this model draws are seldom UTF-8, and only the program in C++ prints them as they are."""
        found = bytes(b for b in said if b < 128)
        self.assertGreater(len(found), 4, said)
        return found

    def in_python(self, *options, **where):
        return self.says([sys.executable, SCRIPT], *options, **where)

    def in_cpp(self, *options, **where):
        return self.says([os.environ["CHAT"]], *options, **where)

    def refused(self, *options):
        done = self.start([sys.executable, SCRIPT], *options)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertNotIn(b"Traceback", done.stderr)
        return done.stderr.decode()

    def test_answers_of_the_program_in_cpp(self):
        plain = self.in_cpp()
        self.assertEqual(self.letters(self.in_python()), self.letters(plain))
        drawn = {seed: self.in_cpp(*DRAWN, "--seed", seed) for seed in ("1", "2")}
        self.assertEqual(len({plain, *drawn.values()}), 3)
        for seed, said in drawn.items():
            self.assertEqual(self.letters(self.in_python(*DRAWN, "--seed", seed)), self.letters(said))

    def test_answers_on_official(self):
        self.assertEqual(self.in_python(library="RETORT_ORACLE"), self.in_python())

    def test_a_cache_in_bfloat16(self):
        self.assertEqual(self.letters(self.in_python(form="bf16")), self.letters(self.in_cpp(form="bf16")))

    def test_each_reads_the_file_of_the_other(self):
        plain = self.letters(self.in_cpp())
        for name, write, read in (("ours", self.in_python, self.in_cpp), ("theirs", self.in_cpp, self.in_python)):
            cache = os.path.join(self.area, name)
            self.assertEqual(self.letters(write("--cache", cache)), plain)
            with open(cache, "rb") as f:
                written = f.read()
            self.assertEqual(self.letters(read("--cache", cache)), plain)
            with open(cache, "rb") as f:
                self.assertEqual(f.read(), written)

    def test_files_that_hold_no_cache(self):
        cache = os.path.join(self.area, "cache")
        self.in_python("--cache", cache)
        with open(cache, "rb") as f:
            head, rows = f.read().split(b"\n", 1)
        other = json.dumps({**json.loads(head), "model": "1-2"}).encode()
        for text, wanted in ((b"", "holds no cache"), (b"{}\n", "holds no cache"), (b"[1]\n", "holds no cache"), (b"\xff\n", "holds no cache"),
                             (other + b"\n" + rows, "another model"), (head + b"\n" + rows[:-1], "shorter than its header")):
            with open(cache, "wb") as f:
                f.write(text)
            self.assertIn(wanted, self.refused("--cache", cache))

    def test_too_little_room(self):
        self.assertIn("there is room for 8", self.refused("--room", "8"))
        cache = os.path.join(self.area, "long")
        self.in_python("--cache", cache)
        self.assertIn("there is room for 8", self.refused("--room", "8", "--cache", cache))


if __name__ == "__main__":
    unittest.main()
