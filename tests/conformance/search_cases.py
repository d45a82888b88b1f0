#!/usr/bin/env python3
"""Cases of the operators that search for token sequences, which onnx does not have: small random decoders of
tools/fuzzing/decoders.py, and what official ONNX Runtime found with them. export_cases.py writes them beside those of
onnx.

    python search_cases.py --update     rewrites search_cases.json with what the installed package onnxruntime finds
"""
import json
import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, os.pardir, "tools", "fuzzing"))
import decoders  # noqa: E402

FOUND = os.path.join(HERE, "search_cases.json")
MICROSOFT = "com.microsoft"
TYPES = {"sequences": TensorProto.INT32}
SCORES = ("sequences", "sequences_scores", "scores")
RTOL, ATOL = 1e-4, 1e-4


def ints(*values):
    return np.array(values, np.int32)


def floats(*values):
    return np.array(values, np.float32)


def tokens(random, rows, length, pad=None):
    """Tokens of the vocabulary; with `pad`, each row but the first begins with one."""
    made = random.randint(3, 20, (rows, length)).astype(np.int32)
    if pad is not None:
        made[1:, 0] = pad
    return made


def shown(random, *shape):
    return (random.uniform(size=shape) < 0.8).astype(np.int32)


def greedy(random, **sizes):
    return "GreedySearch", {"decoder": decoders.gpt(decoders.Sizes(layers=2, **sizes), random)}, [tokens(random, 3, 4, 0), ints(14)], ["sequences"]


def greedy_rules(random):
    graph = decoders.gpt(decoders.Sizes(fused=True), random)
    inputs = [tokens(random, 2, 4, 0), ints(16), ints(10), floats(1.3), shown(random, 24), shown(random, 2, 24), ints(0, 1, 1, 1, 1, 1, 0, 1).reshape(2, 4)]
    return "GreedySearch", {"decoder": graph, "no_repeat_ngram_size": 2}, inputs, ["sequences"]


def sampling(random):
    graph = decoders.gpt(decoders.Sizes(spread=2.0), random)
    return "Sampling", {"decoder": graph, "top_p": 0.9, "temperature": 1.5}, [tokens(random, 3, 3), ints(20), *[None] * 6, ints(1234)], ["sequences"]


def sampling_custom(random):
    graph = decoders.gpt(decoders.Sizes(spread=2.0), random)
    inputs = [tokens(random, 2, 3), ints(15), ints(4), floats(1.2), shown(random, 24), None, None, None, ints(7)]
    return "Sampling", {"decoder": graph, "custom": 1, "top_p": 0.8}, inputs, ["sequences"]


def beam_inputs(content, longest, beams, returned, *more, shortest=1, length_penalty=1.0):
    return [content, ints(longest), ints(shortest), ints(beams), ints(returned), floats(length_penalty), *more]


def beams(random, **sizes):
    return "BeamSearch", {"decoder": decoders.gpt(decoders.Sizes(layers=2, **sizes), random)}, beam_inputs(tokens(random, 2, 4), 12, 4, 3), SCORES[:2] if sizes else SCORES


def beams_beamed(random):
    """As beams(), with a decoder that reads rows of other beams; another graph reads the first tokens."""
    sizes, weights = decoders.Sizes(layers=2, beamed=True), {}
    graphs = {"decoder": decoders.gpt(sizes, random, weights), "init_decoder": decoders.gpt(sizes, random, weights, first=True)}
    return "BeamSearch", graphs, beam_inputs(tokens(random, 2, 4), 12, 4, 3), SCORES[:2]


def beams_end(random):
    """An end that beams reach, and a decoder for the first step."""
    graphs = {"decoder": decoders.gpt(decoders.Sizes(spread=2.0), random), "init_decoder": decoders.gpt(decoders.Sizes(spread=2.0), random)}
    return "BeamSearch", {**graphs, "eos_token_id": 5, "early_stopping": 1}, beam_inputs(tokens(random, 3, 3, 0), 16, 3, 2, length_penalty=0.5), SCORES[:2]


