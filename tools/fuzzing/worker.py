"""Runs cases on one library with ONNX Runtime's C interface, in a process of its own, so that a crash ends nothing
else.

    worker.py LIBRARY CONFIGURATION...      a CONFIGURATION is LEVEL:THREADS, the level of graph optimisation and the threads of a run

It reads messages in the form of wire.py from standard input: lists of cases (key, model bytes, [(name, value)], names
of the outputs, [(output, input whose memory it is bound to)]). For each case, it writes (key, [outcome of each
configuration]) to standard output. An outcome is ("ok", [values]), ("same", index of an earlier configuration with the
same outcome), or ("error", "load" or "run", code, message).
"""
import ctypes
import math
import os
import resource
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, os.pardir, "tests")]
import wire  # noqa: E402
from c_api import Api, ApiError  # noqa: E402

TENSOR, SEQUENCE, MAP, OPTIONAL = 1, 2, 3, 6
STRING = 8
BITS = {1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 14: 64, 15: 128, 16: 16, 17: 8, 18: 8, 19: 8,
        20: 8, 21: 4, 22: 4, 23: 4, 24: 8, 25: 2, 26: 2}
OF_ABI, TO_ABI = {24: 25, 25: 26, 26: 24}, {25: 24, 26: 25, 24: 26}  # the C interface has other numbers for these types than ONNX
MEMORY = 12 << 30  # limit of the address space: if a model needs more, its allocation fails
SIZE, INT, I64, PTR = ctypes.c_size_t, ctypes.c_int, ctypes.c_int64, ctypes.c_void_p


