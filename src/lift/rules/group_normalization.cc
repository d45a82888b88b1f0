// GroupNormalization: scale and bias were per group before opset 21, now per channel.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

ValueId per_channel(Rewriter& r, size_t i, int64_t groups, int64_t channels) {
  const ValueId column = r.add({.type = "Unsqueeze", .inputs = {r.input(i), r.constant({1})}});
  const ValueId wide = r.add({.type = "Expand", .inputs = {column, r.constant({groups, channels / groups})}});
  return r.add({.type = "Reshape", .inputs = {wide, r.constant({channels})}});
}

void apply(Rewriter& r) {
  const int64_t groups = r.attributes().get_or<int64_t>("num_groups", 0);
  require(r.rank(0, "the number of channels") >= 2 && is_known(r.type(0).shape[1]), ErrorCode::invalid_graph,
          "the number of channels must be known; give input 0 a static channel extent");
  const int64_t channels = r.type(0).shape[1];
  require(groups > 0 && channels % groups == 0, ErrorCode::invalid_graph, "{} channels in {} groups", channels, groups);
  for (size_t i : {1, 2}) r.set_input(i, per_channel(r, i, groups, channels));
}

constexpr LiftRule kRules[] = {{"GroupNormalization", 21, apply}};

}  // namespace

extern const LiftRules lift_group_normalization;
constinit const LiftRules lift_group_normalization{kRules};

}  // namespace retort
