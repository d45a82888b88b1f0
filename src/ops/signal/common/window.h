// Windows made of cosines: a0 - a1 cos(2πn/N) + a2 cos(4πn/N).
#pragma once
#include <cmath>
#include <numbers>

#include "kernels/elementwise/cast.h"
#include "ops/integers.h"
#include "ops/op.h"

namespace retort::ops {

/// N is the size for periodic windows, one less for symmetric ones.
struct CosineWindow {
  bool periodic = true;
  DType output_datatype = DType::f32;
  static constexpr std::tuple attributes{attr("output_datatype", &CosineWindow::output_datatype),
                                         attr("periodic", &CosineWindow::periodic)};

  void check() const {
    require(contains(kNumeric, output_datatype), ErrorCode::invalid_argument, "output_datatype is {}",
            dtype_name(output_datatype));
  }
  void infer(InferContext& c) const {
    c.set(0, output_datatype);
    if (c.node()) expect_rank(c, 0, 0);  // in a run, ONNX Runtime takes any shape of one element
    const auto size = c.try_value(0);
    const Dim n = size ? scalar_value(c, 0) : c.unknown_extent();
    require(!is_known(n) || n >= 0, ErrorCode::invalid_argument, "a window of {} elements", n);
    c.set(0, output_datatype, {n});
  }
  Cost cost(const CostContext& c) const { return {.operations = c.out_count()}; }
  void fill(RunContext& c, double a0, double a1, double a2) const {
    std::vector<double> y(c.out_count());
    const double step = 2 * std::numbers::pi / std::max<double>(double(y.size()) - (periodic ? 0 : 1), 1);
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = a0 - a1 * std::cos(step * double(i)) + a2 * std::cos(2 * step * double(i));
    kernels::cast(y.data(), DType::f64, c.out_data(), output_datatype, y.size(), c.parallel());
  }
};

}  // namespace retort::ops
