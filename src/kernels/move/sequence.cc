#include "kernels/move/sequence.h"

#include <algorithm>
#include <type_traits>

#include "kernels/elementwise/chunks.h"

namespace retort::kernels {
namespace {

template <typename T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) return T(uint64_t(a) + uint64_t(b));
  return a + b;
}

/// One slice along the axis, its elements `stride` apart.
template <typename T>
void cumsum_slice(const CumSum& a, const T* x, T* y) {
  T sum = 0;
  for (size_t n = 0; n < a.extent; ++n) {
    const size_t at = (a.reverse ? a.extent - 1 - n : n) * a.inner;
    const T next = add(sum, x[at]);
    y[at] = a.exclusive ? sum : next;
    sum = next;
  }
}

}  // namespace

template <typename T>
void range(T start, T delta, std::span<T> y) noexcept {
  for (size_t i = 0; i < y.size(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      y[i] = start + T(i) * delta;
    } else {
      y[i] = T(uint64_t(start) + i * uint64_t(delta));
    }
  }
}

template <typename T>
void cumsum(const CumSum& a, const T* x, T* y, const Parallel& par) noexcept {
  if (a.extent == 0) return;
  const auto task = [&](size_t begin, size_t end) {
    for (size_t s = begin; s < end; ++s) {
      const size_t at = s / a.inner * a.extent * a.inner + s % a.inner;
      cumsum_slice(a, x + at, y + at);
    }
  };
  for_chunks(par, a.outer * a.inner, task, std::max<size_t>(1, kChunk / a.extent));
}

template <typename T>
size_t count_nonzero(std::span<const T> x) noexcept {
  size_t n = 0;
  for (const T v : x) n += v != T(0);
  return n;
}

template <typename T>
void nonzero(std::span<const T> x, std::span<const int64_t> shape, size_t count, int64_t* y) noexcept {
  const size_t rank = std::max<size_t>(1, shape.size());
  size_t found = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == T(0)) continue;
    int64_t rest = int64_t(i);
    for (size_t d = rank; d-- > 0;) {
      const int64_t extent = shape.empty() ? 1 : shape[d];
      y[d * count + found] = rest % extent;
      rest /= extent;
    }
    ++found;
  }
}

template decltype(range<float>) range<float>;
template decltype(range<double>) range<double>;
template decltype(range<int16_t>) range<int16_t>;
template decltype(range<int32_t>) range<int32_t>;
template decltype(range<int64_t>) range<int64_t>;
template decltype(cumsum<float>) cumsum<float>;
template decltype(cumsum<double>) cumsum<double>;
template decltype(cumsum<int32_t>) cumsum<int32_t>;
template decltype(cumsum<int64_t>) cumsum<int64_t>;
template decltype(count_nonzero<uint8_t>) count_nonzero<uint8_t>;
template decltype(count_nonzero<int32_t>) count_nonzero<int32_t>;
template decltype(count_nonzero<int64_t>) count_nonzero<int64_t>;
template decltype(count_nonzero<float>) count_nonzero<float>;
template decltype(nonzero<uint8_t>) nonzero<uint8_t>;
template decltype(nonzero<int32_t>) nonzero<int32_t>;
template decltype(nonzero<int64_t>) nonzero<int64_t>;
template decltype(nonzero<float>) nonzero<float>;

}  // namespace retort::kernels
