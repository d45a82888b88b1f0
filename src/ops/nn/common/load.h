// Reads and writes floating-point parameters, whose type may differ from the operator's T, as double.
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

/// Sets element j of output i, of any float type, to value(j), a double. Does nothing if the output is omitted.
template <typename Value>
void fill_floats(RunContext& c, size_t i, const Value& value) {
  if (!c.wants(i)) return;
  const auto fill = [&]<typename T>(std::type_identity<T>) {
    const auto y = c.output<T>(i);
    for (size_t j = 0; j < y.size(); ++j) {
      if constexpr (std::is_same_v<T, double>)
        y[j] = value(j);
      else
        y[j] = T(float(value(j)));
    }
  };
  switch (c.out_dtype(i)) {
    case DType::f32:
      return fill(std::type_identity<float>{});
    case DType::f64:
      return fill(std::type_identity<double>{});
    case DType::f16:
      return fill(std::type_identity<float16>{});
    case DType::bf16:
      return fill(std::type_identity<bfloat16>{});
    default:
      fail(ErrorCode::invalid_argument, "output {} is of type {}", i, dtype_name(c.out_dtype(i)));
  }
}

/// Output i, of any float type.
inline void store_floats(RunContext& c, size_t i, std::span<const double> values) {
  fill_floats(c, i, [=](size_t j) { return values[j]; });
}

}  // namespace retort::ops
