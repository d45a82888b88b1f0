// BeamSearch: finds the most likely sequences of tokens with a model in its graph attributes. Each entry of the batch
// has several beams, the best sequences so far; in each step all of them go on, and the best continuations are kept.
#include "ops/search/common/beam_op.h"

namespace retort::ops {
namespace {

struct BeamSearch : BeamAttributes {
  int64_t model_type = 0;
  static constexpr std::tuple attributes =
      std::tuple_cat(BeamAttributes::attributes, std::tuple{attr("model_type", &BeamSearch::model_type)});

  void check() const {
    require(model_type >= 0 && model_type <= 2, ErrorCode::invalid_argument,
            "model_type is {}, expected 0 (decoder only), 1 (encoder of text) or 2 (encoder of sound)", model_type);
  }
  SearchModel model() const { return SearchModel(model_type); }
  void infer(InferContext& c) const { BeamAttributes::infer(c, model()); }
  void run(RunContext& c) const {
    const BeamExtras none;
    BeamRun(c, *this, model(), none).run();
  }
};

}  // namespace

extern const OpDef op_beam_search;
constinit const OpDef op_beam_search = define<BeamSearch>({
    .name = "BeamSearch",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input_ids: T", "max_length: int32", "min_length: int32?", "num_beams: int32",
               "num_return_sequences: int32", "length_penalty: U?", "repetition_penalty: U?", "vocab_mask: int32?",
               "prefix_vocab_mask: int32?", "attention_mask: int32?", "decoder_input_ids: int32?",
               "logits_processor: int32?"},
    .outputs = {"sequences: int32", "sequences_scores: U?", "scores: U?"},
    .types = types({DType::i32, DType::f32, DType::f16}),
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
