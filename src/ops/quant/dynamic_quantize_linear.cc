// DynamicQuantizeLinear: 8-bit codes for the range of x, including 0: scale = (max - min) / 255.
#include "ops/op.h"
#include "ops/quant/common/dynamic_codes.h"

namespace retort::ops {
namespace {

struct DynamicQuantizeLinear {
  void infer(InferContext& c) const {
    c.set(0, DType::u8);
    c.set(1, DType::f32, {});
    c.set(2, DType::u8, {});
    c.set(0, DType::u8, c.shape(0));
  }
  // Minimum and maximum, then the same as QuantizeLinear.
  Cost cost(const CostContext& c) const { return {.operations = 5 * c.count(0)}; }

  void run(RunContext& c) const {
    const auto x = c.input<float>(0);
    const DynamicCodes codes = dynamic_codes(x.data(), x.size(), c.parallel());
    uint8_t* y = c.output<uint8_t>(0).data();
    kernels::for_chunks(c.parallel(), x.size(), [&](size_t begin, size_t end) {
      kernels::quantize(
          kernels::QuantizeRun<uint8_t>{x.data() + begin, &codes.scale, &codes.zero, 0, y + begin, end - begin});
    });
    c.output<float>(1)[0] = codes.scale;
    c.output<uint8_t>(2)[0] = uint8_t(codes.zero);
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
