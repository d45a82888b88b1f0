"""Searches for sequences, with small random decoders as their graphs."""
import numpy as np

import decoders

from . import recipe


def int32(case, values):
    return case.give(np.asarray(values, np.int32), False)


def float32(case, value):
    return case.give(np.asarray([value], np.float32), False)


def optional(case, share, value):
    int32(case, value()) if case.maybe(share) else case.skip()


class Search:
    """What the attributes and inputs of all searches have in common."""

    def __init__(self, case, encodes=False, sound=False):
        self.case, self.g = case, case.numbers.generator
        self.sizes = decoders.Sizes(vocabulary=case.dim(16, 60) if sound else case.dim(8, 40), layers=case.dim(1, 2), heads=case.dim(1, 3), size=case.pick(2, 4, 8),
                                    spread=case.pick(3.0, 6.0), fused=not encodes and case.maybe(0.4), whole=encodes and case.maybe(0.3),
                                    hidden_states=encodes and case.maybe(0.3))
        self.sizes.only_caches = encodes and not sound and not self.sizes.hidden_states and case.maybe(0.3)
        self.batch, self.length = case.dim(1, 3), case.dim(1, 6)
        self.begun = 1 if encodes else self.length
        self.longest = self.begun + case.dim(2, 12)
        self.pad = case.dim(0, 2)
        # A token that the model is likely to end with, or none, so that all steps are taken.
        self.end = case.pick(-1, *self.g.integers(0, self.sizes.vocabulary, 3).tolist())
        case.attr("eos_token_id", self.end), case.attr("pad_token_id", self.pad)
        case.attr("no_repeat_ngram_size", case.dim(1, 3), 0.2)
        case.attr("vocab_size", case.pick(-1, 0, self.sizes.vocabulary), 0.2)
        case.output_types.update({0: "tensor(int32)", 1: "tensor(float)", 2: "tensor(float)", 4: "tensor(float)"})
        case.form = case.pick("fixed", "symbolic")

    def tokens(self, rows, length):
        """Tokens, often with padding before them."""
        made = self.g.integers(0, self.sizes.vocabulary, (rows, length))
        if self.case.maybe(0.4):
            for row in made:
                row[:self.g.integers(0, length + 1)] = self.pad
        return made

    def decoder_only(self):
        self.case.attr("decoder", decoders.gpt(self.sizes, self.g))
        if self.case.maybe(0.15):
            self.case.attr("init_decoder", decoders.gpt(self.sizes, self.g))

    def lengths(self, always=False):
        int32(self.case, self.longest if self.case.maybe() else [self.longest])
        optional(self.case, 1.0 if always else 0.5, lambda: [self.case.dim(0, self.longest)])

    def masks(self, vocabulary=None):
        vocabulary = vocabulary or self.sizes.vocabulary
        optional(self.case, 0.3, lambda: self.g.random(vocabulary) < 0.8)
        optional(self.case, 0.3, lambda: self.g.random((self.batch, vocabulary)) < 0.8)

    def attention_mask(self, share=0.3):
        shown = self.g.random((self.batch, self.length)) < 0.7
        shown[:, -1] = True
        optional(self.case, share, lambda: shown)


def beams(case, search):
    search.lengths(always=True)  # the oracle takes min_length for the required max_length
    count = case.pick(1, 2, 3, 4, 7)
    int32(case, [count]), int32(case, [case.dim(1, count)])
    case.attr("early_stopping", case.dim(0, 1), 0.5)
    float32(case, case.pick(1.0, 1.0, 0.0, 0.5, 2.0, -1.0))
    float32(case, case.pick(1.0, 1.0, 1.5, 0.8)) if case.maybe(0.7) else case.skip()
    search.masks()
    # Steps after the end of all beams are not in the scores.
    scored = case.maybe(0.8)
    case.want(True, scored, scored and search.end < 0 and case.maybe(0.7))


@recipe("com.microsoft:BeamSearch")
def beam_search(case):
    model = case.pick(0, 0, 1)
    search = Search(case, model == 1)
    case.attr("model_type", model, 1 if model else 0.5)
    int32(case, search.tokens(search.batch, search.length))
    if model:
        graphs, _ = decoders.pair(search.sizes, search.g)
        case.attr("encoder", graphs["encoder"]), case.attr("decoder", graphs["decoder"])
        case.attr("decoder_start_token_id", case.dim(0, 5))
    else:
        search.decoder_only()
    beams(case, search)
    search.attention_mask()


@recipe("com.microsoft:WhisperBeamSearch")
def whisper_beam_search(case):
    search = Search(case, True, True)
    s = search.sizes
    given = case.maybe(0.7)
    if given:
        search.begun = case.dim(1, 4)
        search.longest = search.begun + case.dim(2, 10)
    graphs, _ = decoders.pair(s, search.g, sound=True)
    case.attr("encoder", graphs["encoder"]), case.attr("decoder", graphs["decoder"])
    case.attr("decoder_start_token_id", case.dim(0, 5))
    if timestamps := case.maybe(0.4):
        search.end = case.dim(1, s.vocabulary - 1)
        case.attr("eos_token_id", search.end)
    case.input("float", (search.batch, s.features, case.dim(1, 6)), "normal", False)
    beams(case, search)
    case.skip()
    int32(case, search.g.integers(0, s.vocabulary, (search.batch, search.begun))) if given else case.skip()
    if timestamps:
        int32(case, [1])
        case.attr("beginning_timestamp_token_id", case.dim(s.vocabulary // 2, s.vocabulary - 1))
        for name in ("no_timestamps_token_id", "start_of_lm_token_id", "transcribe_token_id", "translate_token_id"):
            case.attr(name, case.dim(0, s.vocabulary - 1), 0.6)
    else:
        case.skip()
    case.skip(), case.skip()
    float32(case, case.pick(0.5, 2.0)) if case.maybe(0.3) else case.skip()


@recipe("com.microsoft:GreedySearch")
def greedy_search(case):
    search = Search(case)
    search.sizes.shared = not search.sizes.fused and case.maybe(0.2)
    search.end = -1  # the oracle leaves what follows the end of all sequences as it was
    case.attr("eos_token_id", search.end)
    search.decoder_only()
    int32(case, search.tokens(search.batch, search.length))
    search.lengths()
    float32(case, case.pick(1.5, 0.8)) if case.maybe(0.3) else case.skip()
    search.masks()
    search.attention_mask()


@recipe("com.microsoft:Sampling")
def sampling(case):
    greedy_search(case)
    vocabulary = case.attributes["decoder"].output[0].type.tensor_type.shape.dim[2].dim_value
    if len(case.inputs) < 7:
        case.skip()
    g, batch = case.numbers.generator, case.inputs[0].value.shape[0]
    # At 0 and 1 the last places of a sum decide.
    case.attr("custom", case.dim(0, 1), 0.4), case.attr("top_p", case.pick(0.3, 0.6, 0.9))
    case.attr("temperature", case.pick(0.5, 2.0), 0.3), case.attr("min_tokens_to_keep", case.dim(0, 3), 0.4)
    case.attr("filter_value", case.pick(-1000.0, -1.0), 0.2)
    presence = case.maybe(0.3)
    if presence:
        case.attr("presence_penalty", 2.0)
    optional(case, 1.0 if presence else 0.0, lambda: g.integers(0, 2, (batch, vocabulary)))
    optional(case, 0.7, lambda: [case.dim(0, 10 ** 6)])
    case.want(True)
