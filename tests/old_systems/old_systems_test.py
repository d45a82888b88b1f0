#!/usr/bin/env python3
"""Tests that the installed files work on this system, using only the standard library of Python 3.9: libraries and
their errors, sessions on several threads, the tool, providers. Started in the root of an old system by
tools/old_root.sh, and by the stage package on this one.

RETORT_OUT: the installed files; RETORT_PROVIDERS: the providers whose libraries exist here, for example "onednn
xnnpack".
"""
import ctypes
import glob
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "tests"))
from c_api import Api, ApiError  # noqa: E402

OUT = os.environ["RETORT_OUT"]
DIGITS = os.path.join(ROOT, "examples", "digits")
TOOL = os.path.join(OUT, "bin", "retort")
FLOAT, WARNING = 1, 2
PIXELS, CLASSES, THREADS = 64, 10, 4
RIGHT, OF = 589, 599  # as make run prints


def read_npy(*path):
    """The bytes of the elements."""
    with open(os.path.join(DIGITS, *path), "rb") as f:
        data = f.read()
    return data[10 + int.from_bytes(data[8:10], "little"):]


class Digits:
    """A session of the model of examples/digits."""

    def __init__(self, library):
        self.api = Api(library)
        self.environment = self.api.make("CreateEnv", ctypes.c_int(WARNING), ctypes.c_char_p(b"old"))
        self.options = self.api.make("CreateSessionOptions")
        path = os.path.join(DIGITS, "digits.onnx").encode()
        self.session = self.api.make("CreateSession", self.environment, ctypes.c_char_p(path), self.options)
        self.memory = self.api.make("CreateCpuMemoryInfo", ctypes.c_int(0), ctypes.c_int(0))

    def tensor(self, buffer, *shape):
        extents = (ctypes.c_int64 * len(shape))(*shape)
        return self.api.make("CreateTensorWithDataAsOrtValue", self.memory, buffer, ctypes.c_size_t(ctypes.sizeof(buffer)), extents,
                             ctypes.c_size_t(len(shape)), ctypes.c_int(FLOAT))

    def classify(self, pixels):
        image, chances = (ctypes.c_float * PIXELS)(*pixels), (ctypes.c_float * CLASSES)()
        values = [self.tensor(image, 1, 1, 8, 8), self.tensor(chances, 1, CLASSES)]
        names = (ctypes.c_char_p * 1)(b"image"), (ctypes.c_char_p * 1)(b"probabilities")
        one = ctypes.c_size_t(1)
        self.api.call("Run", self.session, None, names[0], (ctypes.c_void_p * 1)(values[0]), one, names[1], one, (ctypes.c_void_p * 1)(values[1]))
        for value in values:
            self.api.function("ReleaseValue", None, ctypes.c_void_p)(value)
        return max(range(CLASSES), key=lambda i: chances[i])


def retort(*words):
    return subprocess.run([TOOL, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")


class Libraries(unittest.TestCase):
    NAMES = ("libretort.so.1", "libonnxruntime.so.1")

    def test_digits_on_several_threads_of_one_session(self):
        pixels, labels = read_npy("heldout_images.npy"), read_npy("heldout_labels.npy")
        rows = [[pixel / 16 for pixel in pixels[i:i + PIXELS]] for i in range(0, len(pixels), PIXELS)]
        for name in self.NAMES:
            with self.subTest(name):
                digits, right = Digits(os.path.join(OUT, "lib", name)), [0] * THREADS

                def work(t):
                    right[t] = sum(digits.classify(rows[i]) == labels[i] for i in range(t, OF, THREADS))
                threads = [threading.Thread(target=work, args=(t,)) for t in range(THREADS)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.assertEqual(sum(right), RIGHT)

    def test_exceptions_inside_are_errors_outside(self):
        for name in self.NAMES:
            with self.subTest(name):
                api = Api(os.path.join(OUT, "lib", name))
                environment = api.make("CreateEnv", ctypes.c_int(WARNING), ctypes.c_char_p(b"old"))
                options = api.make("CreateSessionOptions")
                with self.assertRaisesRegex(ApiError, "absent.onnx"):
                    api.make("CreateSession", environment, ctypes.c_char_p(b"/absent.onnx"), options)
                broken = b"\xff" * 100
                with self.assertRaises(ApiError):
                    api.make("CreateSessionFromArray", environment, ctypes.c_char_p(broken), ctypes.c_size_t(len(broken)), options)


class Tool(unittest.TestCase):
    MODEL = os.path.join(DIGITS, "digits.onnx")

    def answer(self, *words):
        done = retort(*words)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_run(self):
        for threads in "1", "2":
            self.assertIn("probabilities", self.answer("run", self.MODEL, "--threads", threads))

    def test_saved_outputs(self):
        with tempfile.TemporaryDirectory() as folder:
            self.answer("run", self.MODEL, "--save", os.path.join(folder, "out"))
            [path] = glob.glob(os.path.join(folder, "out", "*.npy"))
            elements = read_npy(path)
        self.assertAlmostEqual(sum(memoryview(elements).cast("f")), 1, places=4)

    def test_bench(self):
        report = json.loads(self.answer("bench", self.MODEL, "--seconds", "0.2", "--json"))
        self.assertTrue(report)

    def test_a_broken_model(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "broken.onnx")
            with open(path, "wb") as f:
                f.write(b"\xff" * 100)
            done = retort("run", path)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("broken.onnx", done.stdout)


class Providers(unittest.TestCase):
    def test_a_model_runs_on_them(self):
        names = os.environ.get("RETORT_PROVIDERS", "").split()
        if not names:
            self.skipTest("RETORT_PROVIDERS names none")
        for name in names:
            with self.subTest(name):
                plugin = f"{name}={os.path.join(OUT, 'lib', 'providers', f'libretort_{name}.so')}"
                done = retort("devices", "--plugin", plugin)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertRegex(done.stdout, "(?i)through " + name)
                done = retort("inspect", Tool.MODEL, "--plugin", plugin, "--placement")
                self.assertRegex(done.stdout, f"(?i){name}ExecutionProvider")
                done = retort("run", Tool.MODEL, "--plugin", plugin)
                self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    print("C library:", " ".join(platform.libc_ver()))
    unittest.main()
