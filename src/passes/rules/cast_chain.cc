// Merges Cast(Cast(x)) if the first one is lossless: bool → int32 → float, int32 → int64 → float, float16 → float → …
// Speeds up the mask arithmetic of BERT and GPT-2.
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

// Whether every value of `from` is a value of `to`.
bool lossless(DType from, DType to) {
  const auto bits = [](TypeSet set, DType t) { return contains(set, t) ? dtype_bits(t) : 0; };
  if (from == DType::boolean) return contains(kNumeric, to);
  if (contains(kSigned, from)) return bits(kSigned, to) >= dtype_bits(from);
  if (contains(kUnsigned, from)) return bits(kUnsigned, to) >= dtype_bits(from) || bits(kSigned, to) > dtype_bits(from);
  if (from == DType::f16 || from == DType::bf16) return to == DType::f32 || to == DType::f64;
  return from == DType::f32 && to == DType::f64;
}

std::optional<Patch> match_cast_chain(const Graph& g, const Node& n) {
  const Node* first = producer_of(g, n.inputs[0], "Cast");
  if (!first) return std::nullopt;
  const DType from = g.value(first->inputs[0]).type.dtype, between = g.value(n.inputs[0]).type.dtype;
  if (!lossless(from, between)) return std::nullopt;
  Patch p(g);
  p.replace(n.outputs[0], p.add({.type = "Cast", .inputs = {first->inputs[0]}, .attributes = n.attributes}));
  p.covers({first->id, n.id});
  return p;
}

constexpr Rule kCastChainRules[] = {
    {.name = "cast_chain",
     .root = "Cast",
     .match = match_cast_chain,
     .stages = {RuleStage::cleanup},
     .after = {"noop_cast"}},
};

}  // namespace

extern const Rules rules_cast_chain;
constinit const Rules rules_cast_chain{kCastChainRules};

}  // namespace retort
