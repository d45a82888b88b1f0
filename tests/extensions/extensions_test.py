#!/usr/bin/env python3
"""The operators of the PyPI package onnxruntime-extensions, a library of custom operators, in Retort and in official
ONNX Runtime.

RETORT_LIBRARY is the library to test, RETORT_ORACLE the official one (without it, only the stored results are
compared). The package stores its interface in a global variable, so each library runs in a separate process.
"""
import ctypes
import glob
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from c_api import Api  # noqa: E402

CONTRIB = "ai.onnx.contrib"
STRING, INT64, FLOAT = TensorProto.STRING, TensorProto.INT64, TensorProto.FLOAT
NUMPY = {INT64: np.int64, FLOAT: np.float32}
WORDS = ["some", "Wörter", "", "a b  c"]

# operator, attributes, inputs (type, content), types of outputs, and the result if it is easy to give
CASES = [
    ("StringUpper", {}, [(STRING, WORDS)], [STRING], [["SOME", "WöRTER", "", "A B  C"]]),
    ("StringLower", {}, [(STRING, ["SOME", "Text"])], [STRING], [["some", "text"]]),
    ("StringLength", {}, [(STRING, ["some", ""])], [INT64], [[4, 0]]),
    ("StringConcat", {}, [(STRING, ["a", "b"]), (STRING, ["1", "2"])], [STRING], [["a1", "b2"]]),
    ("StringEqual", {}, [(STRING, ["a", "b"]), (STRING, ["a", "c"])], [TensorProto.BOOL], [[True, False]]),
    ("StringJoin", {}, [(STRING, ["a", "b", "c"]), (STRING, ["-"]), (INT64, [0])], [STRING], None),
    ("StringSplit", {}, [(STRING, ["a,b", "c"]), (STRING, [","]), (TensorProto.BOOL, [True])], [INT64, STRING, INT64], None),
    ("StringRegexReplace", {"global_replace": 1}, [(STRING, ["a1b22", "c"]), (STRING, [r"[0-9]+"]), (STRING, ["#"])], [STRING], [["a#b#", "c"]]),
    ("StringToHashBucketFast", {}, [(STRING, WORDS), (INT64, [1000])], [INT64], None),
    ("VectorToString", {"map": "a\t0\nb\t1", "unk": "?"}, [(INT64, [1, 0, 7])], [STRING], [["b", "a", "?"]]),
    ("NegPos", {}, [(FLOAT, [-1.5, 2.5, 0.0])], [FLOAT, FLOAT], [[-1.5, 0.0, 0.0], [0.0, 2.5, 0.0]]),
    ("SegmentSum", {}, [(FLOAT, [1.0, 2.0, 3.0]), (INT64, [0, 0, 1])], [FLOAT], [[3.0, 3.0]]),
]


def extensions():
    spec = importlib.util.find_spec("onnxruntime_extensions")
    return glob.glob(os.path.join(spec.submodule_search_locations[0], "_extensions*.so"))[0] if spec else None


def model_of(case):
    op, attributes, inputs, outputs, _ = case
    ins = [helper.make_tensor_value_info(f"x{i}", t, [len(v)]) for i, (t, v) in enumerate(inputs)]
    outs = [helper.make_tensor_value_info(f"y{i}", t, None) for i, t in enumerate(outputs)]
    node = helper.make_node(op, [v.name for v in ins], [v.name for v in outs], domain=CONTRIB, **attributes)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(CONTRIB, 1)]
    return helper.make_model(helper.make_graph([node], op, ins, outs), ir_version=8, opset_imports=imports)


