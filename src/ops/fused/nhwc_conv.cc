// retort.Conv: convolution of a channels-last image with constant weights [M, C/group, kernel…], one to three spatial
// axes, with everything that its epilogue can do: act(conv(X · S, W) + B + R).
#include <algorithm>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "base/function_ref.h"
#include "kernels/conv/conv.h"
#include "ops/fused/common/activation.h"
#include "ops/fused/common/nhwc_convolution.h"

namespace retort::ops {
namespace {

struct PackedConv : State {
  std::shared_ptr<const void> memory;
  bool strict;
  /// The packing bf16_rows, bf16_winograd or winograd2_packed, whatever the sizes of a run; otherwise each run chooses.
  std::optional<kernels::ConvAlgorithm> fixed;
  size_t tap_floats = 0;  ///< of the weights of a tap along the depth, if these are packed one by one
  kernels::ConvAlgorithm algorithm(const kernels::ConvShape& s) const {
    if (fixed == kernels::ConvAlgorithm::winograd2_packed) return kernels::choose_packed_winograd(s);
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
    require(!by_planes(c.shape(kW)) || !c.has(kScale), ErrorCode::invalid_graph, "scaled planes of a volume");
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
    if (c.options().bf16_products && kernels::saves_by_bf16_winograd(s, state->strict))
      state->fixed = kernels::ConvAlgorithm::bf16_winograd;
    else if (c.options().bf16_products && kernels::saves_by_bf16(s, state->strict))
      state->fixed = kernels::ConvAlgorithm::bf16_rows;
    else if (kernels::saves_by_packed_winograd(s, state->strict))
      state->fixed = kernels::ConvAlgorithm::winograd2_packed;
    const kernels::ConvAlgorithm algorithm = state->algorithm(s);
    const VolumeWay way = way_of(w->shape());
    const size_t taps = way == VolumeWay::sums ? size_t(w->shape()[2]) : 1;
    const size_t bytes = round_up(kernels::conv_packed_bytes(s, algorithm), 64);
    state->tap_floats = bytes / sizeof(float);
    state->memory = c.packed(taps * bytes, [&](void* to) {
      for (size_t t = 0; t < taps; ++t) {
        std::vector<float> turned;
        if (way == VolumeWay::joined) turned = joined_weights(w->data<float>(), w->shape());
        if (way == VolumeWay::sums) turned = tap_weights(w->data<float>(), w->shape(), t);
        kernels::conv_pack(s, algorithm, turned.empty() ? w->data<float>() : turned.data(),
                           static_cast<float*>(to) + t * state->tap_floats, c.parallel());
      }
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
    const bool joined = way_of(c.shape(kW)) == VolumeWay::joined;
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
    if ((state && state->fixed) || by_planes(c.shape(kW))) return a;
    a.shape = kernels::fold_width(a.shape);
    if (state) a.algorithm = state->algorithm(a.shape);
    return a;
  }
  size_t scratch(const RunContext& c) const {
    kernels::ConvArgs a = folded_arguments(c);
    const VolumeWay way = way_of(c.shape(kW));
    const size_t before = way == VolumeWay::joined ? joined_bytes(c, a.shape) : 0;
    const auto bytes = [&](const kernels::ConvShape& s) {
      return kernels::conv_scratch_bytes(s, a.algorithm, c.parallel().workers());
    };
    if (way != VolumeWay::sums) return before + bytes(a.shape);
    a.shape.batch = 1;
    return std::max(bytes(a.shape), bytes(outside(a.shape)));
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    kernels::ConvArgs a = folded_arguments(c);
    const VolumeWay way = way_of(c.shape(kW));
    const auto run = [&](const kernels::ConvArgs& part, void* memory) { kernels::conv(part, memory, c.parallel()); };
    if (way == VolumeWay::joined) {
      join_planes(c, a, static_cast<char*>(c.scratch()), run);
    } else if (way == VolumeWay::sums) {
      const float* const packed = a.packed;
      sum_taps(c, a, [&](kernels::ConvArgs& part, size_t tap) {
        part.packed = packed + tap * c.state<PackedConv>()->tap_floats;
        run(part, c.scratch());
      });
    } else {
      run(a, c.scratch());
    }
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const kernels::ConvArgs a = arguments(c);
    const float* w = c.input<T>(kW).data();
    const Shape& shape = c.shape(kW);
    if (way_of(shape) == VolumeWay::sums) {
      sum_taps(c, a, [&](const kernels::ConvArgs& part, size_t tap) {
        kernels::conv_reference(part, tap_weights(w, shape, tap).data());
      });
    } else if (way_of(shape) == VolumeWay::joined) {
      kernels::ConvShape planes = a.shape;
      std::vector<char> memory(joined_bytes(c, planes));
      const std::vector<float> joined = joined_weights(w, shape);
      join_planes(c, a, memory.data(),
                  [&](const kernels::ConvArgs& part, void*) { kernels::conv_reference(part, joined.data()); });
    } else {
      kernels::conv_reference(a, w);
    }
  }

 private:
  /// Images have `images`: they are convolved as they are.
  VolumeWay way_of(const Shape& w) const { return w.rank() == 5 ? volume_way(*this, w, group) : VolumeWay::images; }
  bool by_planes(const Shape& w) const { return way_of(w) == VolumeWay::joined || way_of(w) == VolumeWay::sums; }

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
  void join_planes(RunContext& c, kernels::ConvArgs part, char* memory,
                   FunctionRef<void(const kernels::ConvArgs&, void*)> run) const {
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

  // The convolution of padding alone.
  static kernels::ConvShape outside(kernels::ConvShape s) {
    s.pad_top = s.out_h * s.stride_h + s.kernel_h * s.dilation_h;
    return s;
  }

  // Calls run(convolution of a plane, tap) for the taps of each plane of the result that are inside. A plane that has
  // none is a convolution of padding.
  void sum_taps(RunContext& c, const kernels::ConvArgs& whole,
                FunctionRef<void(kernels::ConvArgs&, size_t)> run) const {
    const WindowAxis depth = window(c.shape(kX), c.shape(kW), &c.out_shape()).axes[0];
    const kernels::ConvShape& s = whole.shape;
    const size_t in_plane = s.in_h * s.in_w * s.in_pixel_stride, pixels = s.out_h * s.out_w;
    for (size_t p = 0; p < s.batch && !c.parallel().cancelled(); ++p) {
      const auto image = int64_t(p) / depth.out, z = int64_t(p) % depth.out;
      int64_t first = 0, last = depth.kernel;
      while (first < last && depth.at(z, first) < 0) ++first;
      while (first < last && depth.at(z, last - 1) >= depth.in) --last;
      const bool none = first == last;
      if (none) first = 0, last = 1;
      for (int64_t t = first; t < last; ++t) {
        kernels::ConvArgs part = whole;
        part.shape.batch = 1;
        if (none)
          part.shape = outside(part.shape);
        else
          part.input += size_t(image * depth.in + depth.at(z, t)) * in_plane;
        part.output += p * pixels * s.out_pixel_stride;
        kernels::Epilogue& e = part.epilogue;
        if (e.residual) e.residual += p * pixels * e.residual_stride;
        if (t > first) e.bias = nullptr, e.residual = part.output, e.residual_stride = s.out_pixel_stride;
        if (t + 1 < last) e.activation = {};
        run(part, size_t(t));
      }
    }
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
