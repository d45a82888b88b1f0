"""Small models for providers that compile groups of nodes: borders of groups, fusions, layouts, shapes that change."""
import os

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser

HEADER = '<ir_version: 8, opset_import: ["": 17]>'
# Name: graph, shapes of its inputs for each run. Weights are `float[...] w` in the list of initializers, filled at random.
GRAPHS = {
    # The node in the middle is nobody's: the outer two must not become one.
    "way_back": ("(float[2, 8] x) => (float[2, 8] y) { a = Relu(x) b = Sign(a) y = Add(a, b) }", [[2, 8]]),
    "two_ways_back": ("(float[2, 8] x) => (float[2, 8] y) { a = Relu(x) b = Sign(a) c = Tanh(x) d = Add(c, b) e = Sign(c) f = Mul(a, e) y = Sub(d, f) }",
                      [[2, 8]]),
    "reads_itself": ("(float[2, 8] x) => (float[2, 8] y) { a = Tanh(x) b = Add(a, a) y = Mul(b, a) }", [[2, 8]]),
    "results_inside": ("(float[2, 8] x) => (float[2, 8] a, float[2, 8] y, float[4, 4] z) { a = Tanh(x) y = Abs(a) s = Constant<value_ints = [4, 4]>() z = Reshape(y, s) }",
                       [[2, 8]]),
    "functions_of_one_kind": ("(float[2, 3, 4, 8] x, float[2, 3, 8, 6] w) => (float[2, 3, 4, 6] y) <float c = {3.0}> { m = MatMul(x, w) a = Div(m, c) b = Tanh(a) y = Mul(b, c) }",
                              [[2, 3, 4, 8], [2, 3, 8, 6]]),
    "residual": ("(float[N, 16, 9, 9] x) => (float[N, 16, 9, 9] y, float[N, 16, 9, 9] r) "
                 "{ a = Conv<pads = [1, 1, 1, 1]>(x, @w[16, 16, 3, 3], @b[16]) r = Relu(a) c = Conv(r, @v[16, 16, 1, 1]) s = Add(c, r) y = Relu(s) }",
                 [[1, 16, 9, 9]], [[3, 16, 9, 9]], [[1, 16, 9, 9]]),
    "normalised": ("(float[1, 4, 8, 8] x) => (float[1, 6, 8, 8] y) { a = Conv<pads = [1, 1, 1, 1]>(x, @w[6, 4, 3, 3]) "
                   "n = BatchNormalization(a, @scale[6], @shift[6], @mean[6], @+variance[6]) s = Sigmoid(n) y = Mul(n, s) }", [[1, 4, 8, 8]]),
    "groups": ("(float[1, 8, 10] x) => (float[1, 12, 5] y) { a = Conv<group = 4, pads = [2, 2], dilations = [2], strides = [2]>(x, @w[12, 2, 3]) y = Elu(a) }",
               [[1, 8, 10]]),
    "gelu": ("(float[N, 5, 16] x) => (float[N, 5, 16] y) <float root = {1.41421356}, float one = {1.0}, float half = {0.5}> "
             "{ m = MatMul(x, @w[16, 16]) h = Add(m, @b[16]) d = Div(h, root) e = Erf(d) f = Add(e, one) g = Mul(h, f) y = Mul(g, half) }",
             [[2, 5, 16]], [[7, 5, 16]]),
    "gelu_half_first": ("(float[5, 16] x) => (float[5, 16] y) <float root = {0.70710678}, float one = {1.0}, float half = {0.5}> "
                        "{ d = Mul(x, root) e = Erf(d) f = Add(one, e) g = Mul(half, f) y = Mul(x, g) }", [[5, 16]]),
    "erf_alone": ("(float[5, 16] x) => (float[5, 16] y) <float one = {1.0}> { e = Erf(x) f = Add(e, one) y = Mul(x, f) }", [[5, 16]]),
    "attention": ("(float[B, L, 16] x) => (float[B, L, 16] y) <float scale = {0.35}> { q = MatMul(x, @q_w[16, 16]) k = MatMul(x, @k_w[16, 16]) v = MatMul(x, @v_w[16, 16]) "
                  "s = Constant<value_ints = [0, 0, 2, 8]>() q4 = Reshape(q, s) k4 = Reshape(k, s) v4 = Reshape(v, s) "
                  "qt = Transpose<perm = [0, 2, 1, 3]>(q4) kt = Transpose<perm = [0, 2, 3, 1]>(k4) vt = Transpose<perm = [0, 2, 1, 3]>(v4) "
                  "p = MatMul(qt, kt) p2 = Mul(p, scale) p3 = Softmax(p2) o = MatMul(p3, vt) ot = Transpose<perm = [0, 2, 1, 3]>(o) "
                  "t = Constant<value_ints = [0, 0, 16]>() y0 = Reshape(ot, t) z = Add(y0, x) y = LayerNormalization<axis = -1>(z, @g[16], @b[16]) }",
                  [[1, 7, 16]], [[2, 12, 16]], [[1, 7, 16]]),
    "inner_softmax": ("(float[2, 6, 3, 5] x) => (float[2, 6, 3, 5] y) { a = Conv(x, @w[6, 6, 1, 1]) y = Softmax<axis = 1>(a) }", [[2, 6, 3, 5]]),
    "both_repeat": ("(float[4, 1, 5] x, float[3, 1] z) => (float[4, 3, 5] y) { a = Tanh(x) b = Tanh(z) y = Sub(a, b) }", [[4, 1, 5], [3, 1]]),
    "pieces": ("(float[1, 8, 6, 6] x) => (float[1, 12, 6, 6] y) { a = Conv(x, @w[8, 8, 1, 1]) p, q = Split<axis = 1>(a) r = Relu(q) y = Concat<axis = 1>(p, r, q) }",
               [[1, 8, 6, 6]]),
    "ports": ("(float[2, 3] x, float[2, 3] z) => (float[2, 3] z2, float[3, 2] xt, float[2, 3] y) { z2 = Identity(z) xt = Transpose(x) y = Add(x, z) }", [[2, 3], [2, 3]]),
}


