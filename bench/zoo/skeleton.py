"""Graphs whose weights build_zoo.py fills in, and their recipes."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
FLOAT, INT8, UINT8, UINT4, INT64 = (getattr(TensorProto, name) for name in ("FLOAT", "INT8", "UINT8", "UINT4", "INT64"))
END = 2**63 - 1  # the end of a Slice that takes everything


def port(name, kind, *shape):
    return helper.make_tensor_value_info(name, kind, shape)


class Skeleton:
    def __init__(self):
        self.nodes, self.initializers, self.fill, self.count = [], [], {}, 0

    def node(self, op, inputs, outputs, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def op(self, op, *inputs, domain="", **attributes):
        """A node of one output, with a name of its own."""
        self.count += 1
        return self.node(op, list(inputs), [f"{op.lower()}_{self.count}"], domain, **attributes)

    def weight(self, name, kind, shape, recipe):
        self.initializers.append(TensorProto(name=name, data_type=kind, dims=shape))
        self.fill[name] = recipe
        return name

    def constant(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def ints(self, *values):
        name = "ints_" + "_".join(str(v) for v in values)
        return name if any(t.name == name for t in self.initializers) else self.constant(name, np.array(values, np.int64))

    def number(self, value):
        name = f"number_{value:g}"
        return name if any(t.name == name for t in self.initializers) else self.constant(name, np.float32(value))

    def model(self, inputs, outputs, opset=21, domains=(MICROSOFT,)):
        graph = helper.make_graph(self.nodes, "graph", inputs, outputs, self.initializers)
        versions = {MICROSOFT: 1, "ai.onnx.ml": 3}
        imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(domain, versions[domain]) for domain in domains]
        return helper.make_model(graph, ir_version=10, opset_imports=imports)


class Layers(Skeleton):
    """Layers as exporters write them."""

    def matmul(self, name, x, rows, columns, bias=True, gain=1.0):
        """x·W (+ b); the weights keep the variance of x, times gain²."""
        y = self.op("MatMul", x, self.weight(name + ".weight", FLOAT, [rows, columns], ["n", 0, gain * rows**-0.5]))
        return self.op("Add", self.weight(name + ".bias", FLOAT, [columns], ["n", 0, 0.05]), y) if bias else y

    def conv(self, name, x, out, into, kernel, gain=1.0, bias=True, **attributes):
        """A convolution, or a depthwise one for group = out; kernel is a list of extents."""
        per_group = into // attributes.get("group", 1)
        inputs = [x, self.weight(name + ".weight", FLOAT, [out, per_group, *kernel], ["n", 0, gain * (per_group * np.prod(kernel)) ** -0.5])]
        if bias:
            inputs.append(self.weight(name + ".bias", FLOAT, [out], ["n", 0, 0.05]))
        return self.op("Conv", *inputs, kernel_shape=kernel, **attributes)

    def layer_norm(self, name, x, width):
        inputs = [x, self.weight(name + ".weight", FLOAT, [width], ["u", 0.8, 1.2]), self.weight(name + ".bias", FLOAT, [width], ["n", 0, 0.05])]
        return self.op("LayerNormalization", *inputs, axis=-1, epsilon=1e-5)

    def gelu(self, x):
        """The formula with erf, as opsets before 20 need it."""
        half = self.op("Add", self.op("Erf", self.op("Div", x, self.number(2**0.5))), self.number(1))
        return self.op("Mul", self.op("Mul", x, half), self.number(0.5))

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def reshape(self, x, *shape):
        return self.op("Reshape", x, self.ints(*shape))

    def transpose(self, x, *perm):
        return self.op("Transpose", x, perm=perm)

    def slice(self, x, axis, start, end=END, step=1):
        return self.op("Slice", x, self.ints(start), self.ints(end), self.ints(axis), self.ints(step))

    def heads(self, x, heads, size):
        """[batch, rows, heads·size] to [batch, heads, rows, size]"""
        return self.transpose(self.reshape(x, 0, -1, heads, size), 0, 2, 1, 3)

    def attention(self, name, q, kv, widths, heads, bias=True, scale=True, mask=""):
        """Attention of q's rows to kv's; widths: of q's rows, of kv's rows, of all heads together."""
        width, kv_width, inner = widths
        size = inner // heads
        query = self.heads(self.matmul(name + ".q", q, width, inner, bias, 1.0 if scale else size**-0.5), heads, size)
        key = self.heads(self.matmul(name + ".k", kv, kv_width, inner, bias), heads, size)
        value = self.heads(self.matmul(name + ".v", kv, kv_width, inner, bias), heads, size)
        scores = self.op("MatMul", query, self.transpose(key, 0, 1, 3, 2))
        if scale:
            scores = self.op("Div", scores, self.number(size**0.5))
        if mask:
            scores = self.op("Add", scores, mask)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), value)
        merged = self.reshape(self.transpose(mixed, 0, 2, 1, 3), 0, -1, inner)
        return self.matmul(name + ".out", merged, inner, width, bias)


def entry(model, fill, scenarios, **facts):
    """The recipe of a model."""
    ops = {}
    for node in model.graph.node:
        ops[node.op_type] = ops.get(node.op_type, 0) + 1
    params = sum(int(np.prod(t.dims)) * facts.get("packing", {}).get(t.name.rsplit(".", 1)[-1], 1) for t in model.graph.initializer)
    tolerance = {"tolerance": facts["tolerance"]} if "tolerance" in facts else {}
    return {"params": params, "kind": facts["kind"], "precision": facts["precision"], **tolerance, "nodes": len(model.graph.node),
            "opset": model.opset_import[0].version, "domains": sorted({n.domain for n in model.graph.node if n.domain}),
            "ops": dict(sorted(ops.items())), "dynamic": facts["dynamic"], "scenarios": scenarios, "fill": fill}


def floats(name, *shape):
    return {"name": name, "type": "float32", "shape": list(shape), "gen": ["n", 0, 1]}


def integers(name, below, *shape):
    return {"name": name, "type": "int64", "shape": list(shape), "gen": ["i", 0, below]}
