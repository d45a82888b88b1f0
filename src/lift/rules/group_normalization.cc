// GroupNormalization: scale and bias were per group before opset 21, now per channel.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

// Expands [groups] of input i to [groups, channels per group], flattened.
ValueId per_channel(Rewriter& r, size_t i, ValueId wide_shape) {
  const ValueId column = r.add({.type = "Unsqueeze", .inputs = {r.input(i), r.constant({1})}});
  const ValueId wide = r.add({.type = "Expand", .inputs = {column, wide_shape}});
  return r.add({.type = "Reshape", .inputs = {wide, r.constant({-1})}});
}

// The shape [groups, channels / groups], if the number of channels is known only in a run.
ValueId computed_shape(Rewriter& r, int64_t groups) {
  const ValueId channels =
      r.add({.type = "Shape", .inputs = {r.input(0)}, .attributes = {{"start", int64_t(1)}, {"end", int64_t(2)}}});
  const ValueId each = r.add({.type = "Div", .inputs = {channels, r.constant({groups})}});
  return r.add({.type = "Concat", .inputs = {r.constant({groups}), each}, .attributes = {{"axis", int64_t(0)}}});
}

void apply_group_normalization(Rewriter& r) {
  const int64_t groups = r.attributes().get_or<int64_t>("num_groups", 0);
  require(groups > 0, ErrorCode::invalid_graph, "num_groups is {}", groups);
  const bool known = r.type(0).ranked && r.type(0).shape.rank() >= 2 && is_known(r.type(0).shape[1]);
  const int64_t channels = known ? r.type(0).shape[1] : 0;
  require(channels % groups == 0, ErrorCode::invalid_graph, "{} channels in {} groups", channels, groups);
  const ValueId wide = known ? r.constant({groups, channels / groups}) : computed_shape(r, groups);
  for (size_t i : {1, 2}) r.set_input(i, per_channel(r, i, wide));
}

constexpr LiftRule kGroupNormalizationRules[] = {{"GroupNormalization", 21, apply_group_normalization}};

}  // namespace

extern const LiftRules lift_group_normalization;
constinit const LiftRules lift_group_normalization{kGroupNormalizationRules};

}  // namespace retort
