"""Builds the model of a case."""
import numpy as np
import onnx
from onnx import TensorProto, helper

import numbers_of
import schemas

PRODUCER = "fuzz"
IR = 10


def tensor_proto(name, array):
    of = numbers_of.element(array)
    proto = TensorProto(name=name, data_type=of, dims=array.shape)
    if of == numbers_of.STRING:
        proto.string_data.extend(str(s).encode() for s in array.ravel())
    else:
        proto.raw_data = numbers_of.to_wire(array)[3]
    return proto


def type_of(text):
    """The TypeProto of a type in the notation of schemas: sparse_tensor(float), seq(tensor(float)), map(int64,tensor(float)), optional(tensor(float))."""
    if text.startswith("tensor("):
        return helper.make_tensor_type_proto(schemas.element_of(text), None)
    if text.startswith("sparse_tensor("):
        return helper.make_sparse_tensor_type_proto(schemas.element_of(text), None)
    if text.startswith("seq("):
        return helper.make_sequence_type_proto(type_of(text[4:-1]))
    if text.startswith("optional("):
        return helper.make_optional_type_proto(type_of(text[9:-1]))
    if text.startswith("map("):
        key, value = text[4:-1].split(",", 1)
        return helper.make_map_type_proto(schemas.ELEMENTS[key], type_of(value))
    raise ValueError(text)


def dims_of(shape, form, name):
    if form == "none":
        return None
    if form == "fixed":
        return list(shape)
    if form == "ranks":
        return [None] * len(shape)
    return [d if i % 3 == 2 else f"{name}_{i}" for i, d in enumerate(shape)]


def input_info(given, form):
    if given.type:
        return onnx.ValueInfoProto(name=given.name, type=type_of(given.type))
    if isinstance(given.value, list):
        kind = helper.make_tensor_type_proto(numbers_of.element(given.value[0]), None)
        return onnx.ValueInfoProto(name=given.name, type=helper.make_sequence_type_proto(kind))
    return helper.make_tensor_value_info(given.name, numbers_of.element(given.value), dims_of(given.value.shape, form, given.name))


def output_type(case, index):
    """The type of an output as a string, if it follows from the schema and the types of the inputs; otherwise an empty string."""
    formal = case.version.outputs[min(index, len(case.version.outputs) - 1)]
    if index in case.output_types:
        return case.output_types[index]
    texts = case.version.types.get(formal.type, [formal.type])
    if formal.type in case.chosen:
        text = f"tensor({schemas.NAMES[case.chosen[formal.type]]})"
        return text if text in texts else ""
    return texts[0] if len(texts) == 1 else ""


def build(case):
    """The message for a worker: (model bytes, [(input name, value)], output names, [(output, input whose memory it is bound to)])"""
    fed = [g for g in case.inputs if g and not g.constant]
    constants = [tensor_proto(g.name, g.value) for g in case.inputs if g and g.constant]
    outputs = [f"o{i}" if wanted else "" for i, wanted in enumerate(case.outputs)]
    node = helper.make_node(case.operator.name, [g.name if g else "" for g in case.inputs], outputs, "node", domain=case.operator.domain)
    node.attribute.extend(attribute(name, value, case.version.attributes[name][0]) for name, value in case.attributes.items())
    infos = []
    for i, name in enumerate(outputs):
        if name:
            text = output_type(case, i)
            infos.append(onnx.ValueInfoProto(name=name, type=type_of(text) if text else None))
    graph = helper.make_graph([node], "case", [input_info(g, case.form) for g in fed], infos, constants)
    model = onnx.ModelProto(ir_version=ir_of(case), producer_name=PRODUCER, graph=graph)
    model.opset_import.extend(opsets_of(case))
    wanted, names = [n for n in outputs if n], [g.name for g in fed]
    shared = [(wanted.index(f"o{o}"), names.index(f"i{i}")) for o, i in case.shared.items() if f"o{o}" in wanted and f"i{i}" in names]
    return model.SerializeToString(), [(g.name, numbers_of.to_wire(g.value)) for g in fed], wanted, shared


def attribute(name, value, kind):
    if isinstance(value, np.ndarray):
        return helper.make_attribute(name, tensor_proto(name, value))
    if isinstance(value, list) and not value:
        return onnx.AttributeProto(name=name, type=onnx.AttributeProto.AttributeType.Value(kind))
    return helper.make_attribute(name, value)


def ir_of(case):
    newest = case.operator.domain == "" and case.opset > 23
    return 13 if newest and case.opset > 26 else 11 if newest else IR


def opsets_of(case):
    yield helper.make_opsetid(case.operator.domain, case.opset)
    if case.operator.domain:
        yield helper.make_opsetid("", case.onnx_opset)
