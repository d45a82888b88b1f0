// retort.NhwcQLinearConv: QLinearConv of a channels-last image, one or two spatial axes, by constant int8 filters that
// have one zero point, which is above -128 for depthwise filters. All other inputs but x and R are constant, too. The
// bias has integers or, as in retort.QLinearConv, real numbers. Without packed filters, a run computes by plain loops.
// If there is R, with one group, the result is that of retort.QLinearAdd of the convolution and R.
#include "kernels/conv/conv_codes.h"
#include "ops/fused/common/nhwc_convolution.h"
#include "ops/quant/common/codes.h"

namespace retort::ops {
namespace {

struct NhwcQLinearConv : NhwcConvolution {
  static constexpr auto attributes = convolution_attributes;
  enum Input : size_t { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };
  enum Residual : size_t { kR = kBias + 1, kRScale, kRZero, kSumScale, kSumZero };

  struct Numbers {
    std::vector<int32_t> bias;
    std::vector<float> scale, offset;
  };
  /// The packed filters, and the numbers of each place of kernels/conv/conv_codes.h.
  struct Packed : State {
    std::shared_ptr<const void> filters;
    Numbers numbers;
    kernels::CodesSums sums = kernels::CodesSums::exact;
  };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kYZero));
    c.set(0, c.dtype(kYZero), convolved_shape(c, c.shape(kX), c.shape(kW)));
  }
  Cost cost(const CostContext& c) const { return convolution_cost(c, kW, c.has(kBias)); }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const Tensor *w = c.unaligned_constant(kW), *x_zero = c.constant(kXZero), *w_zero = c.constant(kWZero);
    if (!w || !x_zero || !w_zero) return nullptr;
    Shape unknown = w->shape();
    std::fill(unknown.begin(), unknown.end(), kSymbolBase);
    auto state = std::make_unique<Packed>();
    if (codes_of(*w_zero)[0] == 0 && saturates(c.options(), *w)) state->sums = kernels::CodesSums::saturating;
    const kernels::CodesConvShape s{geometry(unknown, w->shape(), nullptr), state->sums, false, codes_of(*w_zero)[0]};
    if (!kernels::suits_conv_codes(s)) return nullptr;
    state->filters = c.packed(kernels::conv_codes_packed_bytes(s, w->data<int8_t>()),
                              [&](void* to) { kernels::pack_conv_codes(s, w->data<int8_t>(), to); });
    const int32_t zero = kernels::conv_codes_zero(s, codes_of(*x_zero)[0], x_zero->dtype() == DType::i8);
    state->numbers = by_place(numbers_of(c, s.out_c), s, w->data<int8_t>(), zero);
    c.release(kW);
    return state;
  }

  bool reads_rows(const RunContext& c, size_t i) const {
    return i == kX ? !input_nchw : i == kR && c.has(i) && c.shape(i) == c.out_shape();
  }
  bool writes_rows(const RunContext&) const { return true; }

  kernels::CodesConvShape shape(const RunContext& c) const {
    const auto* packed = c.state<Packed>();
    kernels::CodesConvShape s{geometry(c.shape(kX), c.shape(kW), &c.out_shape()),
                              packed ? packed->sums : kernels::CodesSums::exact};
    s.input_signed = c.dtype(kX) == DType::i8;
    s.filter_zero = codes_of(c, kWZero)[0];
    if (!input_nchw) s.in_pixel_stride = c.row_step(kX);
    s.out_pixel_stride = c.out_row_step();
    return s;
  }
  size_t scratch(const RunContext& c) const {
    return c.state<Packed>() ? kernels::conv_codes_scratch_bytes(shape(c), c.has(kR), c.parallel().workers()) : 0;
  }
  void run(RunContext& c) const {
    kernels::ConvCodesArgs a{.shape = shape(c),
                             .input = static_cast<const uint8_t*>(c.data(kX)),
                             .input_zero = uint8_t(zero_points(c, kXZero, 1, "x_zero_point")[0])};
    a.output = static_cast<uint8_t*>(c.out_data());
    a.output_signed = c.dtype(kYZero) == DType::i8;
    a.output_zero = zero_points(c, kYZero, 1, "y_zero_point")[0];
    if (c.has(kR)) a.residual = residual(c);
    const auto* packed = c.state<Packed>();
    const Numbers numbers = packed ? Numbers() : numbers_of(c, a.shape.out_c);
    const Numbers& used = packed ? packed->numbers : numbers;
    a.packed = static_cast<const int8_t*>(packed ? packed->filters.get() : c.data(kW));
    a.bias = used.bias.data();
    a.scale = used.scale.data();
    a.offset = used.offset.data();
    packed ? kernels::conv_codes(a, c.scratch(), c.parallel()) : kernels::conv_codes_reference(a);
  }

 private:
  kernels::CodesResidual residual(const RunContext& c) const {
    require(group == 1 && c.shape(kR) == c.out_shape(), ErrorCode::invalid_argument,
            "R has shape {}, the result of {} groups {}, expected equal shapes and one group", c.shape(kR), group,
            c.out_shape());
    const auto run = [&](size_t scale, size_t zero) {
      return kernels::CodeRun{.is_signed = c.dtype(zero) == DType::i8,
                              .zero = zero_points(c, zero, 1, "zero point")[0],
                              .scale = c.input<float>(scale)[0]};
    };
    kernels::CodesResidual r{.other = run(kRScale, kRZero),
                             .pixel_stride = reads_rows(c, kR) ? c.row_step(kR) : size_t(c.shape(kR).back()),
                             .scale = c.input<float>(kYScale)[0],
                             .sum = run(kSumScale, kSumZero)};
    r.other.codes = c.data(kR);
    return r;
  }

  /// What input i has: data, its type and the number of elements.
  struct Operand {
    const void* data = nullptr;
    DType type = DType::undefined;
    size_t count = 0;
    float number(size_t i) const { return static_cast<const float*>(data)[count == 1 ? 0 : i]; }
  };
  static Numbers numbers_of(const Operand& x_scale, const Operand& w_scale, const Operand& y_scale, const Operand& bias,
                            size_t channels) {
    for (const Operand* of_channels : {&w_scale, &bias}) {
      require(!of_channels->data || of_channels->count == 1 || of_channels->count == channels,
              ErrorCode::invalid_argument, "{} scales or biases for {} channels", of_channels->count, channels);
    }
    const bool real = bias.type == DType::f32;
    Numbers to;
    for (size_t o = 0; o < channels; ++o) {
      to.bias.push_back(bias.data && !real ? static_cast<const int32_t*>(bias.data)[o] : 0);
      to.scale.push_back(x_scale.number(0) * w_scale.number(o) / y_scale.number(0));
      to.offset.push_back(real ? bias.number(o) / y_scale.number(0) : 0);
    }
    return to;
  }
  static Numbers numbers_of(const RunContext& c, size_t channels) {
    const auto operand = [&](size_t i) { return c.has(i) ? Operand{c.data(i), c.dtype(i), c.count(i)} : Operand(); };
    return numbers_of(operand(kXScale), operand(kWScale), operand(kYScale), operand(kBias), channels);
  }
  static Numbers numbers_of(PrepareContext& c, size_t channels) {
    const auto operand = [&](size_t i) {
      const Tensor* t = c.constant(i);
      require(t || !c.has(i), ErrorCode::invalid_graph, "input {} must be constant", i);
      return t ? Operand{t->data(), t->dtype(), t->count()} : Operand();
    };
    return numbers_of(operand(kXScale), operand(kWScale), operand(kYScale), operand(kBias), channels);
  }
  /// The numbers in the order of the kernel's places, with biases that include the zero point of the image.
  static Numbers by_place(const Numbers& numbers, const kernels::CodesConvShape& s, const int8_t* filters,
                          int32_t zero) {
    const size_t places = kernels::conv_codes_places(s), size = s.in_c / s.groups * s.kernel_h * s.kernel_w;
    Numbers to{std::vector<int32_t>(places), std::vector<float>(places), std::vector<float>(places)};
    for (size_t place = 0; place < places; ++place) {
      const size_t o = kernels::conv_codes_channel(s, place);
      if (o >= s.out_c) continue;
      const auto sum =
          uint32_t(kernels::sum_codes(filters + o * size, size)) - uint32_t(size) * uint32_t(s.filter_zero);
      to.bias[place] = int32_t(uint32_t(numbers.bias[o]) - sum * uint32_t(zero));
      to.scale[place] = numbers.scale[o];
      to.offset[place] = numbers.offset[o];
    }
    return to;
  }
};

}  // namespace

extern const OpDef op_nhwc_q_linear_conv;
constinit const OpDef op_nhwc_q_linear_conv = define<NhwcQLinearConv>({
    .name = "NhwcQLinearConv",
    .domain = "retort",
    .inputs = {"x: T", "x_scale: float", "x_zero_point: T", "w: int8", "w_scale: float", "w_zero_point: int8",
               "y_scale: float", "y_zero_point: V", "B: W?", "R: U?", "R_scale: float?", "R_zero_point: U?",
               "sum_scale: float?", "sum_zero_point: V?"},
    .outputs = {"y: V"},
    .types = types({DType::i8, DType::u8}),
    .traits = kInternal | kConverts | kImagewise,
    .in_place = {{{0, 9}}},
});

}  // namespace retort::ops
