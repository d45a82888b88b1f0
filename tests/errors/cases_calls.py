"""Calls that the model or the interface does not allow."""
import ctypes
import os

import numpy as np

from case import Chapter
from program import c_array, c_text

MODEL = """g (float[batch,3] image, int64[2] size) => (float[batch,3] y, int64[2] z) { [act] y = Relu(image) [same] z = Abs(size) }"""
TIED = "g (float[n] a, float[n] b) => (float[n] y) { [sum] y = Add(a, b) }"
SIZE = np.array([4, 4], np.int64)
IMAGE = np.zeros((2, 3), np.float32)

inputs = Chapter("Inputs of a run")


def call(title, says="", outputs=("y",), model=MODEL, **values):
    """A run of a model with these inputs."""
    inputs.case(title, says)(lambda p: p.run(p.load(model), values, outputs))


call("input misspelt", "'imgae' 'image'", imgae=IMAGE, size=SIZE)
call("input of another name", "'x' 'image' 'size'", x=IMAGE, size=SIZE)
call("input missing", "'image' float32[batch,3]", size=SIZE)
call("no inputs", "'image' float32[batch,3]")
call("input of another type", "'image' float32 float64 convert", image=IMAGE.astype(np.float64), size=SIZE)
call("input of another rank", "'image' [batch,3] [6] reshape", image=np.zeros(6, np.float32), size=SIZE)
call("input with another extent", "'image' [batch,3] [2,4]", image=np.zeros((2, 4), np.float32), size=SIZE)
call("strings instead of numbers", "'image' float32 string", image=np.array([["a"] * 3] * 2), size=SIZE)
call("no value for the name", "'image' null", image=None, size=SIZE)
call("one extent with two values", "'n' 2 'a' 3 'b' 'sum' Add", model=TIED, a=np.zeros(2, np.float32), b=np.zeros(3, np.float32))


@inputs.case("a sequence instead of a tensor", "'image' float32 tensor")
def _(p):
    p.run(p.load(MODEL), {"image": p.sequence(IMAGE), "size": SIZE})


@inputs.case("a tensor instead of a sequence", "'x' tensor seq type")
def _(p):
    p.run(p.load("g (seq(float[n]) x) => (int64 y) { [len] y = SequenceLength(x) }"), {"x": IMAGE})


outputs = Chapter("Outputs of a run")


def good(p):
    return {"image": p.tensor(IMAGE), "size": p.tensor(SIZE)}


def wanted(title, says="", names=("y",), given=None):
    """A run with valid inputs; `given` makes the values that results are written to."""
    outputs.case(title, says)(lambda p: p.run(p.load(MODEL), good(p), names, given and [given(p)]))


wanted("output misspelt", "'yy' 'y'", ["yy"])
wanted("output of another name", "'probabilities' 'y' 'z'", ["probabilities"])
wanted("no outputs are requested", "output", [])
wanted("an output without a name", "output 0", [""])
wanted("a value of another shape to write to", "'y' float32[4,3] float32[2,3]", given=lambda p: p.floats(4, 3))
wanted("a value of another rank to write to", "'y' float32[6] float32[2,3]", given=lambda p: p.floats(6))
wanted("a value of another type to write to", "'y' float64[2,3] float32[2,3]", given=lambda p: p.tensor(np.zeros((2, 3), np.float64)))


@outputs.case("the terminate flag is set", "terminated 'act' Relu terminate flag")
def _(p):
    options = p.make("CreateRunOptions")
    p.call("RunOptionsSetTerminate", options)
    p.run(p.load(MODEL), good(p), options=options)


bindings = Chapter("I/O binding")


@bindings.case("an input misspelt", "'imgae' 'image'")
def _(p):
    p.bind(p.load(MODEL), {"imgae": p.tensor(IMAGE)})


@bindings.case("an output misspelt", "'yy' 'y'")
def _(p):
    session = p.load(MODEL)
    p.run_bound(session, p.bind(session, good(p), {"yy": p.floats(2, 3)}))


