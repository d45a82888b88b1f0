// retort.Conv: convolution of a channels-last image with constant weights [M, C/group, kernel…], one to three spatial
// axes, with everything that its epilogue can do: act(conv(X · S, W) + B + R).
#include <optional>
#include <vector>

#include "base/checked.h"
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
    c.set(0, c.dtype(kX), convolved_shape(c, c.shape(kX), c.shape(kW), 3));
    const bool joined = is_joined(c.shape(kW));
    require(!joined || (group == 1 && !c.has(kScale)), ErrorCode::invalid_graph, "{} groups of a volume", group);
    require(c.shape(kW).rank() < 5 || !input_nchw, ErrorCode::invalid_graph, "a volume with its channels first");
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
      std::vector<float> joined;
      if (is_joined(w->shape())) joined = joined_weights(w->data<float>(), w->shape());
      kernels::conv_pack(s, algorithm, joined.empty() ? w->data<float>() : joined.data(), static_cast<float*>(to),
                         c.parallel());
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
    const bool joined = is_joined(c.shape(kW));
    if (!input_nchw && !joined) a.shape.in_pixel_stride = c.row_step(kX);
    a.shape.out_pixel_stride = c.out_row_step();
    a.input = joined ? nullptr : static_cast<const float*>(c.data(kX));
    a.output = static_cast<float*>(c.out_data());
    a.input_scale = c.optional<float>(kScale);
    a.epilogue.bias = c.optional<float>(kBias);
    a.epilogue.residual = c.optional<float>(kResidual);
    a.epilogue.residual_stride = reads_rows(c, kResidual) ? c.row_step(kResidual) : a.shape.out_c;
    a.epilogue.activation = value();
    check_operand(c, kBias, a.shape.out_c);
    check_operand(c, kResidual, c.out_count());
    check_operand(c, kScale, size_t(c.shape(kX)[0]) * a.shape.in_c);
    if (const auto* state = c.state<PackedConv>()) {
      a.algorithm = state->algorithm(a.shape);
      a.packed = static_cast<const float*>(state->memory.get());
    }
    return a;
  }
  kernels::ConvArgs folded_arguments(const RunContext& c) const {
    kernels::ConvArgs a = arguments(c);
    const auto* state = c.state<PackedConv>();
    if ((state && state->fixed) || is_joined(c.shape(kW))) return a;
    a.shape = kernels::fold_width(a.shape);
    if (state) a.algorithm = state->algorithm(a.shape);
    return a;
  }
  size_t scratch(const RunContext& c) const {
    kernels::ConvArgs a = folded_arguments(c);
    const size_t before = is_joined(c.shape(kW)) ? joined_bytes(c, a.shape) : 0;
    return before + kernels::conv_scratch_bytes(a.shape, a.algorithm, c.parallel().workers());
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    const kernels::ConvArgs a = folded_arguments(c);
    const auto run = [&](const kernels::ConvArgs& part, void* memory) { kernels::conv(part, memory, c.parallel()); };
    is_joined(c.shape(kW)) ? by_planes(c, a, static_cast<char*>(c.scratch()), run) : run(a, c.scratch());
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const kernels::ConvArgs a = arguments(c);
    const float* w = c.input<T>(kW).data();
    if (!is_joined(c.shape(kW))) return kernels::conv_reference(a, w);
    kernels::ConvShape planes = a.shape;
    std::vector<char> memory(joined_bytes(c, planes));
    const std::vector<float> joined = joined_weights(w, c.shape(kW));
    by_planes(c, a, memory.data(),
              [&](const kernels::ConvArgs& part, void*) { kernels::conv_reference(part, joined.data()); });
  }

 private:
  bool is_joined(const Shape& w) const { return w.rank() == 5 && volume_way(*this, w) == VolumeWay::joined; }

  JoinedPlanes joined_planes(const RunContext& c) const {
    const Shape& x = c.shape(kX);
    return {.depth = window(x, c.shape(kW), &c.out_shape()).axes[0],
            .plane = size_t(x[2] * x[3]),
            .channels = size_t(x[4]),
            .pixel_stride = c.row_step(kX),
            .volume = static_cast<const float*>(c.data(kX))};
  }
  // Bytes of the joined planes of a block. Sets the batch of `shape` to the number of planes of a block.
  size_t joined_bytes(const RunContext& c, kernels::ConvShape& shape) const {
    constexpr size_t kBlock = 4 << 20;  // stays in the last-level cache, and is enough for Winograd's method
    const size_t plane = joined_planes(c).plane_floats() * sizeof(float);
    shape.batch = std::min(shape.batch, std::max<size_t>(kBlock / std::max<size_t>(plane, 1), 1));
    return round_up(shape.batch * plane, 64);
  }
  template <typename F>
  void by_planes(RunContext& c, kernels::ConvArgs part, char* memory, F&& run) const {
    const JoinedPlanes planes = joined_planes(c);
    const size_t count = part.shape.batch, bytes = joined_bytes(c, part.shape), block = part.shape.batch;
    const size_t pixels = part.shape.out_h * part.shape.out_w;
    part.input = reinterpret_cast<float*>(memory);
    for (size_t first = 0; first < count && !c.parallel().cancelled(); first += block) {
      part.shape.batch = std::min(block, count - first);
      planes.join(first, part.shape.batch, reinterpret_cast<float*>(memory), c.parallel());
      run(part, memory + bytes);
      part.output += part.shape.batch * pixels * part.shape.out_pixel_stride;
      if (part.epilogue.residual) part.epilogue.residual += part.shape.batch * pixels * part.epilogue.residual_stride;
    }
  }

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
