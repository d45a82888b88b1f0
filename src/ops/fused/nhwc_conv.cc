// retort.Conv: convolution of a channels-last image with constant weights [M, C/group, kernel…], one or two spatial
// axes, with everything that its epilogue can do: act(conv(X · S, W) + B + R).
#include "base/checked.h"
#include "kernels/conv/conv.h"
#include "ops/fused/common/activation.h"
#include "ops/nn/common/window.h"

namespace retort::ops {
namespace {

struct PackedConv : State {
  std::shared_ptr<const void> memory;
  bool strict;
};

struct NhwcConv : WindowAttributes, ActivationAttributes {
  int64_t group = 1;
  bool input_nchw = false;
  static constexpr auto attributes =
      std::tuple_cat(window_attributes, activation_attributes,
                     std::tuple{attr("group", &NhwcConv::group), attr("input_nchw", &NhwcConv::input_nchw)});
  enum Input : size_t { kX, kW, kBias, kResidual, kScale };

  void check() const {
    WindowAttributes::check();
    ActivationAttributes::check();
    require(group > 0, ErrorCode::invalid_argument, "group is {}", group);
  }

  size_t channel_axis(size_t rank) const { return input_nchw ? 1 : rank - 1; }
  Dim spatial(const Shape& x, size_t d) const { return x[d + (input_nchw ? 2 : 1)]; }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kX));
    const Shape &x = c.shape(kX), &w = c.shape(kW);
    const size_t rank = x.rank();
    require((rank == 3 || rank == 4) && w.rank() == rank && all_known(w), ErrorCode::invalid_argument,
            "shapes {} and {} do not match", c.dims().text(x), c.dims().text(w));
    const Dim channels = x[channel_axis(rank)];
    require((!is_known(channels) || channels == w[1] * group) && w[0] % group == 0, ErrorCode::invalid_argument,
            "an input of {} channels, but weights {} with group {} need {}", c.dims().text(channels), to_string(w),
            group, w[1] * group);
    Shape y = x;
    y[rank - 1] = w[0];
    for (size_t d = 0; d + 2 < rank; ++d) y[d + 1] = window_extent(c.dims(), *this, d, spatial(x, d), w[d + 2], false);
    c.set(0, c.dtype(kX), y);
  }
  Cost cost(const CostContext& c) const { return convolution_cost(c, kW, c.has(kBias)); }

  // Returns the geometry; extents that are not known before the first run are 0.
  kernels::ConvShape geometry(const Shape& x, const Shape& w, const Shape* y) const {
    kernels::ConvShape s;
    const auto known = [](Dim d) { return is_known(d) ? size_t(d) : 0; };
    const size_t flat = x.rank() == 3;  // with one spatial axis, it is the width
    s.batch = known(x[0]);
    s.in_c = size_t(w[1] * group);
    s.out_c = size_t(w[0]);
    s.groups = size_t(group);
    s.input_is_nchw = input_nchw;
    s.in_pixel_stride = s.in_c;
    s.out_pixel_stride = s.out_c;
    size_t* const fields[][6] = {
        {&s.in_h, &s.out_h, &s.kernel_h, &s.stride_h, &s.dilation_h, &s.pad_top},
        {&s.in_w, &s.out_w, &s.kernel_w, &s.stride_w, &s.dilation_w, &s.pad_left},
    };
    Shape in, out, kernel;
    for (size_t d = 0; d + 2 < x.rank(); ++d) {
      in.push_back(int64_t(known(spatial(x, d))));
      out.push_back(y ? (*y)[d + 1] : known_extent(d, spatial(x, d), w[d + 2]));
      kernel.push_back(w[d + 2]);
    }
    const Window win = resolve_window(*this, in, kernel, out);
    for (size_t d = 0; d < win.rank; ++d) {
      const WindowAxis& a = win.axes[d];
      const int64_t values[] = {a.in, a.out, a.kernel, a.stride, a.dilation, a.pad_begin};
      for (size_t i = 0; i < 6; ++i) *fields[d + flat][i] = size_t(values[i]);
    }
    return s;
  }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const Tensor* w = c.unaligned_constant(kW);
    require(w && w->dtype() == DType::f32, ErrorCode::invalid_graph, "retort.Conv needs constant float weights");
    const ValueType& x = c.type(kX);
    Shape shape = w->shape();
    std::fill(shape.begin(), shape.end(), kSymbolBase);  // no extent is known
    kernels::ConvShape s = geometry(x.ranked ? x.shape : shape, w->shape(), nullptr);
    s.scaled_input = c.has(kScale);
    auto state = std::make_unique<PackedConv>();
    state->strict = c.options().strict;
    const kernels::ConvAlgorithm algorithm = kernels::choose_conv(s, state->strict);
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
    a.shape = geometry(c.shape(kX), c.shape(kW), &c.out_shape());
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
      a.algorithm = kernels::choose_conv(a.shape, state->strict);
      a.packed = static_cast<const float*>(state->memory.get());
    }
    return a;
  }
  size_t scratch(const RunContext& c) const {
    const kernels::ConvArgs a = arguments(c);
    return kernels::conv_scratch_bytes(a.shape, a.algorithm, c.parallel().workers());
  }
  void fast(RunContext& c, std::type_identity<float>) const { kernels::conv(arguments(c), c.scratch(), c.parallel()); }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    kernels::conv_reference(arguments(c), c.input<T>(kW).data());
  }

 private:
  static void check_operand(const RunContext& c, size_t i, size_t elements) {
    if (c.has(i) && c.count(i) != elements)
      fail(ErrorCode::invalid_argument, "input {} has shape {}, which does not match", i, to_string(c.shape(i)));
  }
  // Output extent of a spatial axis; 0 if that of the input is not known.
  int64_t known_extent(size_t d, Dim in, int64_t kernel) const {
    DimTable none;
    return is_known(in) ? window_extent(none, *this, d, in, kernel, false) : 0;
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
