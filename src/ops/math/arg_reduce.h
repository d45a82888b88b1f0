// ArgMax, ArgMin: the index of the extreme element along an axis. A NaN never wins a comparison. Of a scalar it is 0,
// whatever the axis, as in ONNX Runtime.
#pragma once
#include "kernels/reduce/reduce.h"
#include "ops/elementwise.h"

namespace retort::ops {

template <bool kMin>
struct ArgReduce {
  int64_t axis = 0;
  int64_t keepdims = 1;  ///< any other number drops the axis
  bool select_last_index = false;
  static constexpr std::tuple attributes{attr("axis", &ArgReduce::axis), attr("keepdims", &ArgReduce::keepdims),
                                         attr("select_last_index", &ArgReduce::select_last_index)};

  void infer(InferContext& c) const {
    c.set(0, DType::i64);
    const Shape& x = c.shape(0);
    if (x.empty()) return c.set(0, DType::i64, x);
    const size_t along = c.axis(axis, x.rank());
    Shape y;
    for (size_t d = 0; d < x.rank(); ++d) {
      if (d != along) y.push_back(x[d]);
      if (d == along && keepdims == 1) y.push_back(1);
    }
    c.set(0, DType::i64, y);
  }

  kernels::ArgReduce layout(const RunContext& c) const {
    const Shape& x = c.shape(0);
    if (x.empty()) return {.outer = 1, .extent = 1, .inner = 1, .min = kMin};
    const size_t along = normalize_axis(axis, x.rank());
    require(x[along] > 0 || c.out_count() == 0, ErrorCode::invalid_argument, "axis {} of the input is empty", along);
    return {.outer = size_t(extent_product(x, 0, along)),
            .extent = size_t(x[along]),
            .inner = size_t(extent_product(x, along + 1, x.rank())),
            .min = kMin,
            .last = select_last_index};
  }

  template <typename T>
  void reference(RunContext& c) const {
    const kernels::ArgReduce a = layout(c);
    const auto y = c.output<int64_t>();
    for (size_t i = 0; i < y.size(); ++i) {
      const T* x = c.input<T>(0).data() + i / a.inner * a.extent * a.inner + i % a.inner;
      size_t best = 0;
      for (size_t k = 1; k < a.extent; ++k) {
        const T v = x[k * a.inner], b = x[best * a.inner];
        if ((kMin ? v < b : v > b) || (select_last_index && v == b)) best = k;
      }
      y[i] = int64_t(best);
    }
  }
  template <OneOf<float, double, int8_t, uint8_t, int32_t, int64_t> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    if (c.out_count() > 0)
      kernels::arg_reduce(layout(c), c.input<T>(0).data(), c.output<int64_t>().data(), c.parallel());
  }
};

}  // namespace retort::ops
