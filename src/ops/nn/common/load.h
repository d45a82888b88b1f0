// Floating-point parameters whose type is not that of the operator's T: read and written as double.
#pragma once
#include <vector>

#include "ops/op.h"

namespace retort::ops {

/// Input i, of any float type.
inline std::vector<double> load_floats(const RunContext& c, size_t i) {
  std::vector<double> values(c.count(i));
  const auto copy = [&]<typename T>(std::type_identity<T>, auto to_double) {
    for (size_t j = 0; j < values.size(); ++j) values[j] = to_double(c.input<T>(i)[j]);
  };
  const auto widen = [](auto v) { return double(float(v)); };
  switch (c.dtype(i)) {
    case DType::f32:
      copy(std::type_identity<float>{}, widen);
      break;
    case DType::f64:
      copy(std::type_identity<double>{}, [](double v) { return v; });
      break;
    case DType::f16:
      copy(std::type_identity<float16>{}, widen);
      break;
    case DType::bf16:
      copy(std::type_identity<bfloat16>{}, widen);
      break;
    default:
      fail(ErrorCode::invalid_argument, "input {} is of type {}", i, dtype_name(c.dtype(i)));
  }
  return values;
}

/// Output i, of any float type; nothing happens when it is not wanted.
inline void store_floats(RunContext& c, size_t i, std::span<const double> values) {
  if (!c.wants(i)) return;
  const auto copy = [&]<typename T>(std::type_identity<T>) {
    for (size_t j = 0; j < values.size(); ++j) {
      if constexpr (std::is_same_v<T, double>)
        c.output<T>(i)[j] = values[j];
      else
        c.output<T>(i)[j] = T(float(values[j]));
    }
  };
  switch (c.out_dtype(i)) {
    case DType::f32:
      return copy(std::type_identity<float>{});
    case DType::f64:
      return copy(std::type_identity<double>{});
    case DType::f16:
      return copy(std::type_identity<float16>{});
    case DType::bf16:
      return copy(std::type_identity<bfloat16>{});
    default:
      fail(ErrorCode::invalid_argument, "output {} is of type {}", i, dtype_name(c.out_dtype(i)));
  }
}

}  // namespace retort::ops
