// retort.NhwcQLinearConv: QLinearConv of a channels-last image, one or two spatial axes, by constant int8 filters whose
// zero points are 0. All other inputs but x are constant, too. The bias has integers or, as in retort.QLinearConv, real
// numbers.
#include "kernels/conv/conv_codes.h"
#include "ops/fused/common/nhwc_convolution.h"
#include "ops/quant/common/codes.h"

namespace retort::ops {
namespace {

struct NhwcQLinearConv : NhwcConvolution {
  static constexpr auto attributes = convolution_attributes;
  enum Input : size_t { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };

  /// The packed filters, and the numbers of each place of kernels/conv/conv_codes.h.
  struct Packed : State {
    std::shared_ptr<const void> filters;
    std::vector<int32_t> bias;
    std::vector<float> scale, offset;
  };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kYZero));
    c.set(0, c.dtype(kYZero), convolved_shape(c, c.shape(kX), c.shape(kW)));
  }
  Cost cost(const CostContext& c) const { return convolution_cost(c, kW, c.has(kBias)); }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const Tensor* w = c.unaligned_constant(kW);
    require(w && w->dtype() == DType::i8, ErrorCode::invalid_graph,
            "retort.NhwcQLinearConv needs constant int8 filters");
    Shape unknown = w->shape();
    std::fill(unknown.begin(), unknown.end(), kSymbolBase);
    const kernels::ConvShape s = geometry(unknown, w->shape(), nullptr);
    require(kernels::suits_conv_codes(s), ErrorCode::invalid_graph, "filters {} with group {} are not supported",
            to_string(w->shape()), group);
    auto state = std::make_unique<Packed>();
    state->filters = c.packed(kernels::conv_codes_packed_bytes(s),
                              [&](void* to) { kernels::pack_conv_codes(s, w->data<int8_t>(), to); });
    set_numbers(c, s, *w, *state);
    c.release(kW);
    return state;
  }

  bool reads_rows(const RunContext&, size_t i) const { return i == kX && !input_nchw; }
  bool writes_rows(const RunContext&) const { return true; }

  kernels::ConvShape shape(const RunContext& c) const {
    kernels::ConvShape s = geometry(c.shape(kX), c.shape(kW), &c.out_shape());
    if (!input_nchw) s.in_pixel_stride = c.row_step(kX);
    s.out_pixel_stride = c.out_row_step();
    return s;
  }
  size_t scratch(const RunContext& c) const {
    return kernels::conv_codes_scratch_bytes(shape(c), c.parallel().workers());
  }
  void run(RunContext& c) const {
    const auto* packed = c.state<Packed>();
    require(packed, ErrorCode::invalid_graph, "retort.NhwcQLinearConv needs constant filters");
    const kernels::Codes x_zero = zero_points(c, kXZero, 1, "x_zero_point");
    kernels::ConvCodesArgs a{.shape = shape(c),
                             .input = static_cast<const uint8_t*>(c.data(kX)),
                             .input_signed = c.dtype(kX) == DType::i8,
                             .input_zero = uint8_t(x_zero[0]),
                             .packed = static_cast<const int8_t*>(packed->filters.get())};
    a.bias = packed->bias.data();
    a.scale = packed->scale.data();
    a.offset = packed->offset.data();
    a.output = static_cast<uint8_t*>(c.out_data());
    a.output_signed = c.dtype(kYZero) == DType::i8;
    a.output_zero = zero_points(c, kYZero, 1, "y_zero_point")[0];
    kernels::conv_codes(a, c.scratch(), c.parallel());
  }

 private:
  static const Tensor& known(PrepareContext& c, size_t i, size_t most) {
    const Tensor* t = c.constant(i);
    require(t && (t->count() == 1 || t->count() == most), ErrorCode::invalid_graph,
            "input {} must be a constant of one element or {}", i, most);
    return *t;
  }
  static void set_numbers(PrepareContext& c, const kernels::ConvShape& s, const Tensor& w, Packed& to) {
    const float x_scale = known(c, kXScale, 1).at<float>(0), y_scale = known(c, kYScale, 1).at<float>(0);
    const Tensor &w_scale = known(c, kWScale, s.out_c), &x_zero = known(c, kXZero, 1);
    const Tensor* bias = c.has(kBias) ? &known(c, kBias, s.out_c) : nullptr;
    const bool is_signed = x_zero.dtype() == DType::i8;
    const auto zero = uint32_t(kernels::conv_codes_zero(codes_of(x_zero)[0], is_signed));
    const size_t places = kernels::conv_codes_places(s), size = w.count() / s.out_c;
    to.bias.resize(places);
    to.scale.resize(places);
    to.offset.resize(places);
    for (size_t place = 0; place < places; ++place) {
      const size_t o = kernels::conv_codes_channel(s, place);
      if (o >= s.out_c) continue;
      uint32_t sum = 0;
      for (size_t i = 0; i < size; ++i) sum += uint32_t(int32_t(w.data<int8_t>()[o * size + i]));
      const bool real = bias && bias->dtype() == DType::f32;
      to.bias[place] = int32_t((bias && !real ? uint32_t(bias->data<int32_t>()[o]) : 0) - sum * zero);
      to.scale[place] = x_scale * w_scale.at<float>(w_scale.count() == 1 ? 0 : o) / y_scale;
      to.offset[place] = real ? bias->data<float>()[o] / y_scale : 0;
    }
  }
};

}  // namespace

extern const OpDef op_nhwc_q_linear_conv;
constinit const OpDef op_nhwc_q_linear_conv = define<NhwcQLinearConv>({
    .name = "NhwcQLinearConv",
    .domain = "retort",
    .inputs = {"x: T", "x_scale: float", "x_zero_point: T", "w: int8", "w_scale: float", "w_zero_point: int8",
               "y_scale: float", "y_zero_point: V", "B: W?"},
    .outputs = {"y: V"},
    .types = types({DType::i8, DType::u8}),
    .traits = kInternal | kConverts | kImagewise,
});

}  // namespace retort::ops
