"""Forms of official cases in which a plug-in fails in official ONNX Runtime, too, where it does not claim the case itself.

Each shows that a row of plugins_known.tsv is a fault of the plug-in, and not of the graph that this engine gives it.
"""
import onnx
import onnx.numpy_helper
import onnx.reference


def at_opset_13(case, to):
    """ONNX Runtime gives a provider that wants channels last no node of a model before opset 7."""
    model = onnx.load(case)
    model.opset_import[0].version, model.ir_version = 13, 8
    weights = {t.name for t in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    onnx.save(model, to)


def without_shapes(case, to):
    """What is computed from the inputs' elements; the rest, which follows from their shapes, is initializers. While it is
    nodes, the plug-in claims nothing in ONNX Runtime."""
    model = onnx.load(case)
    known = constants(model)
    nodes = [n for n in model.graph.node if not all(name in known for name in n.output)]
    read = {name for n in nodes for name in n.input}
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(v, name) for name, v in known.items() if name in read)
    onnx.save(model, to)


def constants(model):
    """The values inside a model that do not depend on the elements of its inputs, by name."""
    inputs = {i.name for i in model.graph.input}
    depend = set(inputs)
    for n in model.graph.node:
        if n.op_type != "Shape" and depend.intersection(n.input):
            depend.update(n.output)
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    wanted = [name for n in model.graph.node for name in n.output if name not in depend]
    del whole.graph.output[:]
    whole.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in wanted)
    feeds = {i.name: onnx.numpy_helper.to_array(zeros(i)) for i in model.graph.input}
    return dict(zip(wanted, onnx.reference.ReferenceEvaluator(whole).run(None, feeds)))


def zeros(value):
    """A tensor of the type and shape of an input."""
    of = value.type.tensor_type
    dims = [d.dim_value for d in of.shape.dim]
    count = 1
    for d in dims:
        count *= d
    size = onnx.helper.tensor_dtype_to_np_dtype(of.elem_type).itemsize
    return onnx.helper.make_tensor(value.name, of.elem_type, dims, bytes(count * size), raw=True)


CHANGES = {
    ("onnxruntime-qnn", "pytorch-converted/test_Conv3d_stride"): at_opset_13,
    ("nxrt-ep-cpu", "node/test_attention_4d_causal_fp16_expanded"): without_shapes,
}
