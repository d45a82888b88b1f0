"""Calls any function of ONNX Runtime's C ABI by name, through ctypes: for tests of a library that may run under a
sanitizer or crash, in a process without other parts of the library."""
import csv
import ctypes
import os

ABI = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "abi")
API_VERSION = 32
BY_VALUE = (ctypes.c_int, ctypes.c_int64, ctypes.c_size_t)


def read_table(name):
    with open(os.path.join(ABI, name), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


class ApiError(Exception):
    """The message of a status; `code` is its error code."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Api:
    """OrtApi; functions of other tables have names like "OrtCompileApi.CompileModel"."""

    SLOTS = {(row["struct"], row["name"]): int(row["slot"]) for row in read_table("functions.tsv") if row["slot"].isdigit()}

    def __init__(self, library, version=API_VERSION):
        self.library = ctypes.CDLL(library)
        self.library.OrtGetApiBase.restype = ctypes.POINTER(ctypes.c_void_p)
        get_api = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(self.library.OrtGetApiBase()[0])
        self.table = ctypes.cast(get_api(version), ctypes.POINTER(ctypes.c_void_p))
        self.functions = {}  # to make one takes as long as a short call
        self.prepared = {}  # {name: the function that call() uses}

    def function(self, name, *types):
        """A function of OrtApi, or of another table: "OrtCompileApi.CompileModel". `types`: of the result and of the parameters."""
        if (name, types) not in self.functions:
            self.functions[name, types] = self.made(name, *types)
        return self.functions[name, types]

    def made(self, name, *types):
        struct, _, name = name.rpartition(".")
        table = self.table
        if struct:
            getter = ctypes.CFUNCTYPE(ctypes.c_void_p)(self.table[self.SLOTS["OrtApi", "Get" + struct.removeprefix("Ort")]])
            table = ctypes.cast(getter(), ctypes.POINTER(ctypes.c_void_p))
        return ctypes.CFUNCTYPE(*types)(table[self.SLOTS[struct or "OrtApi", name]])

    def call(self, name, *args):
        """Calls a function that returns a status; numbers are ctypes, everything else is a pointer. Raises ApiError."""
        status = (self.prepared.get(name) or self.prepare(name, args))(*args)
        if status:
            code = self.function("GetErrorCode", ctypes.c_int, ctypes.c_void_p)(status)
            text = self.function("GetErrorMessage", ctypes.c_char_p, ctypes.c_void_p)(status)
            raise ApiError(code, text.decode("utf-8", "replace"))

    def prepare(self, name, args):
        """The function that returns a status, with the types of its first arguments, for all its calls."""
        types = [type(a) if isinstance(a, BY_VALUE) else ctypes.c_void_p for a in args]
        self.prepared[name] = self.function(name, ctypes.c_void_p, *types)
        return self.prepared[name]

    def make(self, name, *args):
        """Calls a function whose last parameter receives a handle; returns the handle."""
        handle = ctypes.c_void_p()
        self.call(name, *args, ctypes.byref(handle))
        return handle
