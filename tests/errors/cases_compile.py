"""Models that are compiled or saved in another format."""
import ctypes

from case import Chapter
from program import c_text, parse

compiling = Chapter("Compiling and saving")
RELU = "g (float[2] x) => (float[2] y) { y = Relu(x) }"
SUM = "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }"
PREFIX = "OrtCompileApi.ModelCompilationOptions_"


def compilation(p, model=SUM):
    """Options with that model as input, and as output compiled.onnx."""
    with open("model.onnx", "wb") as f:
        f.write(parse(model).SerializeToString())
    made = p.make("OrtCompileApi.CreateModelCompilationOptionsFromSessionOptions", p.environment, p.options())
    p.call(PREFIX + "SetInputModelPath", made, c_text("model.onnx"))
    p.call(PREFIX + "SetOutputModelPath", made, c_text("compiled.onnx"))
    return made


def compile_model(p, options):
    p.call("OrtCompileApi.CompileModel", p.environment, options)


@compiling.case("no model to compile", "input model path, buffer or a model")
def _(p):
    compile_model(p, p.make("OrtCompileApi.CreateModelCompilationOptionsFromSessionOptions", p.environment, p.options()))


@compiling.case("nodes that no provider compiles", "'model.onnx' no node ERROR_IF_NO_NODES_COMPILED")
def _(p):
    options = compilation(p)
    p.call(PREFIX + "SetFlags", options, ctypes.c_size_t(1))
    compile_model(p, options)


@compiling.case("a compiled model that already exists", "'compiled.onnx' already")
def _(p):
    options = compilation(p)
    p.call(PREFIX + "SetFlags", options, ctypes.c_size_t(2))
    with open("compiled.onnx", "wb"):
        pass
    compile_model(p, options)


@compiling.case("a compiled model in a folder that does not exist", "'absent/compiled.onnx' folder")
def _(p):
    options = compilation(p)
    p.call(PREFIX + "SetOutputModelPath", options, c_text("absent/compiled.onnx"))
    compile_model(p, options)


@compiling.case("an operator that cannot be compiled either", "'model.onnx' Frob")
def _(p):
    compile_model(p, compilation(p, "g (float[2] x) => (float[2] y) { y = Frob(x) }"))


@compiling.case("weights outside of the model's folder", "'../w.bin' beside")
def _(p):
    options = compilation(p)
    p.call(PREFIX + "SetOutputModelExternalInitializersFile", options, c_text("../w.bin"), ctypes.c_size_t(0))
    compile_model(p, options)


@compiling.case("weights in the file of the model", "'compiled.onnx' beside")
def _(p):
    options = compilation(p)
    p.call(PREFIX + "SetOutputModelExternalInitializersFile", options, c_text("compiled.onnx"), ctypes.c_size_t(0))
    compile_model(p, options)


@compiling.case("an alignment of weights that is not a power of two", "100 alignment power")
def _(p):
    p.call(PREFIX + "SetOutputModelExternalInitializersAlignment", compilation(p), ctypes.c_size_t(100), ctypes.c_size_t(0))


@compiling.case("a context of a model in memory", "memory ep.context_file_path")
def _(p):
    options = p.options({"ep.context_enable": "1"})
    data = parse(RELU).SerializeToString()
    p.make("CreateSessionFromArray", p.environment, data, ctypes.c_size_t(len(data)), options)


@compiling.case("an optional value in ORT format", "'model.onnx' 'o' optional ORT ONNX")
def _(p):
    options = p.options()
    p.call("SetOptimizedModelFilePath", options, c_text("saved.ort"))
    p.call("SetSessionGraphOptimizationLevel", options, ctypes.c_int(0))
    p.load("g (optional(float[2]) o) => (float[2] y) { y = OptionalGetElement(o) }", options)
