"""Seeded mutations of ONNX models.

Each function of MUTATIONS takes a random.Random and a Base and returns (bytes of the mutant, mutation), or None if
the base has nothing of the kind. The functions of hostile_graphs.py build new models.
"""
import dataclasses
import json

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

import hostile_graphs

I64 = [0, 1, -1, 2, -2, 7, 127, 255, 65536, 2**31 - 1, -(2**31), 2**31, 2**32, 2**62, 2**63 - 1, -(2**63)]
DIMS = [0, -1, -2, 1, 3, 2**16, 2**31 - 1, 2**31, 2**32, 2**40, 2**61, 2**62, 2**63 - 1, -(2**63)]
F32 = [0.0, -0.0, 1e-38, 1e30, -1e30, float("inf"), float("-inf"), float("nan"), -1.0, 0.5, 2.0**31]
LOCATIONS = ["../../etc/passwd", "../outside.bin", "./../outside.bin", "inside.bin/../../outside.bin", "/etc/passwd", "link.bin",
             "fifo.bin", "/dev/zero", "/dev/stdin", "/proc/self/mem", "", ".", "..", "missing.bin", "inside.bin", "inside.bin",
             "inside.bin", "a" * 5000, "in\0side.bin", "file://inside.bin", "*/_ORT_MEM_ADDR_/*", "..\\outside.bin",
             "%2e%2e/outside.bin"]
INSIDE = ("inside.bin", "missing.bin", "")
DATA_FIELDS = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data")
OPERATORS = sorted({s.name for s in onnx.defs.get_all_schemas()})


@dataclasses.dataclass
class Base:
    raw: bytes
    inputs: dict  # name: TensorProto, or a list of them for a sequence
    ort: bytes = b""  # the same model in ORT format, for some bases

    def parse(self):
        return onnx.load_model_from_string(self.raw)


def nodes(graph):
    for n in graph.node:
        yield n
        for a in n.attribute:
            if a.type == AttributeProto.GRAPH:
                yield from nodes(a.g)


def tensors(model):
    found = list(model.graph.initializer)
    for n in nodes(model.graph):
        for a in n.attribute:
            if a.type == AttributeProto.TENSOR:
                found.append(a.t)
            if a.type == AttributeProto.GRAPH:
                found.extend(a.g.initializer)
    return found


def bake(r, model, inputs, some=False):
    """Turns (some of) the inputs that are tensors into initializers."""
    names = [i.name for i in model.graph.input if not isinstance(inputs.get(i.name, []), list)]
    if some and len(names) > 1:
        names = r.sample(names, r.randint(1, len(names) - 1))
    for name in names:
        t = model.graph.initializer.add()
        t.CopyFrom(inputs[name])
        t.name = name
    keep = [i for i in model.graph.input if i.name not in names]
    del model.graph.input[:]
    model.graph.input.extend(keep)


def serialized(model):
    return model.SerializeToString(deterministic=True)


# ---- bytes


def bitflip(r, base):
    raw = bytearray(base.raw)
    n = r.choice([1, 1, 1, 2, 4, 16, 64])
    for _ in range(n):
        raw[r.randrange(len(raw))] ^= 1 << r.randrange(8)
    return bytes(raw), f"{n} bits"


def truncate(r, base):
    size = len(base.raw)
    k = r.choice([r.randrange(size), r.randrange(min(size, 64)), size - 1 - r.randrange(4)])
    return base.raw[:k], f"to {k} of {size}"


def splice(r, base):
    raw = bytearray(base.raw)
    i, n = r.randrange(len(raw)), r.randint(1, 32)
    what = r.choice(["insert", "delete", "repeat", "varint", "zero"])
    if what == "insert":
        raw[i:i] = r.randbytes(n)
    elif what == "delete":
        del raw[i:i + n]
    elif what == "repeat":
        raw[i:i] = raw[i:i + n] * r.randint(1, 200)
    elif what == "varint":
        raw[i:i] = b"\xff" * r.randint(1, 12)
    else:
        raw[i:i + n] = bytes(len(raw[i:i + n]))
    return bytes(raw), what


