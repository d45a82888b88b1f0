// retort.Conv: convolution of a channels-last image with constant weights [M, C/group, kernel…], one or two spatial
// axes, with everything that its epilogue can do: act(conv(X · S, W) + B + R).
#include <optional>

#include "kernels/conv/conv.h"
#include "ops/fused/common/activation.h"
#include "ops/fused/common/nhwc_convolution.h"

namespace retort::ops {
namespace {

struct PackedConv : State {
  std::shared_ptr<const void> memory;
  bool strict;
  /// bf16_rows or winograd2_packed, whatever the sizes of a run; otherwise each run chooses.
  std::optional<kernels::ConvAlgorithm> fixed;
  kernels::ConvAlgorithm algorithm(const kernels::ConvShape& s) const {
    return fixed ? *fixed : kernels::choose_conv(s, strict);
  }
};

struct NhwcConv : NhwcConvolution, ActivationAttributes {
  static constexpr auto attributes = std::tuple_cat(convolution_attributes, activation_attributes);
  enum Input : size_t { kX, kW, kBias, kResidual, kScale };

  void check() const {
    NhwcConvolution::check();
    ActivationAttributes::check();
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kX));
    c.set(0, c.dtype(kX), convolved_shape(c, c.shape(kX), c.shape(kW)));
  }
  Cost cost(const CostContext& c) const { return convolution_cost(c, kW, c.has(kBias)); }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const Tensor* w = c.unaligned_constant(kW);
    require(w && w->dtype() == DType::f32, ErrorCode::invalid_graph, "retort.Conv needs constant float weights");
    const ValueType& x = c.type(kX);
    Shape shape = w->shape();
    std::fill(shape.begin(), shape.end(), kSymbolBase);  // no extent is known
    kernels::ConvShape s = kernels::lay_down(geometry(x.ranked ? x.shape : shape, w->shape(), nullptr));
    s.scaled_input = c.has(kScale);
    auto state = std::make_unique<PackedConv>();
    state->strict = c.options().strict;
    if (c.options().bf16_products && kernels::saves_by_bf16(s, state->strict))
      state->fixed = kernels::ConvAlgorithm::bf16_rows;
    else if (kernels::saves_by_packed_winograd(s, state->strict))
      state->fixed = kernels::ConvAlgorithm::winograd2_packed;
    const kernels::ConvAlgorithm algorithm = state->algorithm(s);
    state->memory = c.packed(kernels::conv_packed_bytes(s, algorithm), [&](void* to) {
      kernels::conv_pack(s, algorithm, w->data<float>(), static_cast<float*>(to), c.parallel());
    });
    c.release(kW);
    return state;
  }

  bool reads_rows(const RunContext& c, size_t i) const {
    return i == kX ? !input_nchw : i == kResidual && c.has(i) && c.shape(i) == c.out_shape();
  }
  bool writes_rows(const RunContext&) const { return true; }

  kernels::ConvArgs arguments(const RunContext& c) const {
    kernels::ConvArgs a;
    a.shape = kernels::lay_down(geometry(c.shape(kX), c.shape(kW), &c.out_shape()));
    a.shape.scaled_input = c.has(kScale);
    if (!input_nchw) a.shape.in_pixel_stride = c.row_step(kX);
    a.shape.out_pixel_stride = c.out_row_step();
    a.input = static_cast<const float*>(c.data(kX));
    a.output = static_cast<float*>(c.out_data());
    a.input_scale = c.optional<float>(kScale);
    a.epilogue.bias = c.optional<float>(kBias);
    a.epilogue.residual = c.optional<float>(kResidual);
    a.epilogue.residual_stride = reads_rows(c, kResidual) ? c.row_step(kResidual) : a.shape.out_c;
    a.epilogue.activation = value();
    check_operand(c, kBias, a.shape.out_c);
    check_operand(c, kResidual, c.out_count());
    check_operand(c, kScale, a.shape.batch * a.shape.in_c);
    if (const auto* state = c.state<PackedConv>()) {
      a.algorithm = state->algorithm(a.shape);
      a.packed = static_cast<const float*>(state->memory.get());
    }
    return a;
  }
  kernels::ConvArgs folded_arguments(const RunContext& c) const {
    kernels::ConvArgs a = arguments(c);
    const auto* state = c.state<PackedConv>();
    if (state && state->fixed) return a;
    a.shape = kernels::fold_width(a.shape);
    if (state) a.algorithm = state->algorithm(a.shape);
    return a;
  }
  size_t scratch(const RunContext& c) const {
    const kernels::ConvArgs a = folded_arguments(c);
    return kernels::conv_scratch_bytes(a.shape, a.algorithm, c.parallel().workers());
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    kernels::conv(folded_arguments(c), c.scratch(), c.parallel());
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    kernels::conv_reference(arguments(c), c.input<T>(kW).data());
  }

 private:
  static void check_operand(const RunContext& c, size_t i, size_t elements) {
    if (c.has(i) && c.count(i) != elements)
      fail(ErrorCode::invalid_argument, "input {} has shape {}, which does not match", i, to_string(c.shape(i)));
  }
};

}  // namespace

extern const OpDef op_nhwc_conv;
constinit const OpDef op_nhwc_conv = define<NhwcConv>({
    .name = "Conv",
    .domain = "retort",
    .inputs = {"X: T", "W: T", "B: T?", "R: T?", "S: T?"},
    .outputs = {"Y: T"},
    .types = types({DType::f32}),
    .traits = kInternal | kImagewise,
    .in_place = {{{0, 3}}},
});

}  // namespace retort::ops
