"""Rows of difference_rows.py whose operators are of com.microsoft and ai.onnx.ml."""
import numpy as np
import search_cases
from difference_words import *  # noqa: F403: the words of these rows


def tree(kind, **more):
    return {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0], "nodes_values": [0.0, 0.0, 0.0],
            "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0], **more}


@row("TreeEnsembleRegressor", "base_values, and a target that no leaf adds to")
def _():
    made = model("TreeEnsembleRegressor", [A(1, shape=(1, 1))], domain=ML, **tree("r", target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[1.0, 2.0]),
                 n_targets=2, base_values=[10.0, 20.0])
    yield Result([[12, 20]]), Result([[12, 0]]), made


@row("TreeEnsembleClassifier", "two classes of integer labels, and leaves that add to both of them")
def _():
    made = model("TreeEnsembleClassifier", [A(1, -1, shape=(2, 1))], 2, domain=ML,
                 **tree("c", class_treeids=[0, 0], class_nodeids=[1, 2], class_ids=[0, 1], class_weights=[0.2, 0.8]), classlabels_int64s=[5, 9])
    yield Result([9, 9]), Result([1, 1]), made


@row("com.microsoft.QLinearAveragePool", "ceil_mode and count_include_pad")
def _():
    x = np.full((1, 1, 4), 90, u8)
    s, z = Fixed(A(1, shape=())), Fixed(A(0, dtype=u8, shape=()))
    made = model("QLinearAveragePool", [x, s, z, s, z], domain=MS, kernel_shape=[3], strides=[2], ceil_mode=1, count_include_pad=1, pads=[0, 0])
    yield Result([[[90, 90]]]), Result([[[90, 60]]]), made


