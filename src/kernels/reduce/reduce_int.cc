#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise/chunks.h"
#include "kernels/reduce/walk.h"

namespace retort::kernels {
namespace {

/// Calls f(element) for all elements of the output whose first element is at `first`.
template <typename T, typename F>
void for_elements(const ReducePlan& plan, const T* x, size_t first, const F& f) {
  const InnerRun run = inner_run(plan);
  for_reduced(plan, first, [&](size_t at) {
    for (size_t k = 0; k < run.extent; ++k) f(x[at + k * run.stride]);
  });
}

template <typename T>
T from_double(double v) {
  constexpr double kTop = double(std::numeric_limits<T>::max());
  if (!(v > double(std::numeric_limits<T>::min()))) return std::numeric_limits<T>::min();
  return v >= kTop ? std::numeric_limits<T>::max() : T(v);
}

template <typename T>
T reduce_one(Reduce op, const T* x, const ReducePlan& plan, size_t first) {
  uint64_t wrapped = op == Reduce::prod ? 1 : 0;  // arithmetic modulo 2^64 is exact in the low bits of every T
  T extreme = op == Reduce::max ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  double real = 0;
  const auto each = [&](const auto& f) { for_elements(plan, x, first, f); };
  switch (op) {
    case Reduce::sum:
      each([&](T v) { wrapped += uint64_t(v); });
      return T(wrapped);
    case Reduce::prod:
      each([&](T v) { wrapped *= uint64_t(v); });
      return T(wrapped);
    case Reduce::sum_square:
      each([&](T v) { wrapped += uint64_t(v) * uint64_t(v); });
      return T(wrapped);
    case Reduce::l1:
      each([&](T v) { wrapped += v < 0 ? 0 - uint64_t(v) : uint64_t(v); });
      return T(wrapped);
    case Reduce::max:
      each([&](T v) { extreme = std::max(extreme, v); });
      return extreme;
    case Reduce::min:
      each([&](T v) { extreme = std::min(extreme, v); });
      return extreme;
    case Reduce::mean:
      each([&](T v) { real += double(v); });
      return plan.count ? from_double<T>(real / double(plan.count)) : T(0);
    case Reduce::l2:
      each([&](T v) { real += double(v) * double(v); });
      return from_double<T>(std::sqrt(real));
    case Reduce::log_sum:
      each([&](T v) { real += double(v); });
      return from_double<T>(std::log(real));
    case Reduce::log_sum_exp: {
      double max = -std::numeric_limits<double>::infinity();
      each([&](T v) { max = std::max(max, double(v)); });
      each([&](T v) { real += std::exp(double(v) - max); });
      return from_double<T>(plan.count ? std::log(real) + max : max);
    }
  }
  return 0;
}

}  // namespace

template <typename T>
void reduce(Reduce op, const T* x, T* y, const ReducePlan& plan, const Parallel& par) noexcept {
  const auto task = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) y[i] = reduce_one(op, x, plan, plan.offset(i));
  };
  for_chunks(par, plan.outputs, task, std::max<size_t>(1, kChunk / std::max<size_t>(1, plan.count)));
}

template decltype(reduce<int8_t>) reduce<int8_t>;
template decltype(reduce<uint8_t>) reduce<uint8_t>;
template decltype(reduce<int32_t>) reduce<int32_t>;
template decltype(reduce<uint32_t>) reduce<uint32_t>;
template decltype(reduce<int64_t>) reduce<int64_t>;

}  // namespace retort::kernels
