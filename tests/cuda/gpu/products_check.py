#!/usr/bin/env python3
"""Compares matrix products on the CUDA provider with the CPU of ONNX Runtime: shapes, types, fusions, codes.

    products_check.py --plugin out/lib/providers/libretort_cuda.so [--only TEXT]

A line per case that fails, or whose nodes are left to the CPU; the last line counts. Needs a package `onnxruntime`
whose interface has plug-ins. float16 and bfloat16 are compared with float32 on the CPU.
"""
import argparse
import sys

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort

PROVIDER = "CUDAExecutionProvider"
F32, F16, BF16, F64 = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE)
NUMPY = {F32: np.float32, F16: np.float16, BF16: ml_dtypes.bfloat16, F64: np.float64}
RANDOM = np.random.default_rng(7)


def real(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def node(type, inputs, outputs, domain="", **attributes):
    return oh.make_node(type, inputs, outputs, domain=domain, **attributes)


def rename(n, names):
    copy = onnx.NodeProto()
    copy.CopyFrom(n)
    for values in (copy.input, copy.output):
        for i, v in enumerate(values):
            values[i] = names.get(v, v)
    return copy


class Case:
    """nodes; inputs and constants: {name: array}; arrays of float32 get the case's type. `reference`: makes nodes and
    constants of constants, for what the CPU does not have."""

    def __init__(self, name, nodes, inputs, constants=None, outputs=("y",), tolerance=None, left=0, reference=None):
        self.reference = reference
        self.name, self.nodes, self.inputs, self.constants = name, nodes, inputs, constants or {}
        self.outputs, self.tolerance, self.left = outputs, tolerance, left

    def model(self, real_type):
        def made(array):
            return array.astype(NUMPY[real_type]) if array.dtype == np.float32 else array

        def proto(name, array):
            array = np.asarray(array)
            kind = oh.np_dtype_to_tensor_dtype(array.dtype) if array.dtype != NUMPY[BF16] else BF16
            return oh.make_tensor(name, kind, array.shape, array.tobytes(), raw=True)

        # numpy has no bfloat16, so such tensors are converted inside the model.
        narrow = real_type == BF16
        inputs = {k: made(v).astype(np.float32) if narrow and v.dtype == np.float32 else made(v) for k, v in self.inputs.items()}
        nodes, outputs = list(self.nodes), list(self.outputs)
        if narrow:
            real_inputs = {k for k, v in self.inputs.items() if v.dtype == np.float32}
            nodes = [rename(n, {k: k + "_narrow" for k in [*real_inputs, *outputs]}) for n in nodes]
            nodes = [node("Cast", [k], [k + "_narrow"], to=BF16) for k in sorted(real_inputs)] + nodes
            nodes += [node("Cast", [o + "_narrow"], [o], to=F32) for o in outputs]
        constants = [proto(k, made(v)) for k, v in self.constants.items()]
        kinds = {k: BF16 if v.dtype == NUMPY[BF16] else oh.np_dtype_to_tensor_dtype(v.dtype) for k, v in inputs.items()}
        graph = oh.make_graph(nodes, "g", [oh.make_tensor_value_info(k, kinds[k], v.shape) for k, v in inputs.items()],
                              [onnx.ValueInfoProto(name=o) for o in outputs],
                              constants)
        model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 20), oh.make_opsetid("com.microsoft", 1)], ir_version=10)
        return model.SerializeToString(), inputs


def session(model, device=None, settings=None):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    # The CPU keeps nodes as they are, so that nothing is compared with a fusion of its own.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    if device:
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        options.add_provider_for_devices([device], settings or {})
    return ort.InferenceSession(model, options)


def reordered(inputs, nodes, constants):
    return nodes, inputs, constants


TOLERANCE = {F32: 2e-6, F16: 2e-3, BF16: 1.6e-2, F64: 1e-12}


