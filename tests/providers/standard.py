"""The results of models on integers by the standard's arithmetic: sums of 8-bit products are exact, on every processor.

Official ONNX Runtime does not compute them: on x86 without VNNI, its sums of products of uint8 with int8 saturate at 16
bits.
"""
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun


def real(x, scale, zero):
    return (x.astype(np.float32) - zero.astype(np.float32)) * scale


def stored(y, scale, zero):
    """QuantizeLinear: the nearest step, ties to even, clamped to the type."""
    bounds = np.iinfo(zero.dtype)
    return np.clip(np.rint(y / scale) + zero, bounds.min, bounds.max).astype(zero.dtype)


# Operators of com.microsoft, as ONNX Runtime's ContribOperators.md defines them.
class QLinearAdd(OpRun):
    op_domain = "com.microsoft"

    def _run(self, a, a_scale, a_zero, b, b_scale, b_zero, scale, zero):
        return (stored(real(a, a_scale, a_zero) + real(b, b_scale, b_zero), scale, zero),)


class QLinearMul(OpRun):
    op_domain = "com.microsoft"

    def _run(self, a, a_scale, a_zero, b, b_scale, b_zero, scale, zero):
        return (stored(real(a, a_scale, a_zero) * real(b, b_scale, b_zero), scale, zero),)


class QLinearGlobalAveragePool(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, x_scale, x_zero, scale, zero, channels_last=0):
        axes = tuple(range(1, x.ndim - 1)) if channels_last else tuple(range(2, x.ndim))
        return (stored(real(x, x_scale, x_zero).mean(axes, keepdims=True), scale, zero),)


class QGemm(OpRun):
    op_domain = "com.microsoft"

    def _run(self, a, a_scale, a_zero, b, b_scale, b_zero, c, scale, zero, alpha=1.0, transA=0, transB=0):
        a, b = a.astype(np.int32) - a_zero, b.astype(np.int32)
        b = b - (b_zero.reshape(-1, 1) if transB and b_zero.ndim else b_zero)
        sums = (a.T if transA else a) @ (b.T if transB else b)
        if c is not None:
            sums = sums + c
        return (stored(sums.astype(np.float32) * np.float32(alpha) * a_scale * b_scale, scale, zero),)


FOREIGN = [QLinearAdd, QLinearMul, QLinearGlobalAveragePool, QGemm]


OPSET = 21  # older conversions have no reference; the operators in graphs.py are the same in this version


def evaluator(model):
    """An object with run(None, {name: array}), which returns a list of arrays."""
    model = onnx.load(model)
    for opset in model.opset_import:
        if not opset.domain:
            opset.version = max(opset.version, OPSET)
    return ReferenceEvaluator(model, new_ops=FOREIGN)