def moe(random, bits, block, **more):
    """A QMoE of two experts without biases, (inputs, attributes, products as they are)."""
    rows, width, inner = 2, 64, 64
    x, router = random.standard_normal((rows, width)).astype(f32), random.standard_normal((rows, 2)).astype(f32)
    codes = [random.integers(0, 255, (2, n, k * bits // 8)).astype(u8) for n, k in ((inner, width), (width, inner))]
    scales = [np.full((2, n, k // block), 0.01, f32) for n, k in ((inner, width), (width, inner))]
    wide = [(c.astype(np.float64) - 128) * 0.01 for c in codes]
    y = np.zeros((rows, width))
    for r in range(rows):
        e = int(np.argmax(router[r]))
        y[r] = np.maximum(x[r].astype(np.float64) @ wide[0][e].T, 0) @ wide[1][e].T
    inputs = [x, router, Fixed(codes[0]), Fixed(scales[0]), None, Fixed(codes[1]), Fixed(scales[1])]
    return inputs, {"k": 1, "activation_type": "relu", "expert_weight_bits": bits, "block_size": block, "normalize_routing_weights": 1, **more}, y


@row("com.microsoft.QMoE", "weights of 8 bits in blocks")
def _():
    inputs, attributes, y = moe(np.random.default_rng(5), 8, 32)
    close = lambda g: np.abs(g - y).max() / np.abs(y).max() < 1e-5
    yield Result(close), Result(lambda g: 1e-5 < np.abs(g - y).max() / np.abs(y).max() < 0.1), model("QMoE", inputs, domain=MS, **attributes)


@row("com.microsoft.QMoE", "quant_type other than int")
def _():
    inputs, attributes, y = moe(np.random.default_rng(5), 8, 32, quant_type="fp8")
    yield Error("quant_type"), Result(lambda g: np.abs(g - y).max() / np.abs(y).max() < 0.1), model("QMoE", inputs, domain=MS, **attributes)


@row("com.microsoft.QAttention", "do_rotary")
def _():
    g = np.random.default_rng(6)
    inputs = [g.integers(0, 9, (1, 2, 4)).astype(u8), Fixed(g.integers(0, 9, (4, 12)).astype(u8)), Fixed(np.zeros(12, f32)), Fixed(A(0.1, shape=())), Fixed(A(0.1, shape=()))]
    yield Error("do_rotary"), Result(shape(1, 2, 4)), model("QAttention", inputs, domain=MS, num_heads=1, do_rotary=1)


def searched(name, change=lambda attributes, inputs: None):
    """A case of search_cases.py with other attributes or inputs."""
    def make(random):
        operator, attributes, inputs, *more = search_cases.CASES[name](random)
        inputs = list(inputs)
        change(attributes, inputs)
        return operator, attributes, inputs, *more
    made, given = search_cases.build(name, make)
    return made.SerializeToString(), [(n, to_wire(v)) for n, v in given.items()], [o.name for o in made.graph.output]


def with_input(index, value):
    return lambda attributes, inputs: inputs.__setitem__(index, value)


def stored(name):
    return Result(*search_cases.found()[name], tolerance=1e-4)


@row("BeamSearch", "model_type 1, max_length 2")
def _():
    for name in ("text_whole", "text"):
        yield Result(shape(2, 2, 2)), Undefined(), searched(name, with_input(1, A(2, dtype=i32)))


@row("WhisperBeamSearch", "max_length is one more than the given tokens")
def _():
    yield Result(shape(2, 2, 4)), Error(), searched("whisper", with_input(1, A(4, dtype=i32)))


@row("BeamSearch, WhisperBeamSearch", "input past_sequence_length of a decoder")
def _():
    for name, theirs in (("text_shared", Differs()), ("whisper_shared", Error())):
        yield stored(name), theirs, searched(name)


@row("BeamSearch, GreedySearch, Sampling", "vocab_size less than the logits have")
def _():
    for name in ("greedy", "beams", "sampling"):
        begun = 3 if name == "sampling" else 4
        yield Result(lambda g, b=begun: (g[..., b:] < 20).all()), Differs(), searched(name, lambda attributes, _: attributes.update(vocab_size=20))


@row("BeamSearch, WhisperBeamSearch", "min_length is omitted")
def _():
    for name in ("beams", "whisper"):
        yield Result(lambda g: g.shape[:2] == (2, 3) or g.shape[:2] == (2, 2)), Error(), searched(name, with_input(2, None))


@row("WhisperBeamSearch", "output cross_qk")
def _():
    yield stored("whisper_cross"), Error(), searched("whisper_cross")


@row("WhisperBeamSearch", "input extra_decoding_ids")
def _():
    yield stored("whisper_forced"), Differs(), searched("whisper_forced")


UNDEFINED = "what the official library returns is undefined; ours: search_cases.py and tools/fuzz_ops"
for operators, condition in (
        ("BeamSearch, WhisperBeamSearch", "several entries in a batch, without early_stopping"), ("WhisperBeamSearch", "output non_speech_probs"),
        ("WhisperBeamSearch", "a decoder that reads encoder_hidden_states"), ("GreedySearch, Sampling", "all sequences end before max_length"),
        ("Sampling", "presence_penalty"), ("BeamSearch, WhisperBeamSearch", "decoders with beam_width and cache_indirection")):
    NOT_RUN[operators, condition] = UNDEFINED


@row("com.microsoft.MatMulNBits", "g_idx, and 2 bits or packed zero points")
def _():
    g = np.random.default_rng(7)
    x, order = g.standard_normal((1, 32)).astype(f32), g.permutation(np.arange(32) // 16).astype(i32)
    for bits in (4, 2):
        codes = g.integers(0, 1 << bits, (2, 32))
        zeros = g.integers(0, 1 << bits, (2, 2))
        pack = lambda a, per=8 // bits: np.array([sum(int(v) << (bits * i) for i, v in enumerate(part)) for part in a.reshape(-1, per)], u8)
        full = np.zeros((2, 8 // bits), np.int64)
        full[:, :2] = zeros
        scales = A(0.5, 2, 3, 0.25)
        weights = (codes - np.take_along_axis(zeros, np.tile(order, (2, 1)), 1)) * scales.reshape(2, 2)[:, order]
        wanted = x.astype(np.float64) @ weights.T
        made = model("MatMulNBits", [x, Fixed(pack(codes).reshape(2, 2, 16 * bits // 8)), Fixed(scales), Fixed(pack(full)), Fixed(order)], domain=MS,
                     K=32, N=2, bits=bits, block_size=16)
        yield Result(wanted, tolerance=1e-4), Result(other(wanted)), made


@row("com.microsoft.Tokenizer", "an input without elements")
def _():
    made = model("Tokenizer", [np.zeros(0, object)], domain=MS, mark=0, pad_value="#", mincharnum=1, separators=[" "])
    yield Result(shape(0, 0)), Result(shape(0)), made
