"""Loads and runs one model through the C ABI of a library."""
import ctypes
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from c_api import Api  # noqa: E402

ONNX_TYPE_SEQUENCE = 2


class Engine(Api):
    def load(self, path):
        environment, options, self.session = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("CreateEnv", ctypes.c_int(4), ctypes.c_char_p(b"robustness"), ctypes.byref(environment))
        self.call("CreateSessionOptions", ctypes.byref(options))
        self.call("SetIntraOpNumThreads", options, ctypes.c_int(1))
        self.call("SetSessionLogSeverityLevel", options, ctypes.c_int(4))
        self.call("CreateSession", environment, ctypes.c_char_p(os.fsencode(path)), options, ctypes.byref(self.session))

    def output_names(self):
        count, allocator = ctypes.c_size_t(), ctypes.c_void_p()
        self.call("SessionGetOutputCount", self.session, ctypes.byref(count))
        self.call("GetAllocatorWithDefaultOptions", ctypes.byref(allocator))
        names = [ctypes.c_char_p() for _ in range(count.value)]
        for i, name in enumerate(names):
            self.call("SessionGetOutputName", self.session, ctypes.c_size_t(i), allocator, ctypes.byref(name))
        return names

    def tensor(self, element, dims, raw):
        """A value in newly allocated memory, and that memory, which must outlive it."""
        memory, value = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("CreateCpuMemoryInfo", ctypes.c_int(0), ctypes.c_int(0), ctypes.byref(memory))
        data, shape = ctypes.create_string_buffer(raw, max(1, len(raw))), (ctypes.c_int64 * max(1, len(dims)))(*dims)
        self.call("CreateTensorWithDataAsOrtValue", memory, data, ctypes.c_size_t(len(raw)), shape, ctypes.c_size_t(len(dims)),
                  ctypes.c_int(element), ctypes.byref(value))
        return value, data

    def sequence(self, tensors):
        made, value = [self.tensor(*t) for t in tensors], ctypes.c_void_p()
        elements = (ctypes.c_void_p * max(1, len(made)))(*[v.value for v, _ in made])
        self.call("CreateValue", elements, ctypes.c_size_t(len(made)), ctypes.c_int(ONNX_TYPE_SEQUENCE), ctypes.byref(value))
        return value, made

    def run(self, inputs):
        """inputs: [(name, tensor or list of tensors)], a tensor: (element type, dims, bytes)"""
        kept = [self.sequence(v) if isinstance(v, list) else self.tensor(*v) for _, v in inputs]
        values = [value for value, _ in kept]
        outputs = self.output_names()
        input_names = (ctypes.c_char_p * max(1, len(inputs)))(*[i[0].encode() for i in inputs])
        output_names = (ctypes.c_char_p * max(1, len(outputs)))(*[o.value for o in outputs])
        given = (ctypes.c_void_p * max(1, len(values)))(*[v.value for v in values])
        made = (ctypes.c_void_p * max(1, len(outputs)))()
        self.call("Run", self.session, None, input_names, given, ctypes.c_size_t(len(values)), output_names,
                  ctypes.c_size_t(len(outputs)), made)
