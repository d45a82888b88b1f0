#include "kernels/move/sequence.h"

#include <algorithm>
#include <type_traits>

#include "base/checked.h"
#include "kernels/elementwise/chunks.h"

namespace retort::kernels {
namespace {

/// Slices whose totals are computed together: their last rows stay in the first-level cache.
constexpr size_t kColumns = 1024;

template <bool kProduct, typename T>
T grown(T a, T b) {
  if constexpr (std::is_integral_v<T>) return T(kProduct ? uint64_t(a) * uint64_t(b) : uint64_t(a) + uint64_t(b));
  return kProduct ? a * b : a + b;
}

/// One contiguous slice: the total stays in a register.
template <bool kProduct, typename T>
void run_line(const Running& a, const T* x, T* y) {
  T total = T(kProduct);
  for (size_t n = 0; n < a.extent; ++n) {
    const size_t at = a.reverse ? a.extent - 1 - n : n;
    const T next = grown<kProduct>(total, x[at]);
    y[at] = a.exclusive ? total : next;
    total = next;
  }
}

template <bool kProduct, typename T>
void grow_row(const T* __restrict before, const T* __restrict x, T* __restrict y, size_t n) {
  for (size_t c = 0; c < n; ++c) y[c] = grown<kProduct>(before[c], x[c]);
}
/// Two rows: the totals of the first need not be read again.
template <bool kProduct, typename T>
void grow_rows(const T* __restrict before, const T* __restrict x0, const T* __restrict x1, T* __restrict y0,
               T* __restrict y1, size_t n) {
  for (size_t c = 0; c < n; ++c) {
    const T total = grown<kProduct>(before[c], x0[c]);
    y0[c] = total;
    y1[c] = grown<kProduct>(total, x1[c]);
  }
}

/// `width` neighbouring slices along the axis: each row is computed from the previous one.
template <bool kProduct, typename T>
void run_columns(const Running& a, const T* x, T* y, size_t width) {
  const ptrdiff_t step = a.reverse ? -ptrdiff_t(a.inner) : ptrdiff_t(a.inner);
  ptrdiff_t at = a.reverse ? ptrdiff_t((a.extent - 1) * a.inner) : 0;
  const ptrdiff_t taken = a.exclusive ? step : 0;  // how far before the row is the element that a total adds
  for (size_t c = 0; c < width; ++c)
    y[at + ptrdiff_t(c)] = a.exclusive ? T(kProduct) : grown<kProduct>(T(kProduct), x[at + ptrdiff_t(c)]);
  size_t n = 1;
  constexpr bool kTwo = sizeof(T) == 4 && !kProduct;  // of wider elements, the memory is the limit
  for (; kTwo && n + 2 <= a.extent; n += 2, at += 2 * step) {
    const T *const before = y + at, *const more = x + at + step - taken;
    grow_rows<kProduct>(before, more, more + step, y + at + step, y + at + 2 * step, width);
  }
  for (; n < a.extent; ++n) {
    at += step;
    grow_row<kProduct>(y + at - step, x + at - taken, y + at, width);
  }
}

template <bool kProduct, typename T>
void run_all(const Running& a, const T* x, T* y, const Parallel& par) {
  if (a.extent == 0 || a.inner == 0) return;
  const size_t tiles = ceil_div(a.inner, kColumns);
  const auto task = [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      const size_t column = t % tiles * kColumns, at = t / tiles * a.extent * a.inner + column;
      if (a.inner == 1)
        run_line<kProduct>(a, x + at, y + at);
      else
        run_columns<kProduct>(a, x + at, y + at, std::min(kColumns, a.inner - column));
    }
  };
  for_chunks(par, a.outer * tiles, task, std::max<size_t>(1, kChunk / (a.extent * std::min(a.inner, kColumns))));
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
void running_sum(const Running& args, const T* x, T* y, const Parallel& par) noexcept {
  run_all<false>(args, x, y, par);
}
template <typename T>
void running_product(const Running& args, const T* x, T* y, const Parallel& par) noexcept {
  run_all<true>(args, x, y, par);
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
template decltype(running_sum<float>) running_sum<float>;
template decltype(running_product<float>) running_product<float>;
template decltype(running_sum<double>) running_sum<double>;
template decltype(running_sum<int32_t>) running_sum<int32_t>;
template decltype(running_sum<int64_t>) running_sum<int64_t>;
template decltype(running_product<int64_t>) running_product<int64_t>;
template decltype(count_nonzero<uint8_t>) count_nonzero<uint8_t>;
template decltype(count_nonzero<int32_t>) count_nonzero<int32_t>;
template decltype(count_nonzero<int64_t>) count_nonzero<int64_t>;
template decltype(count_nonzero<float>) count_nonzero<float>;
template decltype(nonzero<uint8_t>) nonzero<uint8_t>;
template decltype(nonzero<int32_t>) nonzero<int32_t>;
template decltype(nonzero<int64_t>) nonzero<int64_t>;
template decltype(nonzero<float>) nonzero<float>;

}  // namespace retort::kernels
