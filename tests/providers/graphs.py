"""Small models for providers that compile groups of nodes: borders of groups, fusions, layouts, shapes that change."""
import os

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser

HEADER = '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>'
# Name: graph, shapes of its inputs for each run. @name[shape] is a weight, filled at random.
GRAPHS = {
    # The node in the middle is not claimed: the outer two must not be merged.
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
# For plug-ins of other vendors: most compilers have no Shrink, and get three parts.
PARTED_GRAPHS = {
    "parts": ("(float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) { a = Relu(x) b = Shrink(a) c = Sigmoid(b) d = Shrink(c) y = Tanh(d) }", [[1, 4, 8, 8]]),
}
# On 8-bit integers; a result halfway between two steps may become either.
STORED = "<float xs = {0.02}, uint8 xz = {117}, float ys = {0.05}, uint8 yz = {101}, float ws = {0.01}, uint8 wz = {128}, int8 wz8 = {0}> "
INTEGER_GRAPHS = {
    "linear_conv": ("(uint8[1, 8, 7, 7] x) => (uint8[1, 12, 7, 7] y) " + STORED +
                    "{ y = QLinearConv<pads = [1, 1, 1, 1]>(x, xs, xz, @int8:w[12, 8, 3, 3], ws, wz8, ys, yz, @int32:b[12]) }", [[1, 8, 7, 7]]),
    "linear_conv_channels": ("(uint8[1, 8, 7, 7] x) => (uint8[1, 8, 4, 4] y) " + STORED +
                             "{ y = QLinearConv<pads = [1, 1, 1, 1], strides = [2, 2], group = 8>(x, xs, xz, @int8:w[8, 1, 3, 3], @+s[8], @zero:z[8], ys, yz) }",
                             [[1, 8, 7, 7]]),
    "linear_conv_uint8": ("(uint8[2, 3, 7, 7] x) => (uint8[2, 6, 7, 7] y) " + STORED +
                          "{ y = QLinearConv(x, xs, xz, @uint8:w[6, 3, 1, 1], ws, wz, ys, yz) }", [[2, 3, 7, 7]]),
    "linear_product": ("(uint8[N, 5, 16] x) => (uint8[N, 5, 9] y) " + STORED + "{ y = QLinearMatMul(x, xs, xz, @uint8:w[16, 9], ws, wz, ys, yz) }",
                       [[2, 5, 16]], [[3, 5, 16]]),
    "sums": ("(uint8[4, 16] x) => (int32[4, 9] y) " + STORED + "{ y = MatMulInteger(x, @uint8:w[16, 9], xz, wz) }", [[4, 16]]),
    "stored_residual": ("(float[1, 8, 6, 6] x) => (float[1, 8, 6, 6] y, uint8[1, 8, 6, 6] k) <float xs = {0.02}, uint8 xz = {117}, float ys = {0.05}, uint8 yz = {0}, float bs = {0.0002}, int32 bz = {0}> "
                        "{ q = QuantizeLinear(x, xs, xz) d = DequantizeLinear(q, xs, xz) w = DequantizeLinear<axis = 0>(@int8:w0[8, 8, 3, 3], @+s[8]) "
                        "b = DequantizeLinear(@int32:b0[8], bs, bz) c = Conv<pads = [1, 1, 1, 1]>(d, w, b) r = Relu(c) k = QuantizeLinear(r, ys, yz) "
                        "e = DequantizeLinear(k, ys, yz) a = Add(e, d) y = Relu(a) }", [[1, 8, 6, 6]]),
}

def dequantized(name, of, scale="ws", zero="wz8", axis=0):
    """Text of a DequantizeLinear; `of` may be a weight."""
    return f"{name} = DequantizeLinear<axis = {axis}>({of}, {scale}, {zero}) "


def again(name, of, scale, zero):
    """Text of `name`: `of`, quantised to 8 bits and dequantised."""
    return f"{name}_q = QuantizeLinear({of}, {scale}, {zero}) " + dequantized(name, f"{name}_q", scale, zero)


# Graphs with 8-bit integers from end to end, and graphs with float32 operators between them. A mean over 16 numbers is
# stored in steps (ms) such that no value is halfway between two; otherwise, one step would become several later.
FACTORS = ("<float xs = {0.02}, uint8 xz = {117}, float ys = {0.05}, uint8 yz = {101}, float zs = {0.04}, uint8 zz = {0}, float ws = {0.01}, uint8 wz = {128}, "
           "int8 wz8 = {0}, int8 sz8 = {-11}, float ms = {0.0413}, float gs = {0.00390625}, float fine = {0.00003}, float coarse = {90.0}, uint8 odd = {101}, float zero = {0.0}, float six = {6.0}> ")
STORED_GRAPHS = {
    "stored_network": ("(float[N, 3, 17, 17] x) => (uint8[N, 9] y_q) " + FACTORS + "{ " + again("a", "x", "xs", "xz") + dequantized("w0", "@int8:v0[8, 3, 3, 3]", "@+s0[8]", "@zero:z0[8]") +
                       "c0 = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(a, w0, @b0[8]) r0 = Relu(c0) " + again("b", "r0", "zs", "zz") +
                       dequantized("w1", "@int8:v1[8, 1, 3, 3]", "@+s1[8]", "@zero:z1[8]") + "c1 = Conv<pads = [1, 1, 1, 1], group = 8>(b, w1) r1 = Clip(c1, zero, six) " +
                       again("c", "r1", "zs", "zz") + "s = Add(b, c) " + again("d", "s", "ys", "yz") + "m = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(d) " + again("e", "m", "ys", "yz") +
                       "g = GlobalAveragePool(e) " + again("f", "g", "ms", "zz") + "h = Flatten(f) " + again("k", "h", "ms", "zz") + dequantized("w2", "@int8:v2[9, 8]", "@+s2[9]", "@zero:z2[9]") +
                       "p = Gemm<transB = 1>(k, w2, @b2[9]) y_q = QuantizeLinear(p, xs, xz) }", [[1, 3, 17, 17]], [[2, 3, 17, 17]]),
    "stored_product": ("(float[N, 16] x) => (int8[N, 9] y) " + FACTORS + "{ " + again("a", "x", "xs", "wz8") + dequantized("w", "@int8:v[16, 9]", "@+s[9]", "@zero:z[9]", 1) +
                       "m = MatMul(a, w) " + again("b", "m", "ys", "sz8") + "u = DequantizeLinear(@uint8:v1[9, 9], ws, wz) p = MatMul(b, u) y = QuantizeLinear(p, ys, sz8) }",
                       [[3, 16]], [[1, 16]]),
    "linear_network": ("(uint8[1, 4, 13, 13] x) => (uint8[1, 5] y) " + FACTORS + "{ a = QLinearConv<pads = [0, 1, 2, 1]>(x, xs, xz, @int8:w[8, 4, 3, 3], @+s[8], @zero:z[8], ys, yz, @int32:b[8]) "
                       "m = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(a) c = QLinearConv(m, ys, yz, @uint8:v[8, 8, 1, 1], ws, wz, zs, zz) "
                       "g = MaxPool<kernel_shape = [6, 6]>(c) h = Flatten(g) y = QLinearMatMul(h, zs, zz, @int8:u[8, 5], @+t[5], @zero:q[5], ys, yz) }", [[1, 4, 13, 13]]),
    "stored_functions": ("(float[2, 6, 5, 5] x, float[2, 6, 5, 5] z) => (uint8[2, 6, 5, 5] y_q, uint8[2, 6, 5, 5] v_q) " + FACTORS + "{ " +
                         again("a", "x", "xs", "xz") + again("b", "z", "ys", "yz") + "c = Sub(a, b) " + again("d", "c", "ys", "yz") + "e = Sigmoid(d) " + again("f", "e", "gs", "zz") +
                         "g = Mul(d, f) " + again("y", "g", "ys", "yz") + "h = Relu(d) " + again("u", "h", "ys", "yz") + "k = Clip(u, zero, six) t = Relu(k) " + again("v", "t", "ys", "zz") + "}",
                         [[2, 6, 5, 5], [2, 6, 5, 5]]),
    # Sums, weights and means that the library does not support on integers: values are dequantised before.
    "stored_far": ("(float[1, 6, 8, 8] x, float[1, 6, 8, 8] z) => (uint8[1, 6, 8, 8] y_q, uint8[1, 6, 8, 8] u_q, uint8[1, 6, 1, 1] v_q, uint8[1, 6, 4, 4] p_q) " + FACTORS + "{ " +
                   again("a", "x", "fine", "odd") + again("b", "z", "ys", "yz") + "c = Add(a, b) " + again("y", "c", "ys", "yz") + dequantized("w", "@uint8:v0[6, 6, 1, 1]", "ws", "odd") +
                   "d = Conv(b, w) " + again("u", "d", "ys", "yz") + "e = GlobalAveragePool(b) " + again("v", "e", "fine", "odd") +
                   "f = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(b) " + again("p", "f", "zs", "zz") + "}", [[1, 6, 8, 8], [1, 6, 8, 8]]),
    # As steps, these bounds are 1 and 1.5, which the library rounds to the same number.
    "narrow_bounds": ("(uint8[1, 4, 5, 5] x) => (uint8[1, 4, 5, 5] y_q) <float low = {0.02}, float high = {0.03}, " + FACTORS[1:] + "{ " + dequantized("a", "x", "xs", "odd") +
                      "b = Add(a, a) c = Clip(b, low, high) " + again("y", "c", "xs", "odd") + "}", [[1, 4, 5, 5]]),
    # A function that the library rejects, beside one that it supports.
    "crossed_bounds": ("(float[2, 8] x) => (float[2, 8] y) " + FACTORS + "{ a = Relu(x) b = Clip(a, six, zero) y = Add(a, b) }", [[2, 8]]),
    # Weights that are also read outside of the group, and an image with two scales.
    "stored_shared": ("(float[1, 4, 6, 6] x) => (uint8[1, 4, 6, 6] y_q, float[4, 4, 1, 1] o, float[4, 4, 1, 1] w, float[1, 4, 6, 6] v) " + FACTORS + "{ " + again("a", "x", "xs", "xz") +
                      dequantized("w", "@int8:v0[4, 4, 1, 1]", "@+s[4]", "@zero:z[4]") + "c = Conv(a, w) " + again("y", "c", "ys", "yz") + "o = Sign(w) " + dequantized("t", "y_q", "zs", "odd") +
                      "v = Neg(t) }", [[1, 4, 6, 6]]),
}
# Operators of official ONNX Runtime that this engine does not have.
FOREIGN_GRAPHS = {
    "foreign_network": ("(uint8[1, 4, 6, 6] x) => (uint8[1, 5] y) " + FACTORS + "{ a = QLinearConv(x, xs, xz, @int8:w[4, 4, 1, 1], @+s[4], @zero:z[4], ys, yz) "
                        "d = com.microsoft.QLinearAdd(x, xs, xz, a, ys, yz, zs, zz) g = com.microsoft.QLinearGlobalAveragePool(d, zs, zz, xs, xz) h = Flatten(g) "
                        "y = com.microsoft.QGemm<transB = 1>(h, xs, xz, @int8:u[5, 4], @+t[5], @zero:q[5], @int32:k[5], ys, yz) }", [[1, 4, 6, 6]]),
    "foreign_gate": ("(int8[2, 6, 5, 5] x, int8[2, 6, 5, 5] z) => (int8[2, 6, 5, 5] y) " + FACTORS +
                     "{ a = com.microsoft.QLinearMul(x, xs, sz8, z, zs, wz8, ws, sz8) y = com.microsoft.QLinearAdd(a, ws, sz8, @int8:c[1, 6, 1, 1], ys, wz8, ys, sz8) }",
                     [[2, 6, 5, 5], [2, 6, 5, 5]]),
}
# No node of these may be claimed: other zero points, scales too far apart, scales of a run, conversions alone.
UNCLAIMED_GRAPHS = {
    "odd_weights": ("(uint8[1, 4, 5, 5] x) => (uint8[1, 6, 5, 5] y) " + FACTORS + "{ y = QLinearConv(x, xs, xz, @uint8:w[6, 4, 1, 1], ws, odd, ys, yz) }", [[1, 4, 5, 5]]),
    "odd_channels": ("(uint8[1, 4, 5, 5] x) => (uint8[1, 6, 5, 5] y) " + FACTORS + "{ y = QLinearConv(x, xs, xz, @int8:w[6, 4, 1, 1], @+s[6], @int8:z[6], ys, yz) }", [[1, 4, 5, 5]]),
    "large_factor": ("(uint8[1, 4, 5, 5] x) => (uint8[1, 6, 5, 5] y) " + FACTORS + "{ y = QLinearConv(x, coarse, xz, @int8:w[6, 4, 1, 1], ws, wz8, fine, yz) }", [[1, 4, 5, 5]]),
    "small_factor": ("(uint8[3, 4] x) => (uint8[3, 6] y) " + FACTORS.replace("0.00003", "0.000000000001") + "{ y = QLinearMatMul(x, fine, xz, @int8:w[4, 6], fine, wz8, coarse, yz) }", [[3, 4]]),
    "tiny_sums": ("(uint8[3, 4] x) => (uint8[3, 6] y) " + FACTORS.replace("0.00003", "1e-30").replace("90.0", "1e-37") +
                  "{ y = QLinearMatMul(x, fine, xz, @int8:w[4, 6], fine, wz8, coarse, yz) }", [[3, 4]]),
    "full_sums": ("(uint8[1, 4, 5, 5] x) => (uint8[1, 6, 5, 5] y) " + FACTORS.replace("<", "<int32[6] b = {0, 2147483000, 0, 0, 0, 0}, ") +
                  "{ y = QLinearConv(x, xs, xz, @int8:w[6, 4, 1, 1], ws, wz8, ys, yz, b) }", [[1, 4, 5, 5]]),
    "scale_of_the_run": ("(uint8[1, 4, 5, 5] x, float[1] t) => (uint8[1, 6, 5, 5] y) " + FACTORS.replace("<float xs = {0.02}", "<float one = {1.0}") +
                         "{ xs = Abs(t) y = QLinearConv(x, xs, xz, @int8:w[6, 4, 1, 1], ws, wz8, ys, yz) }", [[1, 4, 5, 5], [1]]),
    "conversions_alone": ("(uint8[1, 4, 5, 5] x) => (uint8[1, 4, 5, 5] y) " + FACTORS + "{ d = DequantizeLinear(x, xs, xz) y = QuantizeLinear(d, ys, yz) }", [[1, 4, 5, 5]]),
}

# What a provider reports in the log: operators on 8-bit integers, in float32, conversions between them; None: any
# number. Official ONNX Runtime has a conversion for each reader.
COUNTS = {"stored_network": (7, 0, 1), "stored_product": (2, 0, 1), "linear_network": (6, 0, 0), "stored_functions": (4, 2, None), "stored_far": (0, 4, None),
          "narrow_bounds": (0, 2, None), "crossed_bounds": (0, 2, 0), "stored_shared": (1, 0, 1), "stored_residual": (1, 2, 3), "linear_conv": (1, 0, 0),
          "linear_conv_channels": (1, 0, 0), "linear_conv_uint8": (1, 0, 0), "foreign_network": (5, 0, 0), "foreign_gate": (2, 0, 0),
          "mobilenet_v2_qdq": (65, 0, 2)}

# Batches without elements.
EMPTY_GRAPHS = {
    "empty_image": ("(float[N, 4, 5, 5] x) => (float[N, 6, 3, 3] y) { a = Conv(x, @w[6, 4, 3, 3]) b = Relu(a) y = Softmax<axis = 1>(b) }", [[0, 4, 5, 5]], [[2, 4, 5, 5]]),
    "empty_rows": ("(float[N, 3, 8] x) => (float[N, 3, 8] y) { a = MatMul(x, @w[8, 8]) b = Add(a, x) y = LayerNormalization<axis = -1>(b, @g[8], @h[8]) }",
                   [[0, 3, 8]], [[2, 3, 8]]),
}

# Inputs that do not fit, and a part of the message.
WRONG_SHAPES = ("(float[A, B] x, float[C, D] z) => (float[E, F] y) { a = Relu(x) y = Add(a, z) }", [[2, 3], [4, 5]])
WRONG_SHAPES_SAID = "(Add): shapes "

TYPES = {"uint8": np.uint8, "int8": np.int8, "int32": np.int32}


def values_of(kind, shape, rng):
    """Random values of a type; above zero for "+", zeros for "zero"."""
    if kind == "zero":
        return np.zeros(shape, np.int8)
    if kind == "int32":
        return rng.integers(-2000, 2000, shape, dtype=np.int32)
    if kind in TYPES:
        return rng.integers(np.iinfo(TYPES[kind]).min, np.iinfo(TYPES[kind]).max, shape, dtype=TYPES[kind], endpoint=True)
    values = rng.standard_normal(shape, dtype=np.float32)
    return np.abs(values) * np.float32(0.01) + np.float32(0.01) if kind == "+" else values * np.float32(0.3)


def with_weights(text, rng):
    """The text with names in place of @kind:name[shape], and those tensors; see values_of."""
    tensors = {}
    while "@" in text:
        begin = text.index("@")
        end = text.index("]", begin) + 1
        name, shape = text[begin + 1:end - 1].split("[")
        kind, _, name = ("+:" + name[1:] if name.startswith("+") else name if ":" in name else ":" + name).partition(":")
        tensors[name] = values_of(kind, [int(n) for n in shape.split(",")], rng)
        text = text[:begin] + name + text[end:]
    return text, tensors


def write(folder, chosen):
    """Writes models and inputs; returns rows of name, model, folders of inputs."""
    rng, rows = np.random.default_rng(7), []
    for name, (text, *runs) in chosen.items():
        text, tensors = with_weights(text, rng)
        model = onnx.parser.parse_model(HEADER + " g " + text)
        model.graph.initializer.extend(onnx.numpy_helper.from_array(v, k) for k, v in tensors.items())
        at = os.path.join(folder, name)
        os.makedirs(at, exist_ok=True)
        onnx.save(model, os.path.join(at, "model.onnx"))
        sets = []
        for r, shapes in enumerate(runs):
            sets.append(os.path.join(at, str(r)))
            os.makedirs(sets[-1], exist_ok=True)
            for i, shape in enumerate(shapes):
                kind = onnx.helper.tensor_dtype_to_np_dtype(model.graph.input[i].type.tensor_type.elem_type).name
                values = values_of(kind, shape, rng) if kind in TYPES else rng.standard_normal(shape, dtype=np.float32)
                onnx.save_tensor(onnx.numpy_helper.from_array(values, model.graph.input[i].name), os.path.join(sets[-1], f"input_{i}.pb"))
        rows.append((name, os.path.join(at, "model.onnx"), sets))
    return rows
