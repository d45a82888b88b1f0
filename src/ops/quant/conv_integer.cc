// ConvInteger: the convolution of (x - x's zero point) with (w - w's zero point), 8-bit integers summed in int32. The
// value of padding is x's zero point.
#include "ops/quant/common/codes_conv.h"

namespace retort::ops {
namespace {

struct ConvInteger : CodesConv {
  static constexpr Inputs inputs{.x = 0, .w = 1, .x_zero = 2, .w_zero = 3};

  void infer(InferContext& c) const {
    c.set(0, DType::i32);
    c.set(0, DType::i32, convolved_shape(c, *this, group, inputs.w));
  }
  Cost cost(const CostContext& c) const { return convolution_cost(c, inputs.w, false); }
  std::unique_ptr<State> prepare(PrepareContext& c) const { return prepare_filters(c, inputs, false); }
  size_t scratch(const RunContext& c) const { return scratch_bytes(c, inputs); }
  void run(RunContext& c) const {
    // No bias and scale 1, the defaults of a row.
    convolve(c, inputs, {.data = c.out_data()}, [](kernels::CodeRow&, size_t) {});
  }
};

}  // namespace

extern const OpDef op_conv_integer;
constinit const OpDef op_conv_integer = define<ConvInteger>({
    .name = "ConvInteger",
    .since = {10},
    .inputs = {"x: T", "w: U", "x_zero_point: T?", "w_zero_point: U?"},
    .outputs = {"y: int32"},
    .types = types({DType::i8, DType::u8}),
});

}  // namespace retort::ops
