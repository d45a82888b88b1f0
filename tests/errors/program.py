"""The steps of the cases' programs: each is a call of the C ABI, and the first one that fails ends the case."""
import ctypes
import os
import sys

import numpy as np
import onnx
import onnx.parser
from onnx import helper

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from c_api import Api  # noqa: E402

HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'
STRING = 8


def parse(text):
    """A model from the syntax of onnx.parser; IR version and opset may be left out."""
    return onnx.parser.parse_model(text if text.lstrip().startswith("<") else HEADER + text)


def c_array(kind, values):
    return (kind * max(1, len(values)))(*values)


def c_text(text):
    return ctypes.c_char_p(text.encode())


class Program(Api):
    """Starts in a separate folder, in which it may write. Handles live until the process ends."""

    def start(self):
        self.kept = []  # memory that values point to
        self.environment = self.make("CreateEnv", ctypes.c_int(4), c_text("errors"))

    def options(self, config=None):
        options = self.make("CreateSessionOptions")
        self.call("SetIntraOpNumThreads", options, ctypes.c_int(1))
        for key, value in (config or {}).items():
            self.call("AddSessionConfigEntry", options, c_text(key), c_text(value))
        return options

    def load(self, model, options=None, config=None):
        """A session of a model: text for onnx.parser, ModelProto, or the bytes of a file."""
        if isinstance(model, str):
            model = parse(model)
        with open("model.onnx", "wb") as f:
            f.write(model if isinstance(model, bytes) else model.SerializeToString())
        return self.load_path("model.onnx", options, config)

    def load_path(self, path, options=None, config=None):
        return self.make("CreateSession", self.environment, c_text(path), options or self.options(config))

    def load_bytes(self, data):
        return self.make("CreateSessionFromArray", self.environment, data, ctypes.c_size_t(len(data)), self.options())

    def memory(self):
        return self.make("CreateCpuMemoryInfo", ctypes.c_int(0), ctypes.c_int(0))

    def tensor(self, array, dtype=None):
        """A value in the memory of an array; strings are copied."""
        array = np.asarray(array, dtype)
        shape = c_array(ctypes.c_int64, array.shape)
        if array.dtype.kind == "U":
            return self.strings(array, shape)
        array = np.ascontiguousarray(array).reshape(array.shape)
        self.kept.append(array)
        element = helper.np_dtype_to_tensor_dtype(array.dtype)
        return self.make("CreateTensorWithDataAsOrtValue", self.memory(), ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes),
                         shape, ctypes.c_size_t(array.ndim), ctypes.c_int(element))

    def strings(self, array, shape):
        allocator = self.make("GetAllocatorWithDefaultOptions")
        value = self.make("CreateTensorAsOrtValue", allocator, shape, ctypes.c_size_t(array.ndim), ctypes.c_int(STRING))
        texts = c_array(ctypes.c_char_p, [t.encode() for t in array.flat])
        self.call("FillStringTensor", value, texts, ctypes.c_size_t(array.size))
        return value

    def sequence(self, *arrays):
        values = [self.tensor(a).value for a in arrays]
        return self.make("CreateValue", c_array(ctypes.c_void_p, values), ctypes.c_size_t(len(values)), ctypes.c_int(2))

    def floats(self, *shape):
        return self.tensor(np.zeros(shape, np.float32))

    def run(self, session, inputs, outputs=("y",), given=None, options=None):
        """inputs: {name: value or array}; outputs are made by the library, or written to `given`."""
        values = [v if isinstance(v, ctypes.c_void_p) or v is None else self.tensor(v) for v in inputs.values()]
        names = c_array(ctypes.c_char_p, [n.encode() for n in inputs])
        wanted = c_array(ctypes.c_char_p, [n.encode() for n in outputs])
        made = c_array(ctypes.c_void_p, [v.value for v in given or []] or [None] * len(outputs))
        self.call("Run", session, options, names, c_array(ctypes.c_void_p, [v and v.value for v in values]),
                  ctypes.c_size_t(len(values)), wanted, ctypes.c_size_t(len(outputs)), made)

    def bind(self, session, inputs=None, outputs=None):
        binding = self.make("CreateIoBinding", session)
        for function, values in (("BindInput", inputs), ("BindOutput", outputs)):
            for name, value in (values or {}).items():
                self.call(function, binding, c_text(name), value)
        return binding

    def run_bound(self, session, binding):
        self.call("RunWithBinding", session, None, binding)