# ---- fields: each function changes the model, or leaves it unchanged if there is nothing to change


def any_node(r, model):
    found = list(nodes(model.graph))
    return r.choice(found) if found else None


def replace_list(field, values):
    del field[:]
    field.extend(values)


def hostile_list(r, values, choices, zero):
    values = list(values) or [zero]
    if r.random() < 0.3:
        return values[:-1] if r.random() < 0.5 else values + [r.choice(choices)]
    values[r.randrange(len(values))] = r.choice(choices)
    return values


def change_attribute_value(r, a):
    if a.type == AttributeProto.INT:
        a.i = r.choice(I64)
    elif a.type == AttributeProto.FLOAT:
        a.f = r.choice(F32)
    elif a.type == AttributeProto.INTS:
        replace_list(a.ints, hostile_list(r, a.ints, I64, 0))
    elif a.type == AttributeProto.FLOATS:
        replace_list(a.floats, hostile_list(r, a.floats, F32, 0.0))
    elif a.type == AttributeProto.STRING:
        a.s = r.choice([b"", b"\xff\xfe", b"nope", b"a" * 5000, b"..", b"NOTSET", b"SAME_UPPER"])
    elif a.type == AttributeProto.STRINGS:
        del a.strings[r.randrange(len(a.strings) + 1):]
    else:
        a.ClearField("g")


def add_attribute(r, n):
    try:
        names = sorted(onnx.defs.get_schema(n.op_type, domain=n.domain).attributes)
    except onnx.defs.SchemaError:
        names = []
    value = r.choice([r.choice(I64), [r.choice(I64) for _ in range(r.randint(1, 6))], "x", r.choice(F32)])
    n.attribute.add().CopyFrom(helper.make_attribute(r.choice(names or ["axis"]), value))


def change_attribute(r, n):
    kind = r.randrange(6)
    if kind == 0 or not n.attribute:
        return add_attribute(r, n)
    a = r.choice(n.attribute)
    if kind == 1:
        n.attribute.remove(a)
    elif kind == 2:
        a.type = r.randrange(15)
    elif kind == 3:
        n.attribute.add().CopyFrom(a)
    else:
        change_attribute_value(r, a)
    return None


def change_ends(r, n):
    kind = r.randrange(5)
    if kind == 0 and n.input:
        del n.input[r.randrange(len(n.input))]
    elif kind == 1:
        n.input.append(r.choice([*n.input, "nowhere", ""]))
    elif kind == 2 and n.input:
        n.input[r.randrange(len(n.input))] = r.choice(["", "nowhere", *n.output, *n.input])
    elif kind == 3 and n.output:
        n.output[r.randrange(len(n.output))] = r.choice(["", "other", *n.input])
    else:
        n.output.append(r.choice(["extra", "", *n.output]))


def change_operator(r, n):
    kind = r.randrange(4)
    if kind == 0:
        n.op_type = r.choice(["", "Nope", "A" * 10000])
    elif kind == 1:
        n.domain = r.choice(["com.microsoft", "ai.onnx.ml", "x.y", "ai.onnx", "com.microsoft.nchwc", "retort"])
    else:
        n.op_type = r.choice(OPERATORS)


def change_header(r, model):
    kind = r.randrange(3)
    if kind == 0 and model.opset_import:
        model.opset_import[0].version = r.choice([0, -1, 1, 6, 9, 13, 18, 22, 25, 26, 27, 29, 1000, 2**31, -(2**63)])
    elif kind == 1:
        model.ir_version = r.choice([0, -1, 1, 2, 3, 4, 9, 10, 13, 14, 99, 2**31, 2**63 - 1])
    else:
        del model.opset_import[:]


def change_interface(r, model):
    g, kind = model.graph, r.randrange(5)
    if kind == 0 and (g.input or g.output):
        v = r.choice([*g.input, *g.output])
        v.type.tensor_type.elem_type = r.choice([0, 1, 7, 8, 9, 10, 14, 16, 21, 22, 23, 25, 30, 99, 2**31 - 1])
    elif kind == 1 and g.output:
        g.output[0].name = r.choice(["nowhere", "", *[i.name for i in g.input]])
    elif kind == 2 and g.node:
        g.node.add().CopyFrom(r.choice(list(g.node)))
    elif kind == 3 and g.node:
        del g.node[r.randrange(len(g.node))]
    else:
        rows = getattr(g, r.choice(["input", "output", "initializer"]))
        if rows and r.random() < 0.5:
            del rows[r.randrange(len(rows))]
        elif rows:
            rows.add().CopyFrom(rows[0])


