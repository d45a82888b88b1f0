// CausalConvWithState: a depthwise Conv over past and input; the last positions are the new past.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_causal_conv(Rewriter& r) {
  const ValueType w = r.type(1);  // a copy: adding nodes moves the values
  require(w.ranked && w.rank() == 3 && is_known(w.shape[0]) && is_known(w.shape[2]) && w.shape[2] > 0,
          ErrorCode::not_implemented, "the shape of the weights, [channels, 1, k], must be known");
  const int64_t kept = w.shape[2] - 1;
  using Ints = std::vector<int64_t>;
  ValueId x = r.input(0);
  if (r.has(3))
    x = r.add({.type = "Concat", .inputs = {r.input(3), x}, .attributes = {{"axis", int64_t(2)}}});
  else
    x = r.add({.type = "Pad", .inputs = {x, r.constant(Ints{0, 0, kept, 0, 0, 0})}});
  std::vector<ValueId> inputs = {x, r.input(1)};
  if (r.has(2)) inputs.push_back(r.input(2));
  ValueId y = r.add({.type = "Conv", .inputs = inputs, .attributes = {{"group", w.shape[0]}}});
  const std::string activation = r.attributes().get_or<std::string>("activation", "none");
  require(activation == "none" || activation == "silu" || activation == "swish", ErrorCode::invalid_argument,
          "activation \"{}\" is not one of none, silu, swish", activation);
  if (activation != "none") y = r.add({.type = "Swish", .inputs = {y}});
  r.replace_output(0, y);
  if (r.output_used(1)) {
    const Ints first = kept > 0 ? Ints{-kept} : Ints{INT64_MAX};
    r.replace_output(1, r.add({.type = "Slice",
                               .inputs = {x, r.constant(first), r.constant(Ints{INT64_MAX}), r.constant(Ints{2})}}));
  }
  r.remove();
}
constexpr LiftRule kCausalConvRules[] = {{"CausalConvWithState", kAlways, apply_causal_conv}};

}  // namespace

extern const LiftRules lift_causal_conv;
constinit const LiftRules lift_causal_conv{kCausalConvRules};

}  // namespace retort