class Engine(Api):
    def __init__(self, library):
        super().__init__(library)
        self.environment, self.memory, self.allocator = PTR(), PTR(), PTR()
        self.call("CreateEnv", INT(4), ctypes.c_char_p(b"fuzz"), ctypes.byref(self.environment))
        self.call("CreateCpuMemoryInfo", INT(0), INT(0), ctypes.byref(self.memory))
        self.call("GetAllocatorWithDefaultOptions", ctypes.byref(self.allocator))
        self.options = {}

    def release(self, what, handle):
        self.function("Release" + what, None, PTR)(handle)

    def options_for(self, level, threads):
        key = level, threads
        if key not in self.options:
            options = self.make("CreateSessionOptions")
            self.call("SetIntraOpNumThreads", options, INT(threads))
            self.call("SetSessionGraphOptimizationLevel", options, INT(level))
            self.call("SetSessionLogSeverityLevel", options, INT(4))
            self.call("AddSessionConfigEntry", options, ctypes.c_char_p(b"session.intra_op.allow_spinning"), ctypes.c_char_p(b"0"))
            self.options[key] = options
        return self.options[key]

    def session(self, model, configuration):
        return self.make("CreateSessionFromArray", self.environment, ctypes.c_char_p(model), SIZE(len(model)), self.options_for(*configuration))

    def value(self, given, kept):
        """The OrtValue of a value in the form of wire.py; `kept` receives the memory that must outlive it."""
        kind = given[0]
        if kind in ("sequence", "map"):
            parts = [self.value(v, kept) for v in (given[1] if kind == "sequence" else given[1:])]
            array = (PTR * max(1, len(parts)))(*[p.value for p in parts])
            kept.append(array)
            return self.make("CreateValue", array, SIZE(len(parts)), INT(SEQUENCE if kind == "sequence" else MAP))
        if kind == "none":
            return PTR()
        if kind == "sparse":
            return self.sparse(*given[1:])
        dims = given[1] if kind == "strings" else given[2]
        shape = (I64 * max(1, len(dims)))(*dims)
        if kind == "strings":
            value = self.make("CreateTensorAsOrtValue", self.allocator, shape, SIZE(len(dims)), INT(STRING))
            texts = (ctypes.c_char_p * max(1, len(given[2])))(*given[2])
            self.call("FillStringTensor", value, texts, SIZE(len(given[2])))
            return value
        data = ctypes.create_string_buffer(given[3], max(1, len(given[3])))
        kept.append(data)
        return self.make("CreateTensorWithDataAsOrtValue", self.memory, data, SIZE(len(given[3])), shape, SIZE(len(dims)),
                         INT(TO_ABI.get(given[1], given[1])))

    def sparse(self, element, dims, data, count, indices):
        """The OrtValue of a sparse tensor; it copies what it is given."""
        value = self.make("CreateSparseTensorAsOrtValue", self.allocator, (I64 * len(dims))(*dims), SIZE(len(dims)), INT(TO_ABI.get(element, element)))
        lists = [argument for part in indices for argument in ((I64 * max(1, len(part)))(*part), SIZE(len(part)))]
        elements = ctypes.create_string_buffer(data, max(1, len(data)))
        fill = "FillSparseTensorCoo" if len(indices) == 1 else "FillSparseTensorCsr"
        self.call(fill, value, self.memory, (I64 * 1)(count), SIZE(1), elements, *lists)
        return value

    def taken(self, value):
        """The content of an OrtValue, in the form of wire.py."""
        if not value:
            return ("none",)
        kind = self.number("GetValueType", INT, value)
        if kind == TENSOR:
            return self.tensor(value)
        if kind == SEQUENCE:
            count = self.number("GetValueCount", SIZE, value)
            return "sequence", [self.part(value, i) for i in range(count)]
        if kind == MAP:
            return "map", self.part(value, 0), self.part(value, 1)
        return "kind", kind

    def part(self, value, index):
        part = self.make("GetValue", value, INT(index), self.allocator)
        taken = self.taken(part)
        self.release("Value", part)
        return taken

    def number(self, name, kind, handle):
        number = kind()
        self.call(name, handle, ctypes.byref(number))
        return number.value

    def tensor(self, value):
        has = self.number("HasValue", INT, value)
        if not has:
            return ("none",)
        info = self.make("GetTensorTypeAndShape", value)
        element = self.number("GetTensorElementType", INT, info)
        element, rank = OF_ABI.get(element, element), self.number("GetDimensionsCount", SIZE, info)
        dims = (I64 * max(1, rank))()
        self.call("GetDimensions", info, dims, SIZE(rank))
        self.release("TensorTypeAndShapeInfo", info)
        shape = tuple(dims[:rank])
        count = math.prod(shape)
        if element == STRING:
            return "strings", shape, self.strings(value, count)
        size = (count * BITS[element] + 7) // 8
        address = self.make("GetTensorMutableData", value)
        data = ctypes.string_at(address, size) if size else b""
        spare = size * 8 - count * BITS[element]
        if spare:  # bits after the last element are undefined
            data = data[:-1] + bytes([data[-1] & 0xFF >> spare])
        return "tensor", element, shape, data

    def strings(self, value, count):
        size = self.number("GetStringTensorDataLength", SIZE, value)
        text, offsets = ctypes.create_string_buffer(max(1, size)), (SIZE * max(1, count))()
        self.call("GetStringTensorContent", value, text, SIZE(size), offsets, SIZE(count))
        ends = [*offsets[1:count], size]
        return [text.raw[offsets[i]:ends[i]] for i in range(count)]

    def run(self, session, inputs, outputs, shared):
        kept, given, made = [], [], (PTR * max(1, len(outputs)))()
        try:
            given.extend(self.value(v, kept) for _, v in inputs)
            names = (ctypes.c_char_p * max(1, len(inputs)))(*[name.encode() for name, _ in inputs])
            wanted = (ctypes.c_char_p * max(1, len(outputs)))(*[name.encode() for name in outputs])
            for output, given_for_it in shared:
                made[output] = given[given_for_it].value
            values = (PTR * max(1, len(given)))(*[v.value for v in given])
            self.call("Run", session, None, names, values, SIZE(len(given)), wanted, SIZE(len(outputs)), made)
            return [self.taken(PTR(v)) for v in made[:len(outputs)]]
        finally:
            for handle in {*(v.value for v in given), *made} - {None}:
                self.release("Value", PTR(handle))

    def outcome(self, configuration, model, *run):
        stage = "load"
        try:
            session = self.session(model, configuration)
            try:
                stage = "run"
                return "ok", self.run(session, *run)
            finally:
                self.release("Session", session)
        except ApiError as e:
            return "error", stage, e.code, str(e)


def outcomes(engine, configurations, case):
    """The outcome of each configuration; an outcome that is equal to an earlier one is not sent again."""
    found = []
    for configuration in configurations:
        one = engine.outcome(configuration, *case[1:])
        same = next((i for i, other in enumerate(found) if other == one), None)
        found.append(one if same is None else ("same", same))
    return found


def main(kind=Engine, configurations=None):
    """`kind`: the class that runs a case; the command line has the configurations that are not given."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output that a library prints must not mix with the messages
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    engine = kind(sys.argv[1])
    configurations = configurations or [tuple(map(int, c.split(":"))) for c in sys.argv[2:]]
    wire.write(answers, "ready")
    while (batch := wire.read(sys.stdin.buffer)) is not None:
        for case in batch:
            wire.write(answers, (case[0], outcomes(engine, configurations, case)))


if __name__ == "__main__":
    main()
