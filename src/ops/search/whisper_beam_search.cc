// WhisperBeamSearch: the beam search of speech models. Input 0 are features of sound; the decoder may begin with several
// tokens, and the tokens of timestamps may follow rules of their own.
#include "ops/search/common/beam_op.h"

namespace retort::ops {
namespace {

struct WhisperBeamSearch : BeamAttributes {
  int64_t model_type = 2, first_timestamp = -1, cross_attention = 0, no_speech = -1, no_timestamps = -1;
  int64_t start_of_lm = -1, transcribe = -1, translate = -1;
  using Self = WhisperBeamSearch;
  static constexpr std::tuple attributes = std::tuple_cat(
      BeamAttributes::attributes,
      std::tuple{attr("beginning_timestamp_token_id", &Self::first_timestamp),
                 attr("decoder_output_cross_qk", &Self::cross_attention), attr("model_type", &Self::model_type),
                 attr("no_speech_token_id", &Self::no_speech), attr("no_timestamps_token_id", &Self::no_timestamps),
                 attr("start_of_lm_token_id", &Self::start_of_lm), attr("transcribe_token_id", &Self::transcribe),
                 attr("translate_token_id", &Self::translate)});
  enum MoreInputs : size_t { kCrossHeads = 12, kExtraTokens, kTemperature };
  enum MoreOutputs : size_t { kCrossAttention = 3, kNoSpeech };

  void check() const {
    require(model_type == 2, ErrorCode::invalid_argument, "model_type is {}, expected 2 (encoder of sound)",
            model_type);
  }
  void infer(InferContext& c) const {
    require(!c.wants(kCrossAttention) || cross_attention != 0, ErrorCode::invalid_graph,
            "output cross_qk needs a decoder that returns products of queries and keys; set decoder_output_cross_qk, "
            "or remove the output");
    BeamAttributes::infer(c, SearchModel::sound);
    if (!c.node()) return;
    const Dim batch = c.shape(kContent)[0];
    c.set(kCrossAttention, DType::f32,
          {batch, extent_of(c, kReturned), c.unknown_extent(), c.unknown_extent(), c.unknown_extent()});
    c.set(kNoSpeech, DType::f32, {batch});
  }
  void run(RunContext& c) const {
    const SearchInputs in(c);
    if (in.has(kExtraTokens)) {
      const Shape& s = in.shape(kExtraTokens);
      require(s.rank() == 2 && s[0] == c.shape(kContent)[0], ErrorCode::invalid_argument,
              "extra_decoding_ids has shape {}, expected [{}, any]", s, c.shape(kContent)[0]);
    }
    const BeamExtras extras{.temperature = in.real(kTemperature, "temperature", 1),
                            .timestamps = {.end_of_text = end,
                                           .start_of_transcript = start,
                                           .translate = translate,
                                           .transcribe = transcribe,
                                           .start_of_lm = start_of_lm,
                                           .no_timestamps = no_timestamps,
                                           .first = first_timestamp},
                            .no_speech = no_speech,
                            .no_speech_output = kNoSpeech,
                            .cross_attention = cross_attention != 0,
                            .forced_input = kExtraTokens,
                            .heads_input = kCrossHeads,
                            .cross_attention_output = kCrossAttention};
    BeamRun(c, *this, SearchModel::sound, extras).run();
  }
};

}  // namespace

extern const OpDef op_whisper_beam_search;
constinit const OpDef op_whisper_beam_search = define<WhisperBeamSearch>({
    .name = "WhisperBeamSearch",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input_ids: T", "max_length: int32", "min_length: int32?", "num_beams: int32",
               "num_return_sequences: int32", "length_penalty: U?", "repetition_penalty: U?", "vocab_mask: int32?",
               "prefix_vocab_mask: int32?", "attention_mask: int32?", "decoder_input_ids: int32?",
               "logits_processor: int32?", "cross_qk_layer_head: int32?", "extra_decoding_ids: int32?",
               "temperature: U?"},
    .outputs = {"sequences: int32", "sequences_scores: U?", "scores: U?", "cross_qk: float?", "non_speech_probs: U?"},
    .types = types({DType::i32, DType::f32, DType::f16}),
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