def beams_rules(random):
    graph = decoders.gpt(decoders.Sizes(fused=True, spread=3.0), random)
    inputs = beam_inputs(tokens(random, 2, 4, 0), 14, 3, 1, floats(1.5), shown(random, 24), shown(random, 2, 24), shown(random, 2, 4) | ints(0, 0, 0, 1), shortest=9)
    return "BeamSearch", {"decoder": graph, "no_repeat_ngram_size": 3, "eos_token_id": 5}, inputs, SCORES[:2]


def text(random, *more, **sizes):
    graphs, weights = decoders.pair(decoders.Sizes(**sizes), random)
    attributes = {**graphs, "model_type": 1, "decoder_start_token_id": 2}
    return "BeamSearch", attributes, beam_inputs(tokens(random, 2, 5, 0), 12, 3, 2, *more), SCORES[:2], weights


def sound(random, processor=None, shared=False, beamed=False, cross=False, heads=None, forced=None, by_mask=False, **more):
    graphs, weights = decoders.pair(decoders.Sizes(layers=2, spread=3.0, shared=shared, beamed=beamed, cross=cross), random, sound=True)
    features = random.standard_normal((2, 5, 6)).astype(np.float32)
    inputs = beam_inputs(features, 12, 3, 2, None, None, None, None, tokens(random, 2, 3), processor, heads, forced)
    if forced is not None:
        if by_mask:
            inputs[8], inputs[13] = (np.arange(24) == forced).astype(np.int32), None
        return "WhisperBeamSearch", {**graphs, "decoder_start_token_id": 2}, inputs, SCORES[:1], weights
    if cross:
        return "WhisperBeamSearch", {**graphs, "decoder_start_token_id": 2, "decoder_output_cross_qk": 1, **more}, inputs, ("sequences", "", "", "cross_qk"), weights
    few = shared or beamed or processor is not None
    return "WhisperBeamSearch", {**graphs, "decoder_start_token_id": 2, **more}, inputs, SCORES[:2] if few else SCORES, weights


CASES = {
    "greedy": greedy,
    "greedy_rules": greedy_rules,
    "sampling": sampling,
    "sampling_custom": sampling_custom,
    "beams": beams,
    "beams_end": beams_end,
    "beams_rules": beams_rules,
    "text": lambda r: text(r, layers=2, hidden_states=True),
    "text_whole": lambda r: text(r, floats(1.2), whole=True, outer=True),
    "text_only_caches": lambda r: text(r, layers=2, only_caches=True),
    "whisper": sound,
    "whisper_timestamps": lambda r: sound(r, ints(1), eos_token_id=12, beginning_timestamp_token_id=14, no_timestamps_token_id=13),
}
# Caches of full length change no result. Official ONNX Runtime stores those of beams in another order, and tells decoders
# with an encoder the same past length in every step; results are those that it finds without such caches.
SHARED = {"greedy_shared": greedy, "beams_shared": beams, "text_shared": lambda r, **more: text(r, layers=2, **more), "whisper_shared": sound}
CASES.update({name: lambda r, case=case: case(r, shared=True) for name, case in SHARED.items()})
# Nor do caches that stay where they are when beams change, for which official ONNX Runtime reads memory that nothing wrote.
BEAMED = {"beams_beamed": beams, "text_beamed": lambda r, **more: text(r, layers=2, **more), "whisper_beamed": sound}
CASES.update({name: lambda r, case=case: beams_beamed(r) if case is beams else case(r, beamed=True) for name, case in BEAMED.items()})
# Its processor kernel refuses the products of queries and keys. Those of its sequences are computed token by token.
CROSS = {"whisper_cross": {}, "whisper_cross_heads": {"heads": ints(1, 0, 0, 1, 1, 1).reshape(3, 2), "beamed": True}}
CASES.update({name: lambda r, more=more: sound(r, cross=True, **more) for name, more in CROSS.items()})
# The official library ignores tokens that are forced. One of them is as a first token that a mask leaves alone.
FORCED = np.array([[4], [7]], np.int32)
CASES["whisper_forced"] = lambda r: sound(r, forced=FORCED)
PLAIN = {**SHARED, **BEAMED, **dict.fromkeys(CROSS, sound), "whisper_forced": lambda r: sound(r, forced=FORCED, by_mask=True)}


