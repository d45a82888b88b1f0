"""Runs the cases of CrossLanguageTest by I/O binding from Python.

    bound_runs.py LIBRARY FOLDER

Each folder in FOLDER is a case with model.onnx, case.tsv and steps.txt (the number of steps). case.tsv has a line per
input: name, FLOAT or INT64, extents separated by commas, a file, and the output whose value it takes after the first
step, or '-'. A file contains one tensor for all steps, or one for each step. The bytes of all outputs of all steps, in
the order of the model, are written to python.bin.

The official library is used through the package onnxruntime, which contains a copy of it. If the package and the
library have different versions, the program exits with 3. Every other library is used through its C interface."""
import csv
import ctypes
import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 6)
TYPES = {"FLOAT": (1, 4, "float32"), "INT64": (7, 8, "int64")}
FATAL, OTHER_VERSION = 4, 3


class Case:
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "steps.txt"), encoding="utf-8") as f:
            self.steps = int(f.read())
        with open(os.path.join(folder, "case.tsv"), encoding="utf-8", newline="") as f:
            self.inputs = [Input(folder, *row) for row in csv.reader(f, delimiter="\t")]

    def model(self):
        return os.path.join(self.folder, "model.onnx")


class Input:
    def __init__(self, folder, name, kind, shape, file, feedback):
        self.name, self.feedback = name, feedback
        self.type, self.size, self.numpy = TYPES[kind]
        self.shape = [int(d) for d in shape.split(",")]
        self.bytes = self.size
        for d in self.shape:
            self.bytes *= d
        with open(os.path.join(folder, file), "rb") as f:
            self.data = f.read()

    def of_step(self, step):
        at = step * self.bytes if len(self.data) > self.bytes else 0
        return self.data[at:at + self.bytes]


def by_package(case):
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(case.model(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    names = [o.name for o in session.get_outputs()]
    last = {}
    for step in range(case.steps):
        for i in case.inputs:
            value = last.get(i.feedback)
            if value is None:
                array = numpy.frombuffer(i.of_step(step), i.numpy).reshape(i.shape)
                value = onnxruntime.OrtValue.ortvalue_from_numpy(array)
            binding.bind_ortvalue_input(i.name, value)
        for name in names:
            binding.bind_output(name, "cpu")
        session.run_with_iobinding(binding)
        last = dict(zip(names, binding.get_outputs()))
        yield from (last[name].numpy().tobytes() for name in names)


class ByInterface:
    """Runs a case through the C interface. No object is released, because the process ends soon."""

    def __init__(self, library):
        sys.path.insert(0, os.path.join(ROOT, "tests"))
        from c_api import Api
        self.api = Api(library)
        self.env = self.api.make("CreateEnv", ctypes.c_int(FATAL), b"python")
        self.host = self.api.make("CreateCpuMemoryInfo", ctypes.c_int(0), ctypes.c_int(0))
        self.allocator = self.api.make("GetAllocatorWithDefaultOptions")

    def outputs(self, session):
        count = ctypes.c_size_t()
        self.api.call("SessionGetOutputCount", session, ctypes.byref(count))
        texts = (self.api.make("SessionGetOutputName", session, ctypes.c_size_t(i), self.allocator) for i in range(count.value))
        return [ctypes.string_at(text.value) for text in texts]

    def tensor(self, i, data):
        buffer = ctypes.create_string_buffer(data, max(1, len(data)))
        shape = (ctypes.c_int64 * len(i.shape))(*i.shape)
        value = self.api.make("CreateTensorWithDataAsOrtValue", self.host, buffer, ctypes.c_size_t(len(data)), shape,
                              ctypes.c_size_t(len(i.shape)), ctypes.c_int(i.type))
        return value, buffer

    def bytes(self, value):
        info = self.api.make("GetTensorTypeAndShape", value)
        count, kind = ctypes.c_size_t(), ctypes.c_int()
        self.api.call("GetTensorShapeElementCount", info, ctypes.byref(count))
        self.api.call("GetTensorElementType", info, ctypes.byref(kind))
        data = self.api.make("GetTensorMutableData", value)
        size = next(size for number, size, _ in TYPES.values() if number == kind.value)
        return ctypes.string_at(data.value, count.value * size) if count.value else b""

    def values(self, binding):
        array, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_size_t()
        self.api.call("GetBoundOutputValues", binding, self.allocator, ctypes.byref(array), ctypes.byref(count))
        return [ctypes.c_void_p(array[i]) for i in range(count.value)]

    def __call__(self, case):
        options = self.api.make("CreateSessionOptions")
        self.api.call("SetIntraOpNumThreads", options, ctypes.c_int(1))
        session = self.api.make("CreateSession", self.env, os.fsencode(case.model()), options)
        binding = self.api.make("CreateIoBinding", session)
        names = self.outputs(session)
        last, kept = {}, []
        for step in range(case.steps):
            for i in case.inputs:
                value = last.get(i.feedback.encode())
                if value is None:
                    value, buffer = self.tensor(i, i.of_step(step))
                    kept.append(buffer)
                self.api.call("BindInput", binding, i.name.encode(), value)
            for name in names:
                self.api.call("BindOutputToDevice", binding, name, self.host)
            self.api.call("RunWithBinding", session, None, binding)
            last = dict(zip(names, self.values(binding)))
            yield from (self.bytes(last[name]) for name in names)


def version(library):
    """The version of a library."""
    base = ctypes.CDLL(library).OrtGetApiBase
    base.restype = ctypes.POINTER(ctypes.c_void_p)
    return ctypes.CFUNCTYPE(ctypes.c_char_p)(base()[1])().decode()


def main(library, folder):
    with open(library, "rb") as f:
        ours = b"Retort" in f.read()
    if ours:
        run = ByInterface(library)
    else:
        try:
            import onnxruntime
        except ImportError as e:
            print(f"no Python package onnxruntime: {e}")
            return OTHER_VERSION
        if onnxruntime.__version__ != version(library):
            print(f"the Python package onnxruntime has version {onnxruntime.__version__}, the library {version(library)}")
            return OTHER_VERSION
        run = by_package
    for name in sorted(os.listdir(folder)):
        case = Case(os.path.join(folder, name))
        with open(os.path.join(case.folder, "python.bin"), "wb") as f:
            for data in run(case):
                f.write(data)
    print("the package" if run is by_package else "the C interface")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