@bindings.case("an input that was not bound", "'image' float32[batch,3]")
def _(p):
    session = p.load(MODEL)
    p.run_bound(session, p.bind(session, {"size": p.tensor(SIZE)}, {"y": p.floats(2, 3)}))


@bindings.case("no inputs bound", "'image' float32[batch,3]")
def _(p):
    session = p.load(MODEL)
    p.run_bound(session, p.bind(session, {}, {"y": p.floats(2, 3)}))


@bindings.case("no outputs bound", "output bound device")
def _(p):
    session = p.load(MODEL)
    p.run_bound(session, p.bind(session, good(p)))


@bindings.case("an input of another type", "'image' float32 float64")
def _(p):
    session = p.load(MODEL)
    p.run_bound(session, p.bind(session, {**good(p), "image": p.tensor(IMAGE.astype(np.float64))}, {"y": p.floats(2, 3)}))


@bindings.case("an output of another shape", "'y' float32[2,4] float32[2,3]")
def _(p):
    session = p.load(MODEL)
    p.run_bound(session, p.bind(session, good(p), {"y": p.floats(2, 4)}))


@bindings.case("an output of another type", "'y' float64[2,3] float32[2,3]")
def _(p):
    session = p.load(MODEL)
    p.run_bound(session, p.bind(session, good(p), {"y": p.tensor(np.zeros((2, 3), np.float64))}))


@bindings.case("two outputs in the same memory", "'y' 'z' overlaps")
def _(p):
    session = p.load("g (float[2,3] x) => (float[2,3] y, float[2,3] z) { y = Relu(x) z = Neg(x) }")
    same = p.floats(2, 3)
    p.run_bound(session, p.bind(session, {"x": p.floats(2, 3)}, {"y": same, "z": same}))


@bindings.case("the binding of another session", "session make")
def _(p):
    session, other = p.load(MODEL), p.load(MODEL)
    p.run_bound(session, p.bind(other, good(p), {"y": p.floats(2, 3)}))


def gpu(p):
    return p.make("CreateMemoryInfo", c_text("Cuda"), ctypes.c_int(0), ctypes.c_int(0), ctypes.c_int(0))


def on_gpu(p):
    """A tensor that is declared to lie on a GPU."""
    data = np.zeros((2, 3), np.float32)
    p.kept.append(data)
    return p.make("CreateTensorWithDataAsOrtValue", gpu(p), ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(data.nbytes),
                  c_array(ctypes.c_int64, [2, 3]), ctypes.c_size_t(2), ctypes.c_int(1))


@bindings.case("an input on a GPU that no provider has", "'image' CPU")
def _(p):
    p.bind(p.load(MODEL), {"image": on_gpu(p)})


@bindings.case("an output on a GPU that no provider has", "'y' CPU")
def _(p):
    p.bind(p.load(MODEL), {}, {"y": on_gpu(p)})


values = Chapter("Values")


def wrap(p, size, shape, element=1):
    data = np.zeros(max(1, size), np.uint8)
    p.make("CreateTensorWithDataAsOrtValue", p.memory(), ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(size), c_array(ctypes.c_int64, shape),
           ctypes.c_size_t(len(shape)), ctypes.c_int(element))


@values.case("a buffer smaller than the shape", "20 24 float32[2,3]")
def _(p):
    wrap(p, 20, [2, 3])


@values.case("a negative extent in a shape", "[2,-3]")
def _(p):
    wrap(p, 24, [2, -3])


@values.case("an element type that does not exist", "99")
def _(p):
    wrap(p, 24, [2, 3], 99)


@values.case("strings over memory of the caller", "strings library fill")
def _(p):
    wrap(p, 1024, [2, 3], 8)


@values.case("a memory of an unknown name", "'Gpu' CreateMemoryInfo_V2")
def _(p):
    p.make("CreateMemoryInfo", c_text("Gpu"), ctypes.c_int(0), ctypes.c_int(0), ctypes.c_int(0))


