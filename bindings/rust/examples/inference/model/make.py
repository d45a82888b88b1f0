#!/usr/bin/env python3
"""Makes tts.onnx and expected.wav beside this file: a small model of Kokoro's interface with seeded weights, and what
it says according to the reference evaluator of the onnx package (needs that package and numpy).

tokens int64 [1, n], style float [1, 256], speed float [1] -> audio float [m], 24,000 samples a second
"""
import os
import struct

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh
from onnx.reference import ReferenceEvaluator

HERE = os.path.dirname(os.path.abspath(__file__))
VOCABULARY, WIDTH, STYLE, HARMONICS, FRAME, RATE = 178, 32, 256, 8, 300, 24000


def constants():
    made = np.random.default_rng(82)

    def normal(*shape, scale):
        return (made.standard_normal(shape) * scale).astype(np.float32)

    lengths = made.integers(2, 7, VOCABULARY).astype(np.float32)
    lengths[0] = 3
    return {
        "embedding": normal(VOCABULARY, WIDTH, scale=1),
        # Whole numbers of frames, because numbers near .5 might be rounded differently by two engines.
        "lengths": lengths,
        "style_weights": normal(STYLE, WIDTH, scale=0.08),
        "mix": normal(WIDTH, WIDTH, 5, scale=0.09),
        "length_weights": normal(WIDTH, 1, scale=0.1),
        "pitch_weights": normal(WIDTH, 1, scale=0.2),
        "loudness_weights": normal(WIDTH, HARMONICS, scale=0.25),
        "loudness_bias": -np.log2(np.arange(1, HARMONICS + 1)).astype(np.float32) - 2,
        "harmonics": (2 * np.pi * np.arange(1, HARMONICS + 1, dtype=np.float32)).reshape(HARMONICS, 1, 1),
        "positions": (np.arange(FRAME, dtype=np.float32) / RATE).reshape(1, FRAME),
        "length_spread": np.float32(0.3),
        "pitch_middle": np.float32(150),
        "pitch_range": np.float32(60),
        "cycles": np.float64(FRAME / RATE),
        "one": np.float32(1),
        "zero64": np.int64(0),
        "one64": np.int64(1),
        "first": np.array([0], np.int64),
        "second": np.array([1], np.int64),
        "flat": np.array([-1], np.int64),
    }