def check(case, kind, device, settings):
    """"" or what is wrong."""
    model, inputs = case.model(kind)
    made = session(model, device, settings)
    left = sum(len(p.get_nodes()) for p in made.get_provider_graph_assignment_info() if p.ep_name != PROVIDER)
    made.run(None, inputs)
    got = made.run(None, inputs)  # the second run submits the plan that the first made
    if kind in (F16, BF16):
        # The same numbers in float32.
        rounded = {k: v.astype(NUMPY[kind]).astype(np.float32) if v.dtype == np.float32 else v for k, v in case.inputs.items()}
        constants = {k: v.astype(NUMPY[kind]).astype(np.float32) if v.dtype == np.float32 else v for k, v in case.constants.items()}
        nodes, constants = case.reference(constants) if case.reference else (case.nodes, constants)
        model, inputs = Case(case.name, nodes, rounded, constants, case.outputs).model(F32)
    elif case.reference:
        model, inputs = Case(case.name, *reordered(case.inputs, *case.reference(case.constants)), case.outputs).model(kind)
    try:
        expected = session(model).run(None, inputs)
    except Exception as e:  # the CPU has fewer combinations of types
        if "NOT_IMPLEMENTED" in str(e) or "does not support" in str(e):
            return ""
        raise
    for g, e in zip(got, expected):
        if g.shape != e.shape:
            return f"shape {g.shape}, expected {e.shape}"
        if not e.size:
            continue
        g, e = g.astype(np.float64), e.astype(np.float64)
        limit = case.tolerance if case.tolerance is not None and kind == F32 else TOLERANCE[kind]
        if settings.get("use_tf32") == "1" and kind == F32 and limit:
            limit = max(limit, 2e-3)
        wrong = np.abs(g - e).max() if np.isfinite(g).all() else np.inf
        if wrong > limit * max(1e-30, np.abs(e).max()):
            return f"error {wrong:.3g}, the largest value is {np.abs(e).max():.3g}"
    return f"{left} nodes are left to the CPU" if left > case.left else ""


def matmul_cases():
    shapes = [((5, 7), (7, 9)), ((1, 64), (64, 48)), ((3, 40), (40, 33)), ((8, 256), (256, 130)), ((20, 17), (17, 24)),
              ((7,), (7, 9)), ((5, 7), (7,)), ((7,), (7,)), ((2, 3, 5, 7), (7, 9)), ((2, 3, 5, 7), (3, 7, 9)),
              ((2, 3, 5, 7), (2, 3, 7, 9)), ((2, 1, 5, 7), (1, 3, 7, 9)), ((3, 7), (2, 7, 4)), ((4, 1, 20, 8), (5, 8, 6)),
              ((0, 7), (7, 9)), ((5, 0), (0, 9)), ((2, 1, 7), (7, 9)), ((6, 1, 64), (64, 40)), ((64, 96), (96, 1)),
              ((2, 12, 16, 8), (2, 12, 8, 16)), ((1, 1100), (1100, 700)), ((2, 3000), (3000, 20)), ((130, 72), (72, 200))]
    for a, b in shapes:
        yield Case(f"MatMul {a} {b}", [node("MatMul", ["a", "b"], ["y"])], {"a": real(*a), "b": real(*b)})
        yield Case(f"MatMul constant {a} {b}", [node("MatMul", ["a", "b"], ["y"])], {"a": real(*a)}, {"b": real(*b)})
    for ta in (0, 1):
        for tb in (0, 1):
            for m in (1, 6, 19):
                a, b = ((24, m) if ta else (m, 24)), ((40, 24) if tb else (24, 40))
                yield Case(f"FusedMatMul {ta}{tb} {m}", [node("FusedMatMul", ["a", "b"], ["y"], "com.microsoft", transA=ta, transB=tb, alpha=0.25)],
                           {"a": real(2, *a), "b": real(2, *b)})
                for c in ((40,), (1, 40), (m, 1), (m, 40), (1,), ()):
                    yield Case(f"Gemm {ta}{tb} {m} {c}", [node("Gemm", ["a", "b", "c"], ["y"], transA=ta, transB=tb, alpha=0.5, beta=1.0 if len(c) == 1 else 2.0)],
                               {"a": real(*a), "b": real(*b), "c": real(*c)})
    yield Case("transBatch", [node("FusedMatMul", ["a", "b"], ["y"], "com.microsoft", transBatchA=1, transBatchB=1, transB=1)],
               {"a": real(5, 3, 8), "b": real(6, 3, 8)})
    yield Case("Gemm without C", [node("Gemm", ["a", "b"], ["y"], transB=1)], {"a": real(1, 768), "b": real(32, 768)})
    yield Case("FusedGemm", [node("FusedGemm", ["a", "b", "c"], ["y"], "com.microsoft", activation="LeakyRelu", activation_alpha=0.1)],
               {"a": real(20, 16), "b": real(16, 24), "c": real(24)})


