// Rows of features: what ai.onnx.ml takes, numbers of several types, as floats.
#pragma once
#include <vector>

#include "kernels/elementwise/cast.h"
#include "ops/op.h"

namespace retort::ops {

inline constexpr TypeSet kFeatureTypes = types({DType::f32, DType::f64, DType::i64, DType::i32});

/// Input i as floats.
inline std::vector<float> load_features(const RunContext& c, size_t i) {
  std::vector<float> x(c.count(i));
  kernels::cast(c.data(i), c.dtype(i), x.data(), DType::f32, x.size(), c.parallel());
  return x;
}

/// Input 0 as rows: [rows, features], or one row [features].
struct FeatureRows {
  size_t rows, features;
  static FeatureRows of(const RunContext& c) {
    const Shape& s = c.shape(0);
    const size_t features = s.empty() ? 1 : size_t(s.back());
    return {features ? c.count(0) / features : s.rank() > 1 ? size_t(s[0]) : 1, features};
  }
};

}  // namespace retort::ops
