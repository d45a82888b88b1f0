"""The tokenizer of a GGUF file in the files that other libraries read."""
# Kinds of tokens in a GGUF file.
CONTROL, USER_DEFINED = 3, 4
# How texts are split before pairs are merged, by the name that the file gives.
SPLITS = {
    "smollm": [{"type": "Digits", "individual_digits": True},
               {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}],
    "gpt-2": [{"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}],
}


def tokenizer(facts):
    """The contents of tokenizer.json."""
    kind, split = facts["tokenizer.ggml.model"], facts.get("tokenizer.ggml.pre", "gpt-2")
    if kind != "gpt2" or split not in SPLITS:
        raise SystemExit(f"the tokenizer is {kind!r} with the split {split!r}; this builder knows 'gpt2' with {', '.join(map(repr, SPLITS))}")
    tokens, kinds = facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.token_type"]
    added = [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": kinds[i] == CONTROL}
             for i, token in enumerate(tokens) if kinds[i] in (CONTROL, USER_DEFINED)]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": SPLITS[split]}, "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": {token: i for i, token in enumerate(tokens)},
                  "merges": facts["tokenizer.ggml.merges"]}}


def tokenizer_config(facts):
    """The contents of tokenizer_config.json."""
    tokens = facts["tokenizer.ggml.tokens"]

    def token(name):
        return tokens[facts[f"tokenizer.ggml.{name}_token_id"]]

    return {"tokenizer_class": "GPT2Tokenizer", "bos_token": token("bos"), "eos_token": token("eos"), "add_prefix_space": False,
            "clean_up_tokenization_spaces": False, "chat_template": facts.get("tokenizer.chat_template", ""),
            "model_max_length": facts["llama.context_length"]}
