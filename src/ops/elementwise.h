// Shared by elementwise operators.
#pragma once
#include <algorithm>
#include <array>
#include <span>

#include "base/function_ref.h"
#include "kernels/elementwise/cast.h"
#include "ops/op.h"

namespace retort::ops {

/// An operator with one input and one output of the same type and shape; content is not propagated.
struct UnaryElementwise {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), c.shape(0));
  }
};

/// Calls f(output index, a index, b index) for every element of the broadcast of two inputs; for references.
void for_each_broadcast(const Shape& out, const Shape& a, const Shape& b, FunctionRef<void(size_t, size_t, size_t)> f);

/// The type that T is computed in: float for 16-bit floats, 64-bit integers for narrower ones and bool, otherwise T.
template <typename T>
struct CarrierOf {
  using type = T;
};
template <>
struct CarrierOf<float16> {
  using type = float;
};
template <>
struct CarrierOf<bfloat16> {
  using type = float;
};
template <std::signed_integral T>
struct CarrierOf<T> {
  using type = int64_t;
};
template <std::unsigned_integral T>
struct CarrierOf<T> {
  using type = uint64_t;
};
template <typename T>
using Carrier = typename CarrierOf<T>::type;

template <typename T, typename... List>
concept OneOf = (std::same_as<T, List> || ...);
/// Types whose elements operators compute themselves; those of 8 and 16 bits are converted (ops/carried.h).
template <typename T>
concept Wide = OneOf<T, float, double, int32_t, uint32_t, int64_t, uint64_t>;

/// Calls f(begin, end) for consecutive ranges of output elements, from several threads.
void for_output_chunks(const RunContext& c, FunctionRef<void(size_t begin, size_t end)> f);

/// Calls f(part, i) for elements [begin, end) of 16-bit floats, some at a time: `part` is a span of those from i on as
/// floats, which f may change.
template <OneOf<float16, bfloat16> T, typename F>
void in_float_parts(const T* x, size_t begin, size_t end, const F& f) {
  std::array<float, 1024> memory;
  for (size_t i = begin; i < end; i += memory.size()) {
    const std::span<float> part = std::span(memory).first(std::min(memory.size(), end - i));
    kernels::cast(x + i, dtype_of<T>, part.data(), DType::f32, part.size(), {});
    f(part, i);
  }
}

/// n output elements, starting with `out`; the elements of inputs 0 and 1 start at `a` and `b` and advance by `a_step`,
/// `b_step`.
struct PairRun {
  size_t out, a, b, n, a_step, b_step;
};
/// Calls f for runs that cover the broadcast of inputs 0 and 1, from several threads.
void for_pair_runs(const RunContext& c, FunctionRef<void(const PairRun&)> f);

/// y[i] = f(x[i]).
template <Wide T, typename R = T, typename F>
void map_elements(RunContext& c, const F& f) {
  const T* x = c.input<T>(0).data();
  R* y = c.output<R>().data();
  for_output_chunks(c, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) y[i] = R(f(x[i]));
  });
}

/// y[i] = f(a, b) under broadcasting.
template <typename T, typename R = T, typename F>
void map_broadcast(RunContext& c, const F& f) {
  const T *a = c.input<T>(0).data(), *b = c.input<T>(1).data();
  R* y = c.output<R>().data();
  for_pair_runs(c, [&](const PairRun& r) {
    for (size_t i = 0; i < r.n; ++i) y[r.out + i] = R(f(a[r.a + i * r.a_step], b[r.b + i * r.b_step]));
  });
}

}  // namespace retort::ops