def with_weights(text, rng):
    """The text with names in place of @name[shape], and those tensors; + for values above zero."""
    tensors = {}
    while "@" in text:
        begin = text.index("@")
        end = text.index("]", begin) + 1
        name, shape = text[begin + 1:end - 1].split("[")
        values = rng.standard_normal([int(n) for n in shape.split(",")], dtype=np.float32) * np.float32(0.3)
        tensors[name.lstrip("+")] = np.abs(values) + np.float32(0.5) if name.startswith("+") else values
        text = text[:begin] + name.lstrip("+") + text[end:]
    return text, tensors


def write(folder):
    """Models and inputs; answers rows of name, model, folders of inputs."""
    rng, rows = np.random.default_rng(7), []
    for name, (text, *runs) in GRAPHS.items():
        text, tensors = with_weights(text, rng)
        head, _, body = text.partition("{ ") if "<float" not in text else (*text.partition("> { ")[:2], text.partition("> { ")[2])
        separator = "> { " if "<float" in text else "{ "
        body = body.replace(") ", ")\n").replace("}>", "}>")
        model = onnx.parser.parse_model(HEADER + " g " + head + separator + body)
        model.graph.initializer.extend(onnx.numpy_helper.from_array(v, k) for k, v in tensors.items())
        at = os.path.join(folder, name)
        os.makedirs(at, exist_ok=True)
        onnx.save(model, os.path.join(at, "model.onnx"))
        sets = []
        for r, shapes in enumerate(runs):
            sets.append(os.path.join(at, str(r)))
            os.makedirs(sets[-1], exist_ok=True)
            for i, shape in enumerate(shapes):
                tensor = onnx.numpy_helper.from_array(rng.standard_normal(shape, dtype=np.float32), model.graph.input[i].name)
                onnx.save_tensor(tensor, os.path.join(sets[-1], f"input_{i}.pb"))
        rows.append((name, os.path.join(at, "model.onnx"), sets))
    return rows