def fused_cases():
    for m in (2, 30):
        x, w, b, r = real(m, 64), real(64, 48), real(48), real(m, 48)
        start = [node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "b"], ["q"])]
        yield Case(f"bias relu {m}", start + [node("Relu", ["q"], ["y"])], {"x": x}, {"w": w, "b": b})
        yield Case(f"bias residual {m}", start + [node("Add", ["r", "q"], ["y"])], {"x": x, "r": r}, {"w": w, "b": b})
        yield Case(f"bias gelu {m}", start + [node("Gelu", ["q"], ["y"])], {"x": x}, {"w": w, "b": b})
        yield Case(f"bias tanh gelu {m}", start + [node("Gelu", ["q"], ["y"], approximate="tanh")], {"x": x}, {"w": w, "b": b}, tolerance=1e-5)
        yield Case(f"bias shared {m}", start + [node("Relu", ["q"], ["y"]), node("Neg", ["q"], ["z"])], {"x": x}, {"w": w, "b": b}, ("y", "z"))
        projections = [node(t, [x, w], [y]) for i in "abc" for t, x, w, y in (("MatMul", "x", "w" + i, "p" + i), ("Add", "p" + i, "b" + i, "y" + i))]
        yield Case(f"siblings with bias {m}", projections, {"x": real(2, m, 64)}, {n + i: real(*((64, 48) if n == "w" else (48,))) for i in "abc" for n in "wb"}, ("ya", "yb", "yc"))
        yield Case(f"siblings {m}", [node("MatMul", ["x", "w" + i], ["p" + i]) for i in "ab"] + [node("Neg", ["p" + i], ["y" + i]) for i in "ab"], {"x": x},
                   {"wa": w, "wb": real(64, 48)}, ("ya", "yb"))
        yield Case(f"odd constant {m}", [node("MatMul", ["x", "v"], ["p"]), node("Relu", ["p"], ["y"])], {"x": x}, {"v": real(64, 45)})
        yield Case(f"odd constant alone {m}", [node("MatMul", ["x", "v"], ["y"])], {"x": x}, {"v": real(64, 45)})
        yield Case(f"scale {m}", [node("MatMul", ["x", "w"], ["p"]), node("Div", ["p", "s"], ["y"])], {"x": x}, {"w": w, "s": np.float32(8)})
        yield Case(f"scaled before {m}", [node("Mul", ["x", "s"], ["t"]), node("MatMul", ["t", "w"], ["y"])], {"x": x, "w": w}, {"s": np.float32(0.125)})
        yield Case(f"transposed {m}", [node("Transpose", ["w"], ["t"], perm=[1, 0]), node("MatMul", ["x", "t"], ["y"])], {"x": x, "w": real(48, 64)})
        yield Case(f"broadcast residual {m}", [node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "r"], ["y"])], {"x": real(2, m, 64), "w": w, "r": real(1, m, 48)})
        yield Case(f"gemm relu {m}", [node("Gemm", ["x", "w", "b"], ["p"]), node("Relu", ["p"], ["y"])], {"x": x}, {"w": w, "b": b})
        yield Case(f"gemm residual {m}", [node("Gemm", ["x", "w", "b"], ["p"]), node("Add", ["p", "r"], ["y"])], {"x": x, "r": r}, {"w": w, "b": b})


