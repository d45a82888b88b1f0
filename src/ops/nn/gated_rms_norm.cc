// com.microsoft.GatedRMSNorm: x / sqrt(mean of x² + epsilon) · scale · activation(gate) for each run of as many
// elements as scale has.
#include "ops/nn/common/normalize.h"
#include "ops/nn/common/rounded.h"

namespace retort::ops {
namespace {

struct GatedRMSNorm {
  std::string activation = "silu";
  float epsilon = 1e-5f;
  static constexpr std::tuple attributes{attr("activation", &GatedRMSNorm::activation),
                                         attr("epsilon", &GatedRMSNorm::epsilon)};

  void check() const {
    require(activation == "silu" || activation == "swish" || activation == "sigmoid", ErrorCode::invalid_argument,
            "activation \"{}\" is not one of silu, swish, sigmoid", activation);
  }
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = c.shape(0);
    require(!x.empty(), ErrorCode::invalid_argument, "X is a scalar, expected at least one axis");
    c.set(0, c.dtype(0), x);
    expect_shape(c, 2, "gate", x);
    if (!all_known(c.shape(1))) return;
    const int64_t group = extent_product(c.shape(1), 0, c.rank(1));
    require(group > 0 && (!is_known(x.back()) || x.back() % group == 0), ErrorCode::invalid_argument,
            "rows of {} elements for a scale of {}", c.dims().text(x.back()), group);
  }
  Cost cost(const CostContext& c) const { return {.operations = 7 * c.count(0)}; }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0), scale = c.input<T>(1), gate = c.input<T>(2);
    const auto y = c.output<T>();
    const bool silu = activation != "sigmoid";
    const size_t group = scale.size();
    c.parallel().for_each(x.size() / group, [&](size_t row, int) {
      const size_t first = row * group;
      const auto factor = float(inverse_rms(x.subspan(first, group), epsilon));
      for (size_t i = 0; i < group; ++i) {
        const float z = gate[first + i];
        y[first + i] = x[first + i] * factor * scale[i] * ((silu ? z : 1.0f) * sigmoid(z));
      }
    });
  }
};

}  // namespace

extern const OpDef op_gated_rms_norm;
constinit const OpDef op_gated_rms_norm = define<GatedRMSNorm>({
    .name = "GatedRMSNorm",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T", "scale: T", "gate: T"},
    .outputs = {"Y: T"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
