#include <algorithm>
#include <iterator>
#include <type_traits>

#include "kernels/elementwise/chunks.h"
#include "kernels/reduce/reduce.h"

namespace retort::kernels {
namespace {

constexpr size_t kColumns = 64;  // slices that are compared side by side

/// Whether v takes the place of `best`, which came before.
template <bool kMin, bool kLast, typename T>
bool wins(T v, T best) {
  if constexpr (kMin) return kLast ? v <= best : v < best;
  return kLast ? v >= best : v > best;
}

/// `width` neighbouring slices: one pass over their rows.
template <bool kMin, bool kLast, typename T>
void arg_columns(const ArgReduce& a, const T* x, int64_t* y, size_t width) {
  T best[kColumns];
  std::copy_n(x, width, best);
  std::fill_n(y, width, 0);
  for (size_t k = 1; k < a.extent; ++k) {
    const T* const row = x + k * a.inner;
    for (size_t c = 0; c < width; ++c) {
      const bool better = wins<kMin, kLast>(row[c], best[c]);
      best[c] = better ? row[c] : best[c];
      y[c] = better ? int64_t(k) : y[c];
    }
  }
}

/// One contiguous slice: the extreme first, by 16 lanes that the compiler vectorises, then its place.
template <bool kMin, typename T>
int64_t arg_row(const T* x, size_t n, bool last) {
  if constexpr (std::is_floating_point_v<T>) {
    if (x[0] != x[0]) return 0;
  }
  const auto better = [](T v, T best) { return wins<kMin, false>(v, best) ? v : best; };
  T lanes[16];
  std::fill_n(lanes, 16, x[0]);
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (size_t l = 0; l < 16; ++l) lanes[l] = better(x[i + l], lanes[l]);
  }
  T best = lanes[0];
  for (const T v : lanes) best = better(v, best);
  for (; i < n; ++i) best = better(x[i], best);
  if (last) {
    const auto found = std::find(std::make_reverse_iterator(x + n), std::make_reverse_iterator(x), best);
    return found.base() - x - 1;
  }
  return std::find(x, x + n, best) - x;
}

template <bool kMin, bool kLast, typename T>
void arg_all(const ArgReduce& a, const T* x, int64_t* y, const Parallel& par) {
  if (a.inner == 1) {
    const auto task = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) y[i] = arg_row<kMin>(x + i * a.extent, a.extent, kLast);
    };
    return for_chunks(par, a.outer, task, std::max<size_t>(1, kChunk / a.extent));
  }
  const size_t tiles = (a.inner + kColumns - 1) / kColumns;
  const auto task = [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      const size_t outer = t / tiles, at = t % tiles * kColumns;
      const size_t width = std::min(kColumns, a.inner - at);
      arg_columns<kMin, kLast>(a, x + outer * a.extent * a.inner + at, y + outer * a.inner + at, width);
    }
  };
  for_chunks(par, a.outer * tiles, task, std::max<size_t>(1, kChunk / (a.extent * std::min(a.inner, kColumns))));
}

}  // namespace

template <typename T>
void arg_reduce(const ArgReduce& args, const T* x, int64_t* y, const Parallel& par) noexcept {
  if (args.outer * args.inner == 0) return;
  if (args.min) return args.last ? arg_all<true, true>(args, x, y, par) : arg_all<true, false>(args, x, y, par);
  args.last ? arg_all<false, true>(args, x, y, par) : arg_all<false, false>(args, x, y, par);
}

template decltype(arg_reduce<float>) arg_reduce<float>;
template decltype(arg_reduce<double>) arg_reduce<double>;
template decltype(arg_reduce<int8_t>) arg_reduce<int8_t>;
template decltype(arg_reduce<uint8_t>) arg_reduce<uint8_t>;
template decltype(arg_reduce<int32_t>) arg_reduce<int32_t>;
template decltype(arg_reduce<int64_t>) arg_reduce<int64_t>;

}  // namespace retort::kernels
