// CausalConvWithState: a depthwise Conv over past and input; the last positions are the new past.
#include <optional>

#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

// The extent of an axis of input i, which has three; nothing if it is not known.
std::optional<int64_t> extent(Rewriter& r, size_t i, size_t axis) {
  if (!r.has(i) || !r.type(i).ranked) return std::nullopt;
  require(r.type(i).rank() == 3, ErrorCode::invalid_graph, "input {} has {} axes, expected 3", i, r.type(i).rank());
  const Dim d = r.type(i).shape[axis];
  return is_known(d) ? std::optional(d) : std::nullopt;
}

// The number of channels: an attribute of Conv, so it must be known.
int64_t channels(Rewriter& r) {
  for (const auto& [input, axis] : {std::pair<size_t, size_t>{1, 0}, {0, 1}, {3, 1}}) {
    if (const auto count = extent(r, input, axis)) return *count;
  }
  fail(ErrorCode::not_implemented,
       "the number of channels must be known; declare the shape of the input or the weights");
}

// How many positions before a result it depends on, [1], if only a run tells the size of the weights.
ValueId computed_reach(Rewriter& r) {
  const ValueId taps =
      r.add({.type = "Shape", .inputs = {r.input(1)}, .attributes = {{"start", int64_t(2)}, {"end", int64_t(3)}}});
  return r.add({.type = "Sub", .inputs = {taps, r.constant(Ints{1})}});
}

// The input after the past, or after zeros. `reach` is none if `taps` is known.
ValueId with_past(Rewriter& r, std::optional<int64_t> taps, ValueId reach) {
  const ValueId x = r.input(0);
  if (r.has(3)) return r.add({.type = "Concat", .inputs = {r.input(3), x}, .attributes = {{"axis", int64_t(2)}}});
  if (taps) return r.add({.type = "Pad", .inputs = {x, r.constant(Ints{0, 0, *taps - 1, 0, 0, 0})}});
  const ValueId pads = r.add({.type = "Concat",
                              .inputs = {r.constant(Ints{0, 0}), reach, r.constant(Ints{0, 0, 0})},
                              .attributes = {{"axis", int64_t(0)}}});
  return r.add({.type = "Pad", .inputs = {x, pads}});
}

// The last positions of x, as many as `with_past` put before the input.
ValueId new_past(Rewriter& r, ValueId x, std::optional<int64_t> taps, ValueId reach) {
  const ValueId end = r.constant(Ints{INT64_MAX}), axis = r.constant(Ints{2});
  if (taps)
    return r.add({.type = "Slice", .inputs = {x, r.constant(Ints{*taps > 1 ? 1 - *taps : INT64_MAX}), end, axis}});
  const ValueId length =
      r.add({.type = "Shape", .inputs = {x}, .attributes = {{"start", int64_t(2)}, {"end", int64_t(3)}}});
  const ValueId first = r.add({.type = "Sub", .inputs = {length, reach}});
  return r.add({.type = "Slice", .inputs = {x, first, end, axis}});
}

void apply_causal_conv(Rewriter& r) {
  const int64_t group = channels(r);
  const std::optional<int64_t> taps = extent(r, 1, 2);
  require(taps.value_or(1) > 0, ErrorCode::invalid_graph, "the weights have no taps");
  const ValueId reach = taps ? ValueId::none : computed_reach(r), x = with_past(r, taps, reach);
  std::vector<ValueId> inputs = {x, r.input(1)};
  if (r.has(2)) inputs.push_back(r.input(2));
  ValueId y = r.add({.type = "Conv", .inputs = inputs, .attributes = {{"group", group}}});
  const std::string activation = r.attributes().get_or<std::string>("activation", "none");
  require(activation == "none" || activation == "silu" || activation == "swish", ErrorCode::invalid_argument,
          "activation \"{}\" is not one of none, silu, swish", activation);
  if (activation != "none") y = r.add({.type = "Swish", .inputs = {y}});
  r.replace_output(0, y);
  if (r.output_used(1)) r.replace_output(1, new_past(r, x, taps, reach));
  r.remove();
}
constexpr LiftRule kCausalConvRules[] = {{"CausalConvWithState", kAlways, apply_causal_conv}};

}  // namespace

extern const LiftRules lift_causal_conv;
constinit const LiftRules lift_causal_conv{kCausalConvRules};

}  // namespace retort
