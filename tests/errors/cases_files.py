"""Models that cannot be read."""
import os

import onnx
from onnx import TensorProto

from case import Chapter
from program import parse

files = Chapter("Files")
RELU = "g (float[2] x) => (float[2] y) { [act] y = Relu(x) }"


@files.case("the file does not exist", "'absent.onnx'")
def _(p):
    p.load_path("absent.onnx")


@files.case("the path is a folder", "'models' folder path")
def _(p):
    os.mkdir("models")
    p.load_path("models")


@files.case("the file is empty", "'model.onnx' graph 0")
def _(p):
    p.load(b"")


@files.case("no bytes", "graph 0")
def _(p):
    p.load_bytes(b"")


@files.case("the file is a pointer of Git LFS", "'model.onnx' version download")
def _(p):
    p.load(b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n")


@files.case("the file is a web page", "'model.onnx' <!DOCTYPE download")
def _(p):
    p.load(b"<!DOCTYPE html>\n<html><body>Not found</body></html>\n")


@files.case("the file is cut short", "'model.onnx' 74 60")
def _(p):
    model = parse("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }").SerializeToString()
    p.load(model[:-20])


@files.case("the bytes are cut short", "byte 63")
def _(p):
    p.load_bytes(parse(RELU).SerializeToString()[:-5])


@files.case("a model without a graph", "'model.onnx' graph")
def _(p):
    model = parse(RELU)
    model.ClearField("graph")
    p.load(model)


@files.case("future IR version", "'model.onnx' 99 14 export")
def _(p):
    p.load('<ir_version: 99, opset_import: ["" : 21]>' + RELU)


@files.case("no IR version", "'model.onnx' IR ir_version")
def _(p):
    model = parse(RELU)
    model.ClearField("ir_version")
    p.load(model)


@files.case("opset of the future", "'model.onnx' 999 28 export")
def _(p):
    p.load('<ir_version: 10, opset_import: ["" : 999]>' + RELU)


@files.case("no opset", "'model.onnx' opset_import")
def _(p):
    model = parse(RELU)
    del model.opset_import[:]
    p.load(model)


@files.case("saving in a format that cannot be written", "'model.onnx' session.save_model_format 'TXT' ONNX")
def _(p):
    options = p.options({"session.save_model_format": "TXT"})
    p.call("SetOptimizedModelFilePath", options, b"saved.txt")
    p.load(RELU, options)


@files.case("the optimised model cannot be saved", "'model.onnx' 'absent/saved.onnx")
def _(p):
    options = p.options()
    p.call("SetOptimizedModelFilePath", options, b"absent/saved.onnx")
    p.load(RELU, options)


weights = Chapter("Weights")


def external(location, offset=0, length=8):
    return f"""g (float[2] x) => (float[2] y)
        <float[2] w = ["location": "{location}", "offset": "{offset}", "length": "{length}"]> {{ [sum] y = Add(x, w) }}"""


def stored(**fields):
    """A model whose initializer 'w' has other fields than it should."""
    model = parse("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { [sum] y = Add(x, w) }")
    w = model.graph.initializer[0]
    for name, value in fields.items():
        if isinstance(value, list):
            w.ClearField(name)
            getattr(w, name).extend(value)
        else:
            setattr(w, name, value)
    return model


@weights.case("external data: no such file", "'model.onnx' 'w' 'weights.bin' './'")
def _(p):
    p.load(external("weights.bin"))


@weights.case("external data: outside of the model's folder", "'model.onnx' 'w' '../weights.bin'")
def _(p):
    p.load(external("../weights.bin"))


@weights.case("external data: absolute path", "'model.onnx' 'w' '/etc/hostname'")
def _(p):
    p.load(external("/etc/hostname"))


@weights.case("external data: a link that leads out of the folder", "'model.onnx' 'w' 'weights.bin'")
def _(p):
    with open("../weights.bin", "wb") as f:
        f.write(bytes(64))
    os.symlink("../weights.bin", "weights.bin")
    p.load(external("weights.bin"))


@weights.case("external data: file too short", "'model.onnx' 'w' 'weights.bin' 12 8")
def _(p):
    with open("weights.bin", "wb") as f:
        f.write(bytes(12))
    p.load(external("weights.bin", offset=8))


@weights.case("external data: length is not that of the shape", "'model.onnx' 'w' 12 8")
def _(p):
    with open("weights.bin", "wb") as f:
        f.write(bytes(64))
    p.load(external("weights.bin", length=12))


@weights.case("external data: offset is not a number", "'model.onnx' 'w' 'start'")
def _(p):
    with open("weights.bin", "wb") as f:
        f.write(bytes(64))
    p.load(external("weights.bin", offset="start"))


@weights.case("external data of a model from bytes", "'w' 'weights.bin'")
def _(p):
    p.load_bytes(parse(external("weights.bin")).SerializeToString())


@weights.case("too few raw bytes", "'model.onnx' 'w' float32[2] 5 8")
def _(p):
    p.load(stored(float_data=[], raw_data=bytes(5)))


@weights.case("too few elements", "'model.onnx' 'w' float32[2] 1 2")
def _(p):
    p.load(stored(float_data=[1]))


@weights.case("elements in the field of another type", "'model.onnx' 'w' float32[2] 0 2")
def _(p):
    p.load(stored(float_data=[], int64_data=[1, 2]))


@weights.case("a data type that does not exist", "'model.onnx' 'w' 77")
def _(p):
    p.load(stored(data_type=77))


@weights.case("no data type", "'model.onnx' 'w' 0")
def _(p):
    p.load(stored(data_type=0))


@weights.case("a negative extent", "'model.onnx' 'w' [-2]")
def _(p):
    p.load(stored(dims=[-2]))


@weights.case("more elements than memory", "'model.onnx' 'w' [1099511627776,1099511627776]")
def _(p):
    p.load(stored(dims=[1 << 40, 1 << 40]))


@weights.case("declared type differs from the stored one", "'model.onnx' 'w' float32[2] int64[2]")
def _(p):
    model = stored()
    model.graph.input.append(onnx.helper.make_tensor_value_info("w", TensorProto.INT64, [2]))
    p.load(model)


@weights.case("declared shape differs from the stored one", "'model.onnx' 'w' float32[2] float32[3]")
def _(p):
    model = stored()
    model.graph.input.append(onnx.helper.make_tensor_value_info("w", TensorProto.FLOAT, [3]))
    p.load(model)
