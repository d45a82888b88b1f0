// retort.ConvTranspose: transposed convolution of a channels-last image with constant weights [C, M/group, kernel…],
// one or two spatial axes: act(conv_transpose(X, W) + B + R).
#include <algorithm>

#include "kernels/conv/conv_transpose.h"
#include "ops/fused/common/activation.h"
#include "ops/nn/common/window.h"

namespace retort::ops {
namespace {

struct PackedTransposed : State {
  std::shared_ptr<const void> memory;
};

struct NhwcConvTranspose : ActivationAttributes {
  int64_t group = 1;
  std::vector<int64_t> dilations, output_padding, pads, strides;  ///< empty means 1 (pads: 0) for each axis
  static constexpr auto attributes = std::tuple_cat(
      activation_attributes,
      std::tuple{attr("dilations", &NhwcConvTranspose::dilations), attr("group", &NhwcConvTranspose::group),
                 attr("output_padding", &NhwcConvTranspose::output_padding), attr("pads", &NhwcConvTranspose::pads),
                 attr("strides", &NhwcConvTranspose::strides)});
  enum Input : size_t { kX, kW, kBias, kResidual };

  void check() const {
    ActivationAttributes::check();
    require(group > 0, ErrorCode::invalid_argument, "group is {}", group);
    const auto all_from = [](const std::vector<int64_t>& list, int64_t lowest) {
      return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v >= lowest && v <= INT32_MAX; });
    };
    if (!(all_from(dilations, 1) && all_from(strides, 1) && all_from(pads, 0) && all_from(output_padding, 0)))
      fail(ErrorCode::invalid_argument, "dilations {}, strides {}, pads {}, output_padding {}", to_string(dilations),
           to_string(strides), to_string(pads), to_string(output_padding));
  }

  static int64_t item(const std::vector<int64_t>& list, size_t i, int64_t otherwise) {
    return list.empty() ? otherwise : list.at(i);
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kX));
    const Shape &x = c.shape(kX), &w = c.shape(kW);
    const size_t rank = x.rank(), spatial = rank - 2;
    const auto fits = [](const std::vector<int64_t>& v, size_t n) { return v.empty() || v.size() == n; };
    if (!((rank == 3 || rank == 4) && w.rank() == rank && all_known(w) && fits(dilations, spatial) &&
          fits(strides, spatial) && fits(output_padding, spatial) && fits(pads, 2 * spatial)))
      fail(ErrorCode::invalid_argument, "shapes {} and {} do not match each other or the attributes", c.dims().text(x),
           c.dims().text(w));
    if (!((!is_known(x[rank - 1]) || x[rank - 1] == w[0]) && w[0] % group == 0))
      fail(ErrorCode::invalid_argument, "{} channels, weights {}, group {}", c.dims().text(x[rank - 1]), to_string(w),
           group);
    DimTable& dims = c.dims();
    Shape y = x;
    y[rank - 1] = w[1] * group;
    for (size_t d = 0; d < spatial; ++d) {
      const int64_t window = item(dilations, d, 1) * (w[d + 2] - 1) + 1;
      const int64_t cut = item(pads, d, 0) + item(pads, d + rank - 2, 0);
      const Dim reach = dims.mul(item(strides, d, 1), dims.sub(x[d + 1], 1));
      y[d + 1] = dims.add(reach, window + item(output_padding, d, 0) - cut);
    }
    c.set(0, c.dtype(kX), y);
  }
  Cost cost(const CostContext& c) const { return transposed_convolution_cost(c, c.has(kBias)); }

  // `x` and `y` may be null; the extents of the image are then 1, since packing does not need them.
  kernels::ConvTransposeShape geometry(const Shape* x, const Shape& w, const Shape* y) const {
    kernels::ConvTransposeShape s;
    s.groups = size_t(group);
    s.in_c = s.in_pixel_stride = size_t(w[0]);
    s.out_c = s.out_pixel_stride = size_t(w[1] * group);
    s.batch = x ? size_t((*x)[0]) : 1;
    size_t* const fields[][6] = {
        {&s.in_h, &s.out_h, &s.kernel_h, &s.stride_h, &s.dilation_h, &s.pad_top},
        {&s.in_w, &s.out_w, &s.kernel_w, &s.stride_w, &s.dilation_w, &s.pad_left},
    };
    const size_t flat = w.rank() == 3;  // with one spatial axis, it is the width
    for (size_t d = 0; d + 2 < w.rank(); ++d) {
      const int64_t values[] = {x ? (*x)[d + 1] : 1, y ? (*y)[d + 1] : 1,   w[d + 2],
                                item(strides, d, 1), item(dilations, d, 1), item(pads, d, 0)};
      for (size_t i = 0; i < 6; ++i) *fields[d + flat][i] = size_t(values[i]);
    }
    return s;
  }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const Tensor* w = c.constant(kW);
    require(w && w->dtype() == DType::f32, ErrorCode::invalid_graph,
            "retort.ConvTranspose needs constant float weights");
    const kernels::ConvTransposeShape s = geometry(nullptr, w->shape(), nullptr);
    auto state = std::make_unique<PackedTransposed>();
    state->memory = c.packed(kernels::conv_transpose_packed_bytes(s), [&](void* to) {
      kernels::conv_transpose_pack(s, w->data<float>(), static_cast<float*>(to), c.parallel());
    });
    c.release(kW);
    return state;
  }

  bool reads_rows(const RunContext& c, size_t i) const {
    return i == kX || (i == kResidual && c.has(i) && c.shape(i) == c.out_shape());
  }
  bool writes_rows(const RunContext&) const { return true; }

  kernels::ConvTransposeArgs arguments(const RunContext& c) const {
    kernels::ConvTransposeArgs a;
    a.shape = geometry(&c.shape(kX), c.shape(kW), &c.out_shape());
    a.shape.in_pixel_stride = c.row_step(kX);
    a.shape.out_pixel_stride = c.out_row_step();
    a.input = static_cast<const float*>(c.data(kX));
    a.output = static_cast<float*>(c.out_data());
    a.epilogue.bias = c.optional<float>(kBias);
    a.epilogue.residual = c.optional<float>(kResidual);
    a.epilogue.residual_stride = reads_rows(c, kResidual) ? c.row_step(kResidual) : a.shape.out_c;
    a.epilogue.activation = value();
    require((!c.has(kBias) || c.count(kBias) == a.shape.out_c) &&
                (!c.has(kResidual) || c.count(kResidual) == c.out_count()),
            ErrorCode::invalid_argument, "the bias or residual does not match {}", c.out_shape());
    if (const auto* state = c.state<PackedTransposed>()) a.packed = static_cast<const float*>(state->memory.get());
    return a;
  }
  size_t scratch(const RunContext& c) const {
    return kernels::conv_transpose_scratch_bytes(arguments(c).shape, c.parallel().workers());
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    kernels::conv_transpose(arguments(c), c.scratch(), c.parallel());
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    kernels::conv_transpose_reference(arguments(c), c.input<T>(kW).data());
  }
};

}  // namespace

extern const OpDef op_nhwc_conv_transpose;
constinit const OpDef op_nhwc_conv_transpose = define<NhwcConvTranspose>({
    .name = "ConvTranspose",
    .domain = "retort",
    .inputs = {"X: T", "W: T", "B: T?", "R: T?"},
    .outputs = {"Y: T"},
    .types = types({DType::f32}),
    .traits = kInternal,
});

}  // namespace retort::ops