def build(name, make=None):
    """(model, inputs) of a case, or of what `make` makes with the same weights; the same for every version of numpy."""
    random = np.random.RandomState(list(CASES).index(name) + 1)
    operator, attributes, inputs, outputs, *weights = (make or CASES[name])(random)
    attributes = {"eos_token_id": -1, "pad_token_id": 0, **attributes}
    # The first name is also one of an input of the graphs, as in models that are exported with ONNX Runtime's tools.
    names = [(f"x{i}" if i else "input_ids") if value is not None else "" for i, value in enumerate(inputs)]
    node = helper.make_node(operator, names, list(outputs), "search", domain=MICROSOFT, **attributes)
    given = {n: value for n, value in zip(names, inputs) if n}
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for n, value in given.items()]
    results = [helper.make_tensor_value_info(o, TYPES.get(o, TensorProto.FLOAT), None) for o in outputs if o]
    read = {i for graph in (attributes.get("decoder"), attributes.get("encoder")) if graph for n in graph.node for i in n.input}
    outer = [numpy_helper.from_array(a, n) for n, a in (weights[0] if weights else {}).items() if n == "embedding" and n in read and not any(
        n in {t.name for t in attributes[g].initializer} for g in ("encoder", "decoder"))]
    graph = helper.make_graph([node], name, infos, results, outer)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)], ir_version=9), given


def found():
    """{case: [results]}"""
    with open(FOUND, encoding="utf-8") as f:
        stored = json.load(f)
    return {name: [np.array(values, np.int32 if kind == "i" else np.float32) for kind, values in results] for name, results in stored.items()}


def cases():
    """(name, model, inputs, results) of all cases."""
    results = found()
    for name in CASES:
        model, inputs = build(name)
        yield name, model, inputs, results[name]


def products(inputs, graphs, sequences, heads):
    """What a decoder returns about the attention of each token of `sequences`, [batch, returned, tokens], but those that the encoder reads and the
    last: [batch, returned, heads, tokens, frames]."""
    import onnxruntime
    encoder, decoder = [onnxruntime.InferenceSession(helper.make_model(g, opset_imports=[helper.make_opsetid("", 18)], ir_version=9).SerializeToString(),
                                                     providers=["CPUExecutionProvider"]) for g in graphs]
    names = [i.name for i in decoder.get_inputs()]

    def of(features, sequence, begun):
        _, hidden, *caches = encoder.run(None, {"encoder_input_ids": features[None], "decoder_input_ids": sequence[None, :begun]})
        layers, found = len(caches) // 4, []
        for token in sequence[begun:-1]:
            given = [np.array([[token]], np.int32), *([hidden] if "encoder_hidden_states" in names else []), *caches]
            _, *results = decoder.run(None, dict(zip(names, given)))
            caches[:2 * layers] = results[:2 * layers]
            found.append([qk[0, :, 0] for qk in results[2 * layers:]])
        chosen = np.array(found)  # [tokens, layers, heads, frames]
        chosen = chosen.reshape(len(found), -1, chosen.shape[-1]) if heads is None else chosen[:, heads[:, 0], heads[:, 1]]
        return chosen.transpose(1, 0, 2)

    features, begun = inputs["input_ids"], inputs["x10"].shape[1]
    return np.array([[of(features[i], s, begun) for s in returned] for i, returned in enumerate(sequences)])


def results_of(name):
    """What official ONNX Runtime finds, with a decoder that it runs correctly."""
    import onnxruntime
    model, inputs = build(name, PLAIN.get(name))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = [o.name for o in build(name)[0].graph.output]
    results = session.run([n for n in wanted if n != "cross_qk"], inputs)
    if name in CROSS:
        attributes = {a.name: a.g for a in build(name, lambda r: sound(r, cross=True))[0].graph.node[0].attribute}
        results.append(products(inputs, (attributes["encoder"], attributes["decoder"]), results[0], CROSS[name].get("heads")))
    return results


def update():
    stored = {}
    for name in CASES:
        stored[name] = [("i", r.tolist()) if r.dtype == np.int32 else ("f", np.round(r.astype(np.float64), 5).tolist()) for r in results_of(name)]
    with open(FOUND, "w", encoding="utf-8") as f:
        f.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in stored.items()) + "\n}\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    update()
