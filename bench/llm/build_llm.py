#!/usr/bin/env python3
"""Makes the folder of a language model from a GGUF file of the Llama kind: ONNX model, tokenizer, configuration.

    build_llm.py FILE.gguf OUT [FORM...] [--positions N]

Writes, bit for bit the same everywhere, OUT/FORM for each FORM (decoder.py describes them; default: all):

    model.onnx             inputs and outputs as onnxruntime-genai names them; the logits are those of the last position
    tokenizer.json         for the library tokenizers, and the programs of examples/chat
    tokenizer_config.json  the chat template
    genai_config.json      sizes, numbers of special tokens, names of inputs; for onnxruntime-genai, and the same programs
"""
import argparse
import json
import os

import numpy as np

import decoder
import gguf_file
from tokenizer_files import tokenizer, tokenizer_config

VECTORS = {"input_norm": "attn_norm", "post_norm": "ffn_norm"}
MATRICES = {"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output", "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}


def sizes_of(file, positions):
    facts = file.facts
    if facts["general.architecture"] != "llama":
        raise SystemExit(f"the model is of the kind {facts['general.architecture']!r}; this builder knows 'llama'")
    extra = [name for name in file.names() if name.endswith(".bias") or name.startswith(("output.", "rope_"))]
    if extra:
        raise SystemExit(f"the model has the tensors {extra[:3]}: biases, a head of its own and scaled rotations are not known here")

    def fact(name):
        return facts["llama." + name]

    most = fact("context_length")
    return decoder.Sizes(layers=fact("block_count"), width=fact("embedding_length"), heads=fact("attention.head_count"),
                         kv_heads=fact("attention.head_count_kv"), inner=fact("feed_forward_length"), vocabulary=len(facts["tokenizer.ggml.tokens"]),
                         positions=min(most, positions or most), rope_base=fact("rope.freq_base"), epsilon=fact("attention.layer_norm_rms_epsilon"))


def halves_apart(rows, heads):
    """The order of the rows of Q or K in which a head's rotated pairs are half a head apart: in the file they are neighbours."""
    return np.arange(rows).reshape(heads, -1, 2).swapaxes(1, 2).reshape(-1)


def weights_of(file, sizes):
    """The function that decoder.build() asks for weights."""
    def weights(name):
        if name in ("embedding", "final_norm"):
            return file.tensor({"embedding": "token_embd.weight", "final_norm": "output_norm.weight"}[name])
        _, layer, part = name.split(".")
        tensor = file.tensor(f"blk.{layer}.{VECTORS.get(part) or MATRICES[part]}.weight")
        if part not in ("q", "k"):
            return tensor
        order = halves_apart(tensor.shape[0], sizes.heads if part == "q" else sizes.kv_heads)
        return tensor.rows(order) if isinstance(tensor, gguf_file.Matrix) else tensor[order]
    return weights


def genai_config(file, sizes):
    names = {"past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value"}
    token = {name: file.facts[f"tokenizer.ggml.{name}_token_id"] for name in ("bos", "eos")}
    padding = file.facts.get("tokenizer.ggml.padding_token_id", token["eos"])
    return {
        "model": {
            "type": "llama", "bos_token_id": token["bos"], "eos_token_id": token["eos"], "pad_token_id": padding,
            "context_length": sizes.positions, "vocab_size": sizes.vocabulary,
            "decoder": {
                "session_options": {"log_id": "onnxruntime-genai", "provider_options": []}, "filename": "model.onnx", "head_size": sizes.head,
                "hidden_size": sizes.width, "num_attention_heads": sizes.heads, "num_hidden_layers": sizes.layers,
                "num_key_value_heads": sizes.kv_heads, "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask", **names},
                "outputs": {"logits": "logits", "present_key_names": "present.%d.key", "present_value_names": "present.%d.value"}}},
        "search": {"do_sample": False, "max_length": sizes.positions, "past_present_share_buffer": True, "top_k": 1}}


def write_json(path, content):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(content, f, ensure_ascii=False, indent=1)


def build(path, out, forms=tuple(decoder.FORMS), positions=0):
    file = gguf_file.File(path)
    sizes = sizes_of(file, positions)
    weights = weights_of(file, sizes)
    for form in forms:
        folder = os.path.join(out, form)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "model.onnx"), "wb") as f:
            f.write(decoder.build(sizes, weights, form).SerializeToString(deterministic=True))
        write_json(os.path.join(folder, "tokenizer.json"), tokenizer(file.facts))
        write_json(os.path.join(folder, "tokenizer_config.json"), tokenizer_config(file.facts))
        write_json(os.path.join(folder, "genai_config.json"), genai_config(file, sizes))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("file")
    ap.add_argument("out")
    ap.add_argument("forms", nargs="*", default=list(decoder.FORMS), metavar="FORM")
    ap.add_argument("--positions", type=int, default=0, help="the longest sequence; by default that of the file")
    a = ap.parse_args()
    unknown = set(a.forms) - set(decoder.FORMS)
    if unknown:
        ap.error(f"no form {', '.join(sorted(unknown))}; there are {', '.join(decoder.FORMS)}")
    build(a.file, a.out, a.forms, a.positions)


if __name__ == "__main__":
    main()