NODES = [
    # Features of each token: its own embedding, the style, and the embeddings beside it.
    ("Gather", "embedding tokens", "embedded", {}),
    ("MatMul", "style style_weights", "styled", {}),
    ("Add", "embedded styled", "features", {}),
    ("Transpose", "features", "channels", {"perm": [0, 2, 1]}),
    ("Conv", "channels mix", "mixed", {"pads": [2, 2]}),
    ("Tanh", "mixed", "bounded", {}),
    ("Transpose", "bounded", "rows3", {"perm": [0, 2, 1]}),
    ("Squeeze", "rows3 first", "rows", {}),
    # The number of frames of each token.
    ("Gather", "lengths tokens", "usual2", {}),
    ("Squeeze", "usual2 first", "usual", {}),
    ("MatMul", "rows length_weights", "longer2", {}),
    ("Squeeze", "longer2 second", "longer", {}),
    ("Tanh", "longer", "longer_bounded", {}),
    ("Mul", "longer_bounded length_spread", "spread", {}),
    ("Add", "usual spread", "length", {}),
    ("Div", "length speed", "length_at_speed", {}),
    ("Round", "length_at_speed", "rounded", {}),
    ("Max", "rounded one", "at_least_one", {}),
    ("Cast", "at_least_one", "frames", {"to": T.INT64}),
    ("CumSum", "frames zero64", "ends", {}),
    ("Sub", "ends frames", "begins", {}),
    # The token that each frame belongs to.
    ("ReduceSum", "frames", "count", {"keepdims": 0}),
    ("Range", "zero64 count one64", "every", {}),
    ("Unsqueeze", "every second", "every2", {}),
    ("Less", "every2 ends", "before_end", {}),
    ("GreaterOrEqual", "every2 begins", "after_begin", {}),
    ("And", "before_end after_begin", "inside", {}),
    ("Cast", "inside", "alignment", {"to": T.FLOAT}),
    ("MatMul", "alignment rows", "frame_rows", {}),
    # The pitch, and the phase at the start of each frame. Phases are summed as doubles, because engines sum in
    # different orders.
    ("MatMul", "frame_rows pitch_weights", "pitch_raw", {}),
    ("Tanh", "pitch_raw", "pitch_bounded", {}),
    ("Mul", "pitch_bounded pitch_range", "pitch_offset", {}),
    ("Add", "pitch_offset pitch_middle", "pitch", {}),
    ("Cast", "pitch", "pitch_double", {"to": T.DOUBLE}),
    ("Mul", "pitch_double cycles", "turns", {}),
    ("CumSum", "turns zero64", "turned_after", {"exclusive": 1}),
    ("Floor", "turned_after", "whole_turns", {}),
    ("Sub", "turned_after whole_turns", "part_turns", {}),
    ("Cast", "part_turns", "phase_begin", {"to": T.FLOAT}),
    ("Mul", "pitch positions", "phase_within", {}),
    ("Add", "phase_begin phase_within", "phase2", {}),
    ("Unsqueeze", "phase2 first", "phase", {}),
    ("Mul", "phase harmonics", "angles", {}),
    ("Sin", "angles", "waves", {}),
    # The loudness of each harmonic.
    ("MatMul", "frame_rows loudness_weights", "loudness_raw", {}),
    ("Add", "loudness_raw loudness_bias", "loudness_shifted", {}),
    ("Sigmoid", "loudness_shifted", "loudness_rows", {}),
    ("Transpose", "loudness_rows", "loudness_channels", {"perm": [1, 0]}),
    ("Unsqueeze", "loudness_channels last", "loudness", {}),
    ("Mul", "waves loudness", "voices", {}),
    ("ReduceSum", "voices first", "summed", {"keepdims": 0}),
    ("Tanh", "summed", "squashed", {}),
    ("Reshape", "squashed flat", "audio", {}),
]


def model():
    values = constants() | {"last": np.array([2], np.int64)}
    nodes = [h.make_node(op, inputs.split(), [output], **attributes) for op, inputs, output, attributes in NODES]
    inputs = [
        h.make_tensor_value_info("tokens", T.INT64, [1, "n"]),
        h.make_tensor_value_info("style", T.FLOAT, [1, STYLE]),
        h.make_tensor_value_info("speed", T.FLOAT, [1]),
    ]
    outputs = [h.make_tensor_value_info("audio", T.FLOAT, ["m"])]
    graph = h.make_graph(nodes, "tts", inputs, outputs, [nh.from_array(v, k) for k, v in values.items()])
    made = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8, producer_name="retort examples")
    onnx.checker.check_model(made)
    return made


def style_row(seed, row):
    """The same as Voice::seeded: numbers from -1 to 1 by splitmix64; each row starts at its own place in the
    sequence."""
    mask = (1 << 64) - 1
    values = []
    for at in range(STYLE):
        z = (seed + (row * STYLE + at + 1) * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        z ^= z >> 31
        values.append((z >> 40) / (1 << 23) - 1)
    return np.array([values], np.float32)


def wav(samples):
    data = np.round(np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()
    header = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, RATE, 2 * RATE, 2, 16, b"data", len(data))
    return header + data


def main():
    made = model()
    onnx.save(made, os.path.join(HERE, "tts.onnx"))
    # These tokens are həlˈO wˈɜɹld. with voice 7 at speed 1.25.
    tokens = [50, 83, 54, 156, 31, 16, 65, 156, 87, 123, 54, 46, 4]
    given = {"tokens": np.array([[0, *tokens, 0]], np.int64), "style": style_row(7, len(tokens) - 1), "speed": np.array([1.25], np.float32)}
    audio = ReferenceEvaluator(made).run(None, given)[0]
    print(f"{len(made.SerializeToString())} bytes; {audio.shape[0]} samples, from {audio.min():.3f} to {audio.max():.3f}")
    with open(os.path.join(HERE, "expected.wav"), "wb") as file:
        file.write(wav(audio))


main()
