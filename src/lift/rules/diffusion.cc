// Operators of com.microsoft for image generation: BiasAdd, GroupNorm and SkipGroupNorm.
#include "base/error.h"
#include "lift/expect.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

ValueId add(Rewriter& r, ValueId a, ValueId b) { return r.add({.type = "Add", .inputs = {a, b}}); }

void apply_bias_add(Rewriter& r) {
  require(!r.type(0).ranked || r.type(0).rank() == 3, ErrorCode::invalid_argument, "X has {} axes, expected 3",
          r.type(0).rank());
  const ValueId x = r.input(0), bias = expect(r, r.input(1), "bias", x, {extent_of(2)});
  r.replace_output(0, add(r, add(r, x, bias), expect(r, r.input(2), "skip", x)));
  r.remove();
}

// The norm of x, in its layout.
ValueId group_norm(Rewriter& r, ValueId x) {
  const int64_t groups = r.attributes().get_or<int64_t>("groups", 0);
  const int64_t activation = r.attributes().get_or<int64_t>("activation", -1);
  require(groups > 0, ErrorCode::invalid_argument, "groups is {}, expected a positive number", groups);
  require(activation == 0 || activation == 1, ErrorCode::invalid_argument, "activation is {}, expected 0 or 1",
          activation);
  require(r.rank(0, "GroupNorm") == 4, ErrorCode::invalid_argument, "X has {} axes, expected 4", r.type(0).rank());
  const bool last = r.attributes().get_or<int64_t>("channels_last", 1) != 0;
  std::vector<ValueId> inputs = {last ? transpose(r, x, {0, 3, 1, 2}) : x};
  for (const size_t i : {1, 2}) inputs.push_back(r.add({.type = "CastLike", .inputs = {r.input(i), x}}));
  ValueId y =
      r.add({.type = "GroupNormalization",
             .inputs = inputs,
             .attributes = {{"num_groups", groups}, {"epsilon", r.attributes().get_or<float>("epsilon", 1e-5f)}}});
  if (activation == 1) y = r.add({.type = "Swish", .inputs = {y}});
  return last ? transpose(r, y, {0, 2, 3, 1}) : y;
}

void apply_group_norm(Rewriter& r) {
  r.replace_output(0, group_norm(r, r.input(0)));
  r.remove();
}

// The skip of four axes, of which those of height and width, from `height` on, may both have extent 1. If only a run tells
// them, the sum must have the shape of X.
ValueId with_whole_skip(Rewriter& r, size_t height) {
  const ValueId x = r.input(0);
  const Dim h = r.type(3).shape[height], w = r.type(3).shape[height + 1];
  Extents extents{extent_of(0), extent_of(1), extent_of(2), extent_of(3)};
  const bool either = !is_known(h) || !is_known(w) || (h == 1 && w == 1);
  if (either) extents[height] = extents[height + 1] = kAnyExtent;
  return expect(r, add(r, x, expect(r, r.input(3), "skip", x, extents)), "the sum of X and skip", x);
}

void apply_skip_group_norm(Rewriter& r) {
  const bool last = r.attributes().get_or<int64_t>("channels_last", 1) != 0;
  const int64_t channels = extent_of(last ? 3 : 1);
  // Adds axes of extent 1 to [N, C] or [C], at the positions of height and width in X.
  const auto spread = [&](ValueId x, bool batch) {
    Ints axes = last ? Ints{1, 2} : Ints{2, 3};
    if (!batch) axes = last ? Ints{0, 1, 2} : Ints{0, 2, 3};
    const Extents extents = batch ? Extents{extent_of(0), channels} : Extents{channels};
    const ValueId checked = expect(r, x, batch ? "skip" : "bias", r.input(0), extents);
    return r.add({.type = "Unsqueeze", .inputs = {checked, r.constant(axes)}});
  };
  const size_t rank = r.rank(3, "SkipGroupNorm");
  require(rank == 2 || rank == 4, ErrorCode::invalid_argument, "skip has {} axes, expected 2 or 4", rank);
  ValueId sum = rank == 4 ? with_whole_skip(r, last ? 1 : 2) : add(r, r.input(0), spread(r.input(3), true));
  if (r.has(4)) sum = add(r, sum, spread(r.input(4), false));
  r.replace_output(0, group_norm(r, sum));
  if (r.output_used(1)) r.replace_output(1, sum);
  r.remove();
}

constexpr LiftRule kDiffusionRules[] = {{"BiasAdd", kAlways, apply_bias_add, "com.microsoft"},
                                        {"GroupNorm", kAlways, apply_group_norm, "com.microsoft"},
                                        {"SkipGroupNorm", kAlways, apply_skip_group_norm, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_diffusion;
constinit const LiftRules lift_diffusion{kDiffusionRules};

}  // namespace retort
