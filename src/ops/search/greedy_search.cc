// GreedySearch: continues sequences of tokens with the most likely one in each step, by a model in its graph
// attributes.
#include <algorithm>

#include "ops/search/common/greedy_op.h"

namespace retort::ops {
namespace {

struct GreedySearch : GreedyAttributes {
  static constexpr auto& attributes = GreedyAttributes::attributes;

  void run(RunContext& c) const {
    GreedyRun(c, *this).run([](TokenScores& scores, std::span<int32_t> tokens) {
      for (size_t i = 0; i < tokens.size(); ++i) {
        const auto row = scores.row(i);
        tokens[i] = int32_t(std::max_element(row.begin(), row.end()) - row.begin());
      }
    });
  }
};

}  // namespace

extern const OpDef op_greedy_search;
constinit const OpDef op_greedy_search = define<GreedySearch>({
    .name = "GreedySearch",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input_ids: T", "max_length: T", "min_length: T?", "repetition_penalty: float?", "vocab_mask: T?",
               "prefix_vocab_mask: T?", "attention_mask: T?"},
    .outputs = {"sequences: T"},
    .types = types({DType::i32}),
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