def field(r, base):
    model = base.parse()
    if r.random() < 0.5:
        bake(r, model, base.inputs, r.random() < 0.5)
    done = []
    for _ in range(r.choice([1, 1, 2, 3])):
        change = r.choice([change_operator, change_ends, change_ends, change_attribute, change_attribute, change_header, change_interface])
        target = model if change in (change_header, change_interface) else any_node(r, model)
        if target is not None:
            change(r, target)
            done.append(change.__name__)
    return serialized(model), " ".join(done)


# ---- shapes and data


def change_tensor_dims(r, t):
    dims, kind = list(t.dims), r.randrange(4)
    if kind == 0 or not dims:
        dims.append(r.choice(DIMS))
    elif kind == 1:
        dims.pop()
    elif kind == 2:
        dims[r.randrange(len(dims))] = r.choice(DIMS)
    else:
        dims = [r.choice([2**16, 2**32, 2**31 - 1]) for _ in range(r.choice([2, 3, 4, 64, 2000]))]
    replace_list(t.dims, dims)
    return f"tensor {dims[:4]}"


def change_declared_dims(r, v):
    shape, kind = v.type.tensor_type.shape, r.randrange(4)
    if kind == 0 or not shape.dim:
        shape.dim.add().dim_value = r.choice(DIMS)
    elif kind == 1:
        shape.dim[r.randrange(len(shape.dim))].dim_value = r.choice(DIMS)
    elif kind == 2:
        shape.dim[r.randrange(len(shape.dim))].dim_param = r.choice(["", "N", "a" * 5000])
    else:
        for _ in range(r.choice([1, 10, 5000])):
            shape.dim.add().dim_value = 1
    return "value info"


def dims(r, base):
    model = base.parse()
    if r.random() < 0.7:
        bake(r, model, base.inputs, r.random() < 0.4)
    found = tensors(model)
    if found and r.random() < 0.7:
        done = change_tensor_dims(r, r.choice(found))
    else:
        done = change_declared_dims(r, r.choice([*model.graph.input, *model.graph.output, *model.graph.value_info]))
    return serialized(model), done


def add_sparse(r, model, t):
    s = model.graph.sparse_initializer.add()
    s.values.CopyFrom(numpy_helper.from_array(np.ones(3, np.float32), t.name if r.random() < 0.7 else "sp"))
    s.indices.CopyFrom(numpy_helper.from_array(np.array([r.choice(I64) for _ in range(3)], np.int64), "ix"))
    s.dims.extend([r.choice(DIMS) for _ in range(r.randint(1, 3))])
    if r.random() < 0.7 and t in list(model.graph.initializer):
        model.graph.initializer.remove(t)


def tensor_data(r, base):
    model = base.parse()
    bake(r, model, base.inputs, r.random() < 0.3)
    found = tensors(model)
    if not found:
        return None
    t, kind = r.choice(found), r.randrange(9)
    if kind == 0:
        t.data_type = r.choice([0, 1, 2, 6, 7, 8, 9, 10, 11, 14, 16, 17, 21, 22, 23, 25, 26, 27, 99, -1])
    elif kind == 1:
        t.raw_data = t.raw_data[:r.randint(0, max(0, len(t.raw_data) - 1))]
    elif kind == 2:
        t.raw_data += bytes(r.randint(1, 64))
    elif kind == 3:
        t.float_data.extend([1.0] * r.randint(1, 8))
    elif kind == 4:
        t.string_data.extend([b"x"] * r.randint(1, 8))
    elif kind == 5:
        t.ClearField("raw_data")
    elif kind == 6:
        t.name = r.choice(["", "nowhere", *[o.name for o in model.graph.output]])
    elif kind == 7:
        t.segment.begin, t.segment.end = r.choice(I64), r.choice(I64)
    else:
        add_sparse(r, model, t)
    return serialized(model), f"kind {kind}"