class Engine:
    """Models with the package's operators, run through the C interface."""

    def __init__(self, library):
        self.api = Api(library)
        self.env = self.api.make("CreateEnv", ctypes.c_int(3), b"extensions")
        self.allocator = self.api.make("GetAllocatorWithDefaultOptions")

    def run(self, path, inputs, count):
        options = self.api.make("CreateSessionOptions")
        self.api.call("RegisterCustomOpsLibrary_V2", options, extensions().encode())
        session = self.api.make("CreateSession", self.env, path.encode(), options)
        values = [self.value(t, v) for t, v in inputs]
        names = (ctypes.c_char_p * len(values))(*(f"x{i}".encode() for i in range(len(values))))
        wanted = (ctypes.c_char_p * count)(*(f"y{i}".encode() for i in range(count)))
        given = (ctypes.c_void_p * len(values))(*(v.value for v in values))
        made = (ctypes.c_void_p * count)()
        self.api.call("Run", session, None, names, given, ctypes.c_size_t(len(values)), wanted, ctypes.c_size_t(count), made)
        return [self.content(ctypes.c_void_p(p)) for p in made]

    def value(self, element, content):
        shape = (ctypes.c_int64 * 1)(len(content))
        value = self.api.make("CreateTensorAsOrtValue", self.allocator, shape, ctypes.c_size_t(1), ctypes.c_int(element))
        if element == STRING:
            texts = (ctypes.c_char_p * len(content))(*(s.encode() for s in content))
            self.api.call("FillStringTensor", value, texts, ctypes.c_size_t(len(content)))
        else:
            array = np.array(content, NUMPY.get(element, np.bool_))
            ctypes.memmove(self.data(value), array.ctypes.data, array.nbytes)
        return value

    def data(self, value):
        data = ctypes.c_void_p()
        self.api.call("GetTensorMutableData", value, ctypes.byref(data))
        return data.value

    def content(self, value):
        """(shape, elements)"""
        info = self.api.make("GetTensorTypeAndShape", value)
        rank, element = ctypes.c_size_t(), ctypes.c_int()
        self.api.call("GetDimensionsCount", info, ctypes.byref(rank))
        self.api.call("GetTensorElementType", info, ctypes.byref(element))
        dims = (ctypes.c_int64 * rank.value)()
        self.api.call("GetDimensions", info, dims, rank)
        count = int(np.prod(list(dims), dtype=np.int64))
        if element.value == STRING:
            return list(dims), [self.text(value, i) for i in range(count)]
        kind = NUMPY.get(element.value, np.bool_)
        raw = ctypes.string_at(self.data(value), count * np.dtype(kind).itemsize)
        return list(dims), np.frombuffer(raw, kind).tolist()

    def text(self, value, i):
        size = ctypes.c_size_t()
        self.api.call("GetStringTensorElementLength", value, ctypes.c_size_t(i), ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value + 1)
        self.api.call("GetStringTensorElement", value, size, ctypes.c_size_t(i), buffer)
        return buffer.raw[: size.value].decode()


def run_all(library):
    """Prints the result of each case; runs in the child."""
    engine = Engine(library)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            path = os.path.join(folder, case[0] + ".onnx")
            onnx.save(model_of(case), path)
            try:
                results[case[0]] = engine.run(path, case[2], len(case[3]))
            except Exception as e:  # the parent shows it
                results[case[0]] = str(e)
    print(json.dumps(results))


def results_of(library):
    done = subprocess.run([sys.executable, os.path.abspath(__file__), "--run", library], capture_output=True, encoding="utf-8", timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{library} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


@unittest.skipUnless(extensions(), "no package onnxruntime-extensions")
class Extensions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ours = results_of(os.environ["RETORT_LIBRARY"])
        oracle = os.environ.get("RETORT_ORACLE")
        cls.theirs = results_of(oracle) if oracle else None


def add_case(case):
    def test(self):
        ours = self.ours[case[0]]
        self.assertIsInstance(ours, list, ours)
        if case[4] is not None:
            self.assertEqual([elements for _, elements in ours], case[4])
        if self.theirs:
            self.assertEqual(ours, self.theirs[case[0]])

    setattr(Extensions, "test_" + case[0], test)


for one in CASES:
    add_case(one)

if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--run":
        run_all(sys.argv[2])
    else:
        unittest.main()