def einsum_cases():
    for equation, a, b in (("ij,jk->ik", (5, 6), (6, 7)), ("bhid,bhjd->bhij", (2, 3, 9, 8), (2, 3, 10, 8)), ("bqhd,bkhd->bhqk", (2, 9, 3, 8), (2, 10, 3, 8)),
                           ("bhqk,bkhd->bqhd", (2, 3, 9, 10), (2, 10, 3, 8)), ("abc,cd->abd", (3, 4, 5), (5, 6)), ("i,j->ij", (5,), (6,)),
                           ("bi,bi->b", (4, 9), (4, 9)), ("ij,kj->ki", (9, 12), (10, 12)), ("abc,bcd->ad", (3, 4, 5), (4, 5, 6)), ("ij,jk", (5, 6), (6, 7))):
        yield Case(f"Einsum {equation}", [node("Einsum", ["a", "b"], ["y"], equation=equation)], {"a": real(*a), "b": real(*b)})


def codes(dtype, *shape):
    return RANDOM.integers(0, 256, shape).astype(np.uint8).view(dtype)


def code_cases():
    f = np.float32
    for ta in (np.uint8, np.int8):
        for tb in (np.uint8, np.int8):
            name = f"{np.dtype(ta).name} {np.dtype(tb).name}"
            for m, k, n in ((3, 20, 9), (33, 37, 22), (16, 64, 32)):
                a, b, az, bz = codes(ta, m, k), codes(tb, k, n), codes(ta), codes(tb, n)
                for constant in (True, False):
                    x, c = ({"a": a}, {"b": b, "az": az, "bz": bz}) if constant else ({"a": a, "b": b}, {"az": az, "bz": bz})
                    yield Case(f"MatMulInteger {name} {m} {constant}", [node("MatMulInteger", ["a", "b", "az", "bz"], ["y"])], x, c, tolerance=0)
                yield Case(f"MatMulIntegerToFloat {name} {m}", [node("MatMulIntegerToFloat", ["a", "b", "as", "bs", "az", "bz", "bias"], ["y"], "com.microsoft")],
                           {"a": a}, {"b": b, "as": f(0.02), "bs": np.abs(real(n)), "az": az, "bz": bz, "bias": real(n)}, tolerance=1e-5)
                yield Case(f"QLinearMatMul {name} {m}", [node("QLinearMatMul", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"], ["y"])],
                           {"a": a}, {"b": b, "as": f(0.02), "bs": f(0.03), "az": az, "bz": codes(tb), "ys": f(3.1), "yz": codes(ta)}, tolerance=1 / 60)
                yield Case(f"MatMulInteger plain {name} {m}", [node("MatMulInteger", ["a", "b"], ["y"])], {"a": codes(ta, 2, m, k)}, {"b": b}, tolerance=0)
            yield Case(f"MatMulInteger batch {name}", [node("MatMulInteger", ["a", "b"], ["y"])], {"a": codes(ta, 2, 9, 20), "b": codes(tb, 2, 20, 7)}, tolerance=0)
        for m in (2, 40):
            yield Case(f"DynamicQuantizeMatMul {np.dtype(ta).name} {m}", [node("DynamicQuantizeMatMul", ["a", "b", "bs", "bz", "bias"], ["y"], "com.microsoft")],
                       {"a": real(m, 50)}, {"b": codes(ta, 50, 23), "bs": np.abs(real(23)), "bz": codes(ta, 23), "bias": real(23)}, tolerance=1e-4)
            yield Case(f"QGemm {np.dtype(ta).name} {m}", [node("QGemm", ["a", "as", "az", "b", "bs", "bz", "c", "ys", "yz"], ["y"], "com.microsoft", transB=1, alpha=1.5)],
                       {"a": codes(ta, m, 50)}, {"b": codes(np.int8, 23, 50), "as": f(0.02), "bs": np.abs(real(23)), "az": codes(ta), "bz": np.zeros(23, np.int8),
                                                 "c": RANDOM.integers(-999, 999, 23).astype(np.int32), "ys": f(9.0), "yz": codes(ta)}, tolerance=1 / 60)


def unpacked(codes, bits, count):
    """Codes along the last axis of bytes, the lowest bits first; the first `count` of them."""
    each = [codes >> shift & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    return np.stack(each, -1).reshape(*codes.shape[:-1], -1)[..., :count].astype(np.float32)


def nbits_reference(bits, block, k, n):
    def make(constants):
        blocks = -(-k // block)
        zeros = constants.get("z")
        if zeros is None:
            zeros = np.float32(1 << (bits - 1))
        elif zeros.dtype == np.uint8:
            zeros = unpacked(zeros.reshape(n, -1), bits, blocks)[..., None]
        else:
            zeros = zeros.reshape(n, blocks, 1)
        weights = (unpacked(constants["b"], bits, block) - zeros) * constants["s"].reshape(n, blocks, 1)
        made = {"w": weights.reshape(n, -1)[:, :k].T.copy(), "bias": constants["bias"]}
        return [node("MatMul", ["a", "w"], ["p"]), node("Add", ["p", "bias"], ["y"])], made

    return make


def nbits_cases():
    for bits in (2, 4, 8):
        for block in (16, 32, 128):
            for m in (1, 3, 5, 7, 12, 40):
                for zeros in (0, 1, 2):
                    k, n = {3: 4976, 5: 150, 7: 656, 12: 1200}.get(m, 320), 37
                    blocks = -(-k // block)
                    constants = {"b": codes(np.uint8, n, blocks, block * bits // 8), "s": np.abs(real(n * blocks)), "bias": real(n)}
                    if zeros:
                        constants["z"] = codes(np.uint8, n * -(-blocks * bits // 8)) if zeros == 1 else real(n * blocks)
                    yield Case(f"MatMulNBits {bits} bits block {block} m {m} zeros {zeros}",
                               [node("MatMulNBits", ["a", "b", "s", "z" if zeros else "", "", "bias"], ["y"], "com.microsoft", K=k, N=n, bits=bits, block_size=block)],
                               {"a": real(m, k)}, constants, tolerance=2e-5, reference=nbits_reference(bits, block, k, n))
    for bits in (4, 8):
        for zeros in (False, True):
            constants = {"d": codes(np.uint8, 50, 96 * bits // 8), "s": np.abs(real(50, 3))}
            if zeros:
                constants["z"] = codes(np.uint8, 50, -(-3 * bits // 8))
            yield Case(f"GatherBlockQuantized {bits} {zeros}",
                       [node("GatherBlockQuantized", ["d", "i", "s"] + ["z"] * zeros, ["y"], "com.microsoft", bits=bits, block_size=32, gather_axis=0, quantize_axis=1)],
                       {"i": np.array([[0, 49, 7], [3, 3, 21]], np.int64)}, constants)


def integer_cases():
    for dtype in (np.int32, np.int64):
        yield Case(f"MatMul {np.dtype(dtype).name}", [node("MatMul", ["a", "b"], ["y"])],
                   {"a": RANDOM.integers(-99, 99, (2, 20, 17)).astype(dtype), "b": RANDOM.integers(-99, 99, (17, 19)).astype(dtype)}, tolerance=0)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--plugin", required=True)
    p.add_argument("--only", default="")
    p.add_argument("--types", default="f32,f16,bf16,f64")
    p.add_argument("--option", action="append", default=[])
    a = p.parse_args()
    settings = {"use_tf32": "0", **dict(o.split("=", 1) for o in a.option)}
    ort.register_execution_provider_library("cuda", a.plugin)
    device = next(d for d in ort.get_ep_devices() if d.ep_name == PROVIDER)
    kinds = {"f32": F32, "f16": F16, "bf16": BF16, "f64": F64}
    chosen = [kinds[k] for k in a.types.split(",")]
    passed = failed = 0
    for group, types in ((matmul_cases, (F32, F16, BF16, F64)), (fused_cases, (F32, F16, BF16)), (einsum_cases, (F32, F16)),
                         (code_cases, (F32,)), (nbits_cases, (F32, F16, BF16)), (integer_cases, (F32,))):
        for case in group():
            for kind in types:
                if kind not in chosen or a.only not in case.name:
                    continue
                try:
                    wrong = check(case, kind, device, settings)
                except Exception as e:  # of either engine: the next case goes on
                    wrong = f"{type(e).__name__}: {e}"
                passed += not wrong
                failed += bool(wrong)
                if wrong:
                    print(f"FAIL {case.name} {NUMPY[kind].__name__}: {wrong[:400]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
