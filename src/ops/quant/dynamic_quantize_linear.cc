// DynamicQuantizeLinear: codes of 8 bits for the range of x, 0 included: scale = (max - min) / 255.
#include <algorithm>
#include <cmath>

#include "ops/op.h"

namespace retort::ops {
namespace {

struct DynamicQuantizeLinear {
  void infer(InferContext& c) const {
    c.set(0, DType::u8);
    c.set(1, DType::f32, {});
    c.set(2, DType::u8, {});
    c.set(0, DType::u8, c.shape(0));
  }

  void run(RunContext& c) const {
    const auto x = c.input<float>(0);
    float low = 0, high = 0;
    for (const float v : x) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
    const float scale = low == high ? 1.0f : (high - low) / 255.0f;
    const float zero = std::nearbyint(std::clamp(-low / scale, 0.0f, 255.0f));
    uint8_t* y = c.output<uint8_t>(0).data();
    for (size_t i = 0; i < x.size(); ++i) {
      const float code = std::nearbyint(x[i] / scale) + zero;
      y[i] = code >= 255 ? 255 : code > 0 ? uint8_t(code) : 0;
    }
    c.output<float>(1)[0] = scale;
    c.output<uint8_t>(2)[0] = uint8_t(zero);
  }
};

}  // namespace

extern const OpDef op_dynamic_quantize_linear;
constinit const OpDef op_dynamic_quantize_linear = define<DynamicQuantizeLinear>({
    .name = "DynamicQuantizeLinear",
    .since = {11},
    .inputs = {"x: T"},
    .outputs = {"y: uint8", "y_scale: float", "y_zero_point: uint8"},
    .types = types({DType::f32}),
});

}  // namespace retort::ops
