"""The few functions of ONNX Runtime's C ABI that loading and running one model takes, by ctypes: of a library that may be
under a sanitizer or crash, in a process that has nothing else of it."""
import ctypes
import os

API_VERSION = 16
# Places in the function table.
SLOTS = {"GetErrorMessage": 2, "CreateEnv": 3, "CreateSession": 7, "Run": 9, "CreateSessionOptions": 10,
         "SetSessionLogSeverityLevel": 22, "SetIntraOpNumThreads": 24, "SessionGetOutputCount": 31, "SessionGetOutputName": 37,
         "CreateTensorWithDataAsOrtValue": 49, "CreateCpuMemoryInfo": 69, "GetAllocatorWithDefaultOptions": 78,
         "CreateValue": 82}
ONNX_TYPE_SEQUENCE = 2
BY_VALUE = (ctypes.c_int, ctypes.c_int64, ctypes.c_size_t)


class EngineError(Exception):
    """What a status says."""


class Engine:
    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.library.OrtGetApiBase.restype = ctypes.POINTER(ctypes.c_void_p)
        get_api = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(self.library.OrtGetApiBase()[0])
        self.table = ctypes.cast(get_api(API_VERSION), ctypes.POINTER(ctypes.c_void_p))

    def call(self, name, *args):
        types = [type(a) if isinstance(a, BY_VALUE) else ctypes.c_void_p for a in args]
        status = ctypes.CFUNCTYPE(ctypes.c_void_p, *types)(self.table[SLOTS[name]])(*args)
        if status:
            text = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(self.table[SLOTS["GetErrorMessage"]])(status)
            raise EngineError(text.decode("utf-8", "replace"))

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
        """A value over memory of its own, and that memory, which must outlive it."""
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
