// retort.RowAffine: act(X · S + B) for X [..., C] and S, B [C].
#include "kernels/norm/group_norm.h"
#include "ops/fused/common/activation.h"

namespace retort::ops {
namespace {

struct RowAffine : ActivationAttributes {
  static constexpr auto attributes = activation_attributes;
  enum Input : size_t { kX, kScale, kShift };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kX));
    const Shape& x = c.shape(kX);
    require(x.rank() >= 2, ErrorCode::invalid_argument, "input of rank {}", x.rank());
    for (const size_t i : {kScale, kShift}) {
      if (c.ranked(i) && all_known(c.shape(i)) && is_known(x.back()))
        require(c.shape(i) == Shape{x.back()}, ErrorCode::invalid_argument, "input {} has shape {} for rows of {}", i,
                to_string(c.shape(i)), x.back());
    }
    c.set(0, c.dtype(kX), x);
  }
  Cost cost(const CostContext& c) const { return {.operations = 2 * c.count(kX)}; }
  void fast(RunContext& c, std::type_identity<float>) const { kernels::row_affine(arguments(c), c.parallel()); }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    kernels::row_affine_reference(arguments(c));
  }

 private:
  kernels::RowAffine arguments(const RunContext& c) const {
    const auto channels = size_t(c.shape(kX).back());
    require(c.count(kScale) == channels && c.count(kShift) == channels, ErrorCode::invalid_argument,
            "{} scales and {} shifts for rows of {}", c.count(kScale), c.count(kShift), channels);
    return {.rows = channels == 0 ? 0 : c.count(kX) / channels,
            .channels = channels,
            .x = static_cast<const float*>(c.data(kX)),
            .scale = static_cast<const float*>(c.data(kScale)),
            .shift = static_cast<const float*>(c.data(kShift)),
            .y = static_cast<float*>(c.out_data()),
            .activation = value()};
  }
};

}  // namespace

extern const OpDef op_row_affine;
constinit const OpDef op_row_affine = define<RowAffine>({
    .name = "RowAffine",
    .domain = "retort",
    .inputs = {"X: T", "S: T", "B: T"},
    .outputs = {"Y: T"},
    .types = types({DType::f32}),
    .traits = kInternal | kMayAliasInput0 | kImagewise,
});

}  // namespace retort::ops
