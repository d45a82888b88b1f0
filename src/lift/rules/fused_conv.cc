// com.microsoft.FusedConv: a Conv, the addition of a tensor Z and an activation, from models that ONNX Runtime has
// optimised; com.microsoft.NhwcFusedConv: the same with channels last, but weights in their usual order. The separate
// operators are fused again by this engine's passes.
#include "base/error.h"
#include "lift/expect.h"
#include "lift/fused_activation.h"

namespace retort {
namespace {

// The result for x and z, which may be none, in the order of channels first.
ValueId convolved(Rewriter& r, ValueId x, ValueId z) {
  const auto name = r.attributes().get_or<std::string>("activation", "");
  const auto parameters = r.attributes().get_or<std::vector<float>>("activation_params", {});
  r.erase({"activation", "activation_params"});
  expect_input(r, 2, "B", 1, {extent_of(0)});
  std::vector<ValueId> inputs = {x, r.input(1)};
  if (r.has(2)) inputs.push_back(r.input(2));
  ValueId y = r.add({.type = "Conv", .inputs = inputs, .attributes = r.attributes()});
  if (z != ValueId::none) y = r.add({.type = "Add", .inputs = {y, expect(r, z, "Z", y)}});
  return activated(r, y, name, parameters);
}

void apply_fused_conv(Rewriter& r) {
  r.replace_output(0, convolved(r, r.input(0), r.input(3)));
  r.remove();
}

// Brings X and Z into the order of channels first, and Y back.
void apply_nhwc_fused_conv(Rewriter& r) {
  const auto rank = int64_t(r.rank(0, "NhwcFusedConv"));
  require(rank >= 3, ErrorCode::invalid_argument, "X has {} axes, expected 3 or more", rank);
  std::vector<int64_t> first = {0, rank - 1}, last = {0};
  for (int64_t i = 1; i + 1 < rank; ++i) first.push_back(i);
  for (int64_t i = 2; i < rank; ++i) last.push_back(i);
  last.push_back(1);
  const ValueId z = r.has(3) ? transpose(r, r.input(3), first) : ValueId::none;
  r.replace_output(0, transpose(r, convolved(r, transpose(r, r.input(0), first), z), last));
  r.remove();
}

constexpr LiftRule kFusedConvRules[] = {{"FusedConv", kAlways, apply_fused_conv, "com.microsoft"},
                                        {"NhwcFusedConv", kAlways, apply_nhwc_fused_conv, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_fused_conv;
constinit const LiftRules lift_fused_conv{kFusedConvRules};

}  // namespace retort