@values.case("shape of a value that is not a tensor", "tensor type")
def _(p):
    p.make("GetTensorTypeAndShape", p.sequence(IMAGE))


@values.case("too few strings for a tensor", "2 3")
def _(p):
    value = p.tensor(np.array(["a", "b", "c"]))
    p.call("FillStringTensor", value, c_array(ctypes.c_char_p, [b"d", b"e"]), ctypes.c_size_t(2))


options = Chapter("Options")
RELU = "g (float[2] x) => (float[2] y) { [act] y = Relu(x) }"


@options.case("an optimisation level that does not exist", "42 99")
def _(p):
    p.call("SetSessionGraphOptimizationLevel", p.options(), ctypes.c_int(42))


@options.case("an execution mode that does not exist", "7 ORT_SEQUENTIAL")
def _(p):
    p.call("SetSessionExecutionMode", p.options(), ctypes.c_int(7))


@options.case("a provider that does not exist", "Toaster CPUExecutionProvider")
def _(p):
    p.call("SessionOptionsAppendExecutionProvider", p.options(), c_text("Toaster"), None, None, ctypes.c_size_t(0))


@options.case("a provider that is not built in", "QNN plug-in")
def _(p):
    p.call("SessionOptionsAppendExecutionProvider", p.options(), c_text("QNN"), None, None, ctypes.c_size_t(0))


@options.case("a library of custom operators that does not exist", "'absent.so'")
def _(p):
    p.call("RegisterCustomOpsLibrary_V2", p.options(), c_text("absent.so"))


@options.case("a configuration entry that was never set", "'session.absent' not set")
def _(p):
    p.call("GetSessionConfigEntry", p.options(), c_text("session.absent"), None, ctypes.byref(ctypes.c_size_t()))




@options.case("threads pinned to invalid processors", "'one;two' 1,2;3-4")
def _(p):
    given = p.options({"session.intra_op_thread_affinities": "one;two"})
    p.call("SetIntraOpNumThreads", given, ctypes.c_int(3))
    p.load(RELU, given)


@options.case("an entry that must be a number", "'many' number")
def _(p):
    key = "session.optimized_model_external_initializers_min_size_in_bytes"
    given = p.options({key: "many", "session.optimized_model_external_initializers_file_name": "saved.bin"})
    p.call("SetOptimizedModelFilePath", given, c_text("saved.onnx"))
    p.load(RELU, given)


@options.case("an initializer of another shape than the model's", "'model.onnx' 'w' float32[2] float32[3]")
def _(p):
    given = p.options()
    p.call("AddInitializer", given, c_text("w"), p.floats(3))
    p.load("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { [sum] y = Add(x, w) }", given)


def with_external_data(p, name):
    given, names = p.options(), (ctypes.c_char_p * 1)(name)
    p.call("AddExternalInitializers", given, names, (ctypes.c_void_p * 1)(p.floats(2)), ctypes.c_size_t(1))
    p.load("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { [sum] y = Add(x, w) }", given)


@options.case("external data of an initializer that the model does not have", "'model.onnx' 'weights' 'w'")
def _(p):
    with_external_data(p, b"weights")


@options.case("external data of an initializer that is in the model itself", "'model.onnx' 'w' initializer")
def _(p):
    with_external_data(p, b"w")


environment = Chapter("Environment variables")


@environment.case("an instruction level that does not exist", "RETORT_ISA 'avx-512' v2, avx2 avx512 neon set", starts=False)
def _(p):
    os.environ["RETORT_ISA"] = "avx-512"
    p.start()


@environment.case("a feature of an instruction level that does not exist", "RETORT_ISA 'v2-vnn' 'vnn' -vnni -bf16 -amx -vbmi", starts=False)
def _(p):
    os.environ["RETORT_ISA"] = "v2-vnn"
    p.start()