def hostile_number(r, dtype):
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array(r.choice(F32)).astype(dtype)
    info = np.iinfo(dtype)
    return max(info.min, min(info.max, r.choice(I64)))


def values(r, base):
    """A well-formed model with hostile numbers: indices, axes, shapes, repeats, scales, pads."""
    model = base.parse()
    bake(r, model, base.inputs, r.random() < 0.3)
    found = [t for t in tensors(model) if t.data_type in (1, 2, 6, 7, 10, 11)]
    if not found:
        return None
    steering = [t for t in found if t.data_type in (6, 7)] or found  # integers are shapes and indices
    t = r.choice(steering if r.random() < 0.8 else found)
    array = np.array(numpy_helper.to_array(t))
    flat = array.reshape(-1)
    for _ in range(r.choice([1, 1, 2, 8]) if flat.size else 0):
        flat[r.randrange(flat.size)] = hostile_number(r, array.dtype)
    t.CopyFrom(numpy_helper.from_array(flat.reshape(array.shape), t.name))
    if r.random() < 0.6:  # outputs of unknown shape: a declared shape would stop the mutant at once
        for o in model.graph.output:
            if o.type.HasField("tensor_type"):
                o.type.tensor_type.ClearField("shape")
    return serialized(model), t.name


def external_data(r, base):
    model = base.parse()
    bake(r, model, base.inputs, r.random() < 0.3)
    found = [t for t in tensors(model) if t.data_type != TensorProto.STRING]
    if not found:
        return None
    t = r.choice(found)
    need = len(numpy_helper.to_array(t).tobytes())
    for name in DATA_FIELDS:
        t.ClearField(name)
    t.data_location = TensorProto.EXTERNAL
    entries = {"location": r.choice(LOCATIONS)}
    if r.random() < 0.6:
        entries["offset"] = str(r.choice([0, -1, 1, 4095, 4096, 2**31, 2**62, 2**63 - 1, "x", "", "1e9", "0x10", " 4"]))
    if r.random() < 0.6:
        entries["length"] = str(r.choice([0, -1, need, need + 1, 2**31, 2**62, 2**63 - 1, 2**64, "x", ""]))
    if r.random() < 0.1:
        del entries["location"]
    for key, value in entries.items():
        e = t.external_data.add()
        e.key, e.value = key, value
    outside = entries.get("location", "") not in INSIDE
    return serialized(model), ("escape " if outside else "") + json.dumps({k: v[:40] for k, v in entries.items()})


def ort_format(r, base):
    """Words of a flatbuffer are mostly offsets, sizes and numbers of fields."""
    if not base.ort:
        return None
    if r.random() < 0.3:
        return r.choice((bitflip, truncate))(r, Base(base.ort, base.inputs))
    raw, done = bytearray(base.ort), []
    for _ in range(r.choice([1, 1, 2, 4])):
        size = r.choice([2, 4, 4, 8])
        at, other = (r.randrange(0, len(raw) - size, size) for _ in range(2))
        near = int.from_bytes(raw[at:at + size], "little") + r.choice([-8, -4, -2, -1, 1, 2, 4, 8])
        value = r.choice([near, near, r.choice(I64), r.choice(DIMS), len(raw), len(raw) - at, -at,
                          int.from_bytes(raw[other:other + size], "little")]) % (1 << 8 * size)
        raw[at:at + size] = value.to_bytes(size, "little")
        done.append(f"{at}: {value}")
    return bytes(raw), ", ".join(done)


MUTATIONS = {  # class: (share, function)
    "bitflip": (17, bitflip), "truncate": (8, truncate), "splice": (7, splice), "field": (24, field), "dims": (10, dims),
    "tensor-data": (7, tensor_data), "values": (15, values), "external-data": (6, external_data),
    "ort-format": (15, ort_format), "cycle": (3, hostile_graphs.cycle), "recursion": (3, hostile_graphs.recursion),
}
