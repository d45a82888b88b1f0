"""Recipes in the form of tools/fuzzing/recipes for operators that are not fuzzed, because official ONNX Runtime does not run them."""
import numpy as np

import schemas

TABLE = {}


def example(*labels):
    def register(function):
        TABLE.update(dict.fromkeys(labels, function))
        return function
    return register


@example("ai.onnx.preview.training:Adam", "ai.onnx.preview.training:Momentum")
def optimizer(case):
    """A step for one tensor: its value, its gradient, and one or two states."""
    if case.operator.name == "Momentum":
        case.attr("alpha", 0.9)
        case.attr("beta", 0.1)
        case.attr("mode", "standard")
        case.attr("norm_coefficient", 0.01)
    case.input("T1", ())
    case.input("T2", ())
    states = 2 if case.operator.name == "Adam" else 1
    for _ in range(2 + states):
        case.input("T3", (3, 4))
    case.want(*[True] * (1 + states))


@example("com.microsoft:GroupNorm", "com.microsoft:SkipGroupNorm")
def group_norm(case):
    """Images with channels last."""
    case.attr("groups", 2)
    case.attr("activation", 0)
    case.attr("channels_last", 1)
    case.attr("epsilon", 1e-5)
    case.input("T", (1, 3, 3, 4))
    case.input("M", (4,))
    case.input("M", (4,))
    if case.operator.name == "SkipGroupNorm":
        case.input("T", (1, 3, 3, 4))


@example("com.microsoft:BiasAdd")
def bias_add(case):
    case.input("T", (2, 3, 4))
    case.input("T", (4,))
    case.input("T", (2, 3, 4))


@example("com.microsoft:RelativePositionBias")
def relative_position_bias(case):
    case.attr("max_distance", 16)
    case.attr("is_bidirectional", 1)
    case.input("T", (8, 2))
    for _ in range(2):
        case.give(np.array([5], np.int64), True)
    case.elem("U")


@example("com.microsoft:QLinearReduceMean")
def qlinear_reduce_mean(case):
    case.attr("axes", [1])
    case.attr("keepdims", 1)
    case.input("T", (2, 5))
    for _ in range(2):
        case.give(np.asarray(0.1, np.float32), True)
        case.input("T", (), "small", True)


@example("Tile")
def tile(case):
    """The first version repeats one axis, and all its inputs have one type."""
    case.input("T", (2, 3))
    if case.version.since < 6:
        case.input("T", (), "positive")
        case.give(np.asarray(1).astype(case.inputs[-1].value.dtype), True)
    else:
        case.int64([2, 2])


@example("RandomNormal", "RandomUniform")
def random_numbers(case):
    case.attr("dtype", case.elem("T"))
    case.attr("shape", [2, 3])


@example("BitCast")
def bit_cast(case):
    """To the same type, since only types of one size fit."""
    case.attr("to", case.elem("T1"))
    case.chosen["T2"] = case.chosen["T1"]
    case.input("T1", (2, 4))


@example("Attention")
def attention(case):
    for variable in "T1", "T1", "T2":
        case.input(variable, (1, 2, 3, 8), "small")
    case.want(True)


@example("DequantizeLinear")
def dequantize(case):
    case.input("T1" if "T1" in case.version.types else "T", (2, 3), "small")
    case.input("T2" if "T2" in case.version.types else "float", (), "positive")
    case.attr("output_dtype", 1)


@example("com.microsoft:SparseToDenseMatMul")
def sparse_to_dense(case):
    of = case.chosen.setdefault("T", case.elem("T1"))
    case.chosen["T1"] = of
    case.give(case.numbers.array(of, (3, 4), "small"), False, f"sparse_tensor({schemas.NAMES[of]})")
    case.input("T1", (4, 2), "small", False)


@example("com.microsoft:BiasSplitGelu")
def bias_split_gelu(case):
    case.input("T", (2, 3, 8))
    case.input("T", (8,))


@example("com.microsoft:FusedMatMulActivation")
def fused_matmul_activation(case):
    case.attr("activation", "Relu")
    case.input("T", (2, 3))
    case.input("T", (3, 4))


@example("com.microsoft:GemmaRotaryEmbedding")
def gemma_rotary_embedding(case):
    case.input("U", (1, 3, 4))
    for _ in range(4):
        case.input("T", (1, 2, 3, 4))
    case.want(True, True)


def packed_weights(case, count):
    """Products with codes of 4 bits, after a norm."""
    for name, value in {"K": 32, "N": 2, "Nq": 2, "Nkv": 2, "bits": 4, "block_size": 32, "activation": "silu"}.items():
        case.attr(name, value)
    case.input("T1", (3, 32))
    case.skip()
    case.input("T1", (32,), "small", True)
    for i in range(count):
        case.input("T2", (2, 1, 16), "any", True)
        case.input("T1", (2,), "small", True)
        if i + 1 < count:
            case.skip()
    case.want(*[True] * (3 if count == 3 else 1))


@example("com.microsoft:MatMulNBitsMlp")
def n_bits_mlp(case):
    packed_weights(case, 2)


@example("com.microsoft:MatMulNBitsQkv")
def n_bits_qkv(case):
    packed_weights(case, 3)


@example("com.microsoft:NhwcFusedConv")
def nhwc_fused_conv(case):
    case.input("T", (1, 5, 5, 3))
    case.input("T", (2, 3, 3, 3))


@example("com.microsoft:RouterGateUpProj")
def router_gate_up(case):
    case.attr("router_size", 2)
    case.input("T", (3, 4))
    case.input("T", (4, 8))
    case.want(True, True)


def sequences(case):
    """Two, of one and of two tokens."""
    case.give(np.array([[0, 2], [3, 1]], np.int32), False)
    case.give(np.array([0, 1, 3], np.int32), False)
    case.elem("M")


@example("com.microsoft:PackedAttention")
def packed_attention(case):
    case.attr("num_heads", 2)
    for shape in (3, 5), (5, 12), (12,):
        case.input("T", shape)
    sequences(case)


@example("com.microsoft:PackedMultiHeadAttention")
def packed_multi_head_attention(case):
    case.attr("num_heads", 2)
    for _ in range(3):
        case.input("T", (3, 4))
    case.skip()
    sequences(case)
