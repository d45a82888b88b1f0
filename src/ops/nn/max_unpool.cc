// MaxUnpool: puts the values of a MaxPool back at their indices, with zeros elsewhere.
#include "ops/integers.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct MaxUnpool {
  std::vector<int64_t> kernel, pads, strides;
  static constexpr std::tuple attributes{required("kernel_shape", &MaxUnpool::kernel), attr("pads", &MaxUnpool::pads),
                                         attr("strides", &MaxUnpool::strides)};
  enum Input : size_t { kX, kIndices, kShape };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kX));
    expect_shape_if_given(c, kShape, "output_shape", {int64_t(kernel.size()) + 2});
    const Shape& x = c.shape(kX);
    const size_t axes = kernel.size();
    require(x.rank() == axes + 2 && (pads.empty() || pads.size() == 2 * axes) &&
                (strides.empty() || strides.size() == axes),
            ErrorCode::invalid_argument, "X has rank {}, kernel_shape {} entries, pads {}, strides {}", x.rank(), axes,
            pads.size(), strides.size());
    Shape y = x;
    DimTable& d = c.dims();
    for (size_t i = 0; i < axes; ++i) {
      const int64_t stride = strides.empty() ? 1 : strides[i], pad = pads.empty() ? 0 : pads[i] + pads[i + axes];
      y[i + 2] = d.add(d.mul(d.sub(x[i + 2], 1), stride), kernel[i] - pad);
    }
    if (c.has(kShape)) {
      const auto given = c.try_value(kShape);
      require(!given || given->size() == y.rank(), ErrorCode::invalid_argument, "output_shape has {} extents, X {}",
              given ? given->size() : 0, y.rank());
      for (size_t i = 0; i < y.rank(); ++i) y[i] = given ? (*given)[i] : c.unknown_extent();
    }
    for (const Dim extent : y)
      require(!is_known(extent) || extent >= 0, ErrorCode::invalid_argument, "an output of shape {}", d.text(y));
    c.set(0, c.dtype(kX), y);
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    require(c.shape(kX) == c.shape(kIndices), ErrorCode::invalid_argument, "X has shape {}, its indices {}",
            c.shape(kX), c.shape(kIndices));
    const auto y = c.output<T>();
    std::fill(y.begin(), y.end(), T(0));
    const Pooled from = pooled_shape(c);
    const auto x = c.input<T>(kX);
    const auto indices = c.input<int64_t>(kIndices);
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t at = from.same ? indices[i] : from.place(c.out_shape(), indices[i]);
      if (at < 0 || at >= int64_t(y.size())) fail_index(c, i);
      y[size_t(at)] = x[i];
    }
  }

 private:
  [[noreturn]] static void fail_index(const RunContext& c, size_t i) {
    fail(ErrorCode::invalid_argument, "the index {} of element {} is outside of {}", c.input<int64_t>(kIndices)[i], i,
         to_string(c.out_shape()));
  }

  // Indices refer to the tensor that was pooled; a given output shape may be larger.
  struct Pooled {
    Shape shape;
    bool same;
    int64_t place(const Shape& y, int64_t index) const {
      if (index < 0) return index;
      int64_t at = 0, step = 1;
      for (size_t d = y.rank(); d-- > 0; step *= y[d]) {
        const int64_t extent = std::max<int64_t>(shape[d], 1), k = d == 0 ? index : index % extent;
        if (k >= y[d]) return -1;
        at += k * step;
        index /= extent;
      }
      return at;
    }
  };
  Pooled pooled_shape(const RunContext& c) const {
    Shape s = c.shape(kX);
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t stride = strides.empty() ? 1 : strides[i];
      s[i + 2] = (s[i + 2] - 1) * stride + kernel[i] - (pads.empty() ? 0 : pads[i] + pads[i + kernel.size()]);
    }
    return {s, s == c.out_shape()};
  }
};

}  // namespace

extern const OpDef op_max_unpool;
constinit const OpDef op_max_unpool = define<MaxUnpool>({
    .name = "MaxUnpool",
    .since = {9, 11, 22},
    .inputs = {"X: T", "I: int64", "output_shape: int64?"},
    .outputs = {"output: T"},
    .types = kFloats,
});

}  // namespace retort::ops
