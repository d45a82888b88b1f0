// The family of predicates on floats, float8 included. An operator is a struct `Op : Predicate<Op>` with
//   template <typename T> bool test(T x) const;  T is float or double
#pragma once
#include <cmath>

#include "ops/elementwise.h"
#include "ops/math/common/small_float.h"

namespace retort::ops {

template <typename Op>
struct Predicate {
  void infer(InferContext& c) const {
    c.set(0, DType::boolean);
    c.set(0, DType::boolean, c.shape(0));
  }
  void run(RunContext& c) const {
    switch (c.dtype(0)) {
      case DType::f32:
        return map<float>(c);
      case DType::f64:
        return map<double>(c);
      case DType::f16:
        return map<float16>(c);
      case DType::bf16:
        return map<bfloat16>(c);
      default:
        for (size_t i = 0; i < c.count(0); ++i)
          c.output<bool>()[i] = self().test(double(decode_small_float(c.dtype(0), c.input<uint8_t>(0)[i])));
    }
  }

 private:
  const Op& self() const { return static_cast<const Op&>(*this); }
  template <typename T>
  void test_all(const T* x, bool* y, size_t n) const {
    const Op op = self();
    auto* const bytes = reinterpret_cast<uint8_t*>(y);
    for (size_t i = 0; i < n; ++i) bytes[i] = op.test(x[i]);
  }
  template <typename T>
  void map(RunContext& c) const {
    const T* x = c.input<T>(0).data();
    bool* y = c.output<bool>().data();
    for_output_chunks(c, [&](size_t begin, size_t end) {
      if constexpr (sizeof(T) > 2) {
        test_all(x + begin, y + begin, end - begin);
      } else {
        in_float_parts(x, begin, end,
                       [&](std::span<float> part, size_t i) { test_all(part.data(), y + i, part.size()); });
      }
    });
  }
};

inline constexpr TypeSet kFloatsAndFloat8 =
    kFloats | types({DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz});

}  // namespace retort::ops
