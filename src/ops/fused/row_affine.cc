// retort.RowAffine: act(X · S + B) for X [..., C] and S, B [C]; with `planes`, for X [N, C, ...].
#include "kernels/norm/group_norm.h"
#include "ops/fused/common/activation.h"

namespace retort::ops {
namespace {

struct RowAffine : ActivationAttributes {
  bool planes = false;
  static constexpr auto attributes =
      std::tuple_cat(activation_attributes, std::tuple{attr("planes", &RowAffine::planes)});
  enum Input : size_t { kX, kScale, kShift };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kX));
    const Shape& x = c.shape(kX);
    require(x.rank() >= 2, ErrorCode::invalid_argument, "input of rank {}", x.rank());
    const Dim channels = planes ? x[1] : x.back();
    for (const size_t i : {kScale, kShift}) {
      if (c.ranked(i) && all_known(c.shape(i)) && is_known(channels))
        require(c.shape(i) == Shape{channels}, ErrorCode::invalid_argument, "input {} has shape {} for {} channels", i,
                to_string(c.shape(i)), channels);
    }
    c.set(0, c.dtype(kX), x);
  }
  Cost cost(const CostContext& c) const { return {.operations = 2 * c.count(kX)}; }
  void fast(RunContext& c, std::type_identity<float>) const {
    planes ? kernels::channel_affine(of_planes(c), c.parallel()) : kernels::row_affine(of_rows(c), c.parallel());
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    planes ? kernels::channel_affine_reference(of_planes(c)) : kernels::row_affine_reference(of_rows(c));
  }

 private:
  size_t channels(const RunContext& c) const {
    const auto n = size_t(planes ? c.shape(kX)[1] : c.shape(kX).back());
    require(c.count(kScale) == n && c.count(kShift) == n, ErrorCode::invalid_argument,
            "{} scales and {} shifts for {} channels", c.count(kScale), c.count(kShift), n);
    return n;
  }
  kernels::RowAffine of_rows(const RunContext& c) const {
    const size_t n = channels(c);
    return {.rows = n == 0 ? 0 : c.count(kX) / n,
            .channels = n,
            .x = static_cast<const float*>(c.data(kX)),
            .scale = static_cast<const float*>(c.data(kScale)),
            .shift = static_cast<const float*>(c.data(kShift)),
            .y = static_cast<float*>(c.out_data()),
            .activation = value()};
  }
  kernels::ChannelAffine of_planes(const RunContext& c) const {
    const Shape& x = c.shape(kX);
    return {.batch = size_t(x[0]),
            .channels = channels(c),
            .spatial = size_t(extent_product(x, 2, x.rank())),
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
