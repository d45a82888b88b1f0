// retort.NhwcConvInteger: ConvInteger of a channels-last image, one or two spatial axes, by constant int8 filters that
// have one constant zero point, which is above -128 for depthwise filters. With scales, which come together, the result
// is in floats: act(sum · (x_scale · w_scale) + B + R), where each operation rounds. Without packed filters, a run
// computes by plain loops.
#include "kernels/conv/conv_codes.h"
#include "ops/fused/common/activation.h"
#include "ops/fused/common/nhwc_convolution.h"
#include "ops/quant/common/codes.h"

namespace retort::ops {
namespace {

struct NhwcConvInteger : NhwcConvolution, ActivationAttributes {
  static constexpr auto attributes = std::tuple_cat(convolution_attributes, activation_attributes);
  enum Input : size_t { kX, kW, kXZero, kWZero, kXScale, kWScale, kBias, kResidual };

  /// The packed filters; what follows is for each place of kernels/conv/conv_codes.h.
  struct Packed : State {
    std::shared_ptr<const void> filters;
    std::vector<uint32_t> sums;  ///< of the weights less their zero point
    std::vector<float> zeros;
  };

  void check() const {
    NhwcConvolution::check();
    ActivationAttributes::check();
  }
  void infer(InferContext& c) const {
    const DType type = c.has(kXScale) ? DType::f32 : DType::i32;
    c.set(0, type);
    c.set(0, type, convolved_shape(c, c.shape(kX), c.shape(kW)));
  }
  Cost cost(const CostContext& c) const { return convolution_cost(c, kW, c.has(kBias)); }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const Tensor *w = c.unaligned_constant(kW), *zero = c.constant(kWZero);
    if (!w || (c.has(kWZero) && !zero)) return nullptr;
    Shape unknown = w->shape();
    std::fill(unknown.begin(), unknown.end(), kSymbolBase);
    const kernels::CodesConvShape s{geometry(unknown, w->shape(), nullptr), kernels::CodesSums::exact, false,
                                    zero_points(zero, size_t(w->shape()[0]), "w_zero_point")[0]};
    if (!kernels::suits_conv_codes(s)) return nullptr;
    auto state = std::make_unique<Packed>();
    state->filters = c.packed(kernels::conv_codes_packed_bytes(s, w->data<int8_t>()),
                              [&](void* to) { kernels::pack_conv_codes(s, w->data<int8_t>(), to); });
    const size_t places = kernels::conv_codes_places(s), size = w->count() / std::max<size_t>(s.out_c, 1);
    state->sums.resize(places);
    state->zeros.resize(places);
    for (size_t place = 0; place < places; ++place) {
      const size_t o = kernels::conv_codes_channel(s, place);
      if (o >= s.out_c) continue;
      const auto sum = uint32_t(kernels::sum_codes(w->data<int8_t>() + o * size, size));
      state->sums[place] = sum - uint32_t(size) * uint32_t(s.filter_zero);
    }
    c.release(kW);
    return state;
  }

  bool reads_rows(const RunContext& c, size_t i) const {
    return i == kX ? !input_nchw : i == kResidual && c.has(i) && c.shape(i) == c.out_shape();
  }
  bool writes_rows(const RunContext&) const { return true; }

  kernels::CodesConvShape shape(const RunContext& c) const {
    kernels::CodesConvShape s{geometry(c.shape(kX), c.shape(kW), &c.out_shape())};
    s.input_signed = c.dtype(kX) == DType::i8;
    s.filter_zero = zero_points(c, kWZero, s.out_c, "w_zero_point")[0];
    if (!input_nchw) s.in_pixel_stride = c.row_step(kX);
    s.out_pixel_stride = c.out_row_step();
    return s;
  }
  struct Memory {
    ScratchParts parts;
    int32_t* bias;
    float *scale, *zeros;
    char* kernel;
    Memory(const RunContext& c, const kernels::CodesConvShape& s, void* base) : parts(base) {
      const auto* packed = c.state<Packed>();
      bias = parts.take<int32_t>(packed ? packed->sums.size() : s.out_c);
      scale = parts.take<float>(s.out_c);
      zeros = parts.take<float>(packed ? 0 : s.out_c);
      kernel = parts.take<char>(packed ? kernels::conv_codes_scratch_bytes(s, false, c.parallel().workers()) : 0);
    }
  };
  size_t scratch(const RunContext& c) const { return Memory(c, shape(c), nullptr).parts.bytes(); }

  void run(RunContext& c) const {
    const int32_t zero = zero_points(c, kXZero, 1, "x_zero_point")[0];
    kernels::ConvCodesArgs a{
        .shape = shape(c), .input = static_cast<const uint8_t*>(c.data(kX)), .input_zero = uint8_t(zero)};
    const Memory memory(c, a.shape, c.scratch());
    a.bias = memory.bias;
    set_results(c, a, memory.scale);
    const auto* packed = c.state<Packed>();
    if (!packed) {
      a.packed = static_cast<const int8_t*>(c.data(kW));
      std::fill_n(memory.bias, a.shape.out_c, 0);
      std::fill_n(memory.zeros, a.shape.out_c, 0.0f);
      a.scale = a.offset = memory.zeros;
      return kernels::conv_codes_reference(a);
    }
    a.packed = static_cast<const int8_t*>(packed->filters.get());
    a.scale = a.offset = packed->zeros.data();
    const auto of_zero = uint32_t(kernels::conv_codes_zero(a.shape, zero, a.shape.input_signed));
    for (size_t i = 0; i < packed->sums.size(); ++i) memory.bias[i] = int32_t(0 - packed->sums[i] * of_zero);
    kernels::conv_codes(a, memory.kernel, c.parallel());
  }

 private:
  void set_results(const RunContext& c, kernels::ConvCodesArgs& a, float* scale) const {
    const size_t channels = a.shape.out_c;
    a.wide.data = c.out_data();
    if (!c.has(kXScale)) return;
    const ScaleFactors x(c, kXScale, 1, "x_scale"), w(c, kWScale, channels, "w_scale");
    for (size_t o = 0; o < channels; ++o) scale[o] = x[0] * w[o];
    a.wide.scale = scale;
    check_operand(c, kBias, channels);
    check_operand(c, kResidual, c.out_count());
    a.wide.epilogue.bias = c.optional<float>(kBias);
    a.wide.epilogue.residual = c.optional<float>(kResidual);
    a.wide.epilogue.residual_stride = reads_rows(c, kResidual) ? c.row_step(kResidual) : channels;
    a.wide.epilogue.activation = value();
  }
};

}  // namespace

extern const OpDef op_nhwc_conv_integer;
constinit const OpDef op_nhwc_conv_integer = define<NhwcConvInteger>({
    .name = "NhwcConvInteger",
    .domain = "retort",
    .inputs = {"x: T", "w: int8", "x_zero_point: T?", "w_zero_point: int8?", "x_scale: float?", "w_scale: float?",
               "B: float?", "R: float?"},
    .outputs = {"y: V"},
    .types = types({DType::i8, DType::u8}),
    .traits = kInternal | kConverts,
});

}  // namespace retort::ops
