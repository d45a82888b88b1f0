#include <algorithm>
#include <iterator>
#include <limits>
#include <type_traits>

#include "base/checked.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/move/transpose_tile.h"
#include "kernels/reduce/reduce.h"

namespace retort::kernels {
namespace {

constexpr size_t kColumns = 64;    // number of slices that are compared together
constexpr size_t kShortRow = 256;  // bytes: shorter rows become columns, because one row fills few vectors

/// Whether v replaces `best`, which came before it.
template <bool kMin, bool kLast, typename T>
bool wins(T v, T best) {
  if constexpr (kMin) return kLast ? v <= best : v < best;
  return kLast ? v >= best : v > best;
}

template <typename T>
using RowNumber = std::conditional_t<sizeof(T) == 8, int64_t, std::conditional_t<sizeof(T) == 1, int8_t, int32_t>>;

/// y = first + at if `at` is a row. Rarely called.
template <typename Row>
[[gnu::noinline]] void number(const Row* at, size_t first, size_t width, int64_t* y) {
  for (size_t c = 0; c < width; ++c) {
    if (at[c] >= 0) y[c] = int64_t(first) + at[c];
  }
}

/// `width` neighbouring slices: one pass over their rows. Row numbers are as wide as the elements, so that the compiler
/// vectorises, and start again before they would overflow.
template <bool kMin, bool kLast, typename T>
void arg_columns(const ArgReduce& a, const void* elements, int64_t* y, size_t width) {
  const T* const x = static_cast<const T*>(elements);
  using Row = RowNumber<T>;
  constexpr auto kRows = size_t(std::numeric_limits<Row>::max());
  T best[kColumns];
  Row at[kColumns];
  std::copy_n(x, width, best);
  std::fill_n(y, width, 0);
  for (size_t first = 0; first < a.extent; first += kRows) {
    const Row rows = Row(std::min(kRows, a.extent - first));
    std::fill_n(at, width, Row(-1));
    for (Row k = 0; k < rows; ++k) {
      const T* const row = x + (first + size_t(k)) * a.inner;
      for (size_t c = 0; c < width; ++c) {
        // No branch: the compiler would not vectorise a branch on a comparison of floats.
        const Row better = Row(-Row(wins<kMin, kLast>(row[c], best[c])));
        at[c] = Row((k & better) | (at[c] & ~better));
        best[c] = wins<kMin, kLast>(row[c], best[c]) ? row[c] : best[c];
      }
    }
    number(at, first, width, y);
  }
}

/// One contiguous slice: first the extreme, by 16 lanes that the compiler vectorises, then its position.
template <bool kMin, typename T>
int64_t arg_row(const void* elements, size_t n, bool last) {
  const T* const x = static_cast<const T*>(elements);
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

/// The loops for elements of one type.
struct Loops {
  size_t size;
  int64_t (*row)(const void* x, size_t n, bool last);
  void (*columns)(const ArgReduce& a, const void* x, int64_t* y, size_t width);
};

/// Rows that are short become columns, because one row fills few vectors.
void arg_short_rows(const ArgReduce& a, const Loops& loops, const char* x, int64_t* y, const Parallel& par) {
  const TransposeFn transpose = transpose_fn(loops.size);
  const auto task = [&](size_t begin, size_t end) {
    alignas(64) char tile[kShortRow * kColumns];
    for (size_t i = begin; i < end; i += kColumns) {
      const size_t width = std::min(kColumns, end - i);
      transpose({tile, kColumns, x + i * a.extent * loops.size, ptrdiff_t(a.extent), a.extent, width});
      loops.columns({1, a.extent, kColumns, a.min, a.last}, tile, y + i, width);
    }
  };
  for_chunks(par, a.outer, task, std::max(kColumns, kChunk / a.extent / kColumns * kColumns));
}

void arg_all(const ArgReduce& a, const Loops& loops, const char* x, int64_t* y, const Parallel& par) {
  if (a.inner == 1 && a.extent * loops.size < kShortRow && a.outer >= kColumns)
    return arg_short_rows(a, loops, x, y, par);
  if (a.inner == 1) {
    const auto task = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) y[i] = loops.row(x + i * a.extent * loops.size, a.extent, a.last);
    };
    return for_chunks(par, a.outer, task, std::max<size_t>(1, kChunk / a.extent));
  }
  const size_t tiles = ceil_div(a.inner, kColumns);
  const auto task = [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      const size_t outer = t / tiles, at = t % tiles * kColumns;
      const size_t width = std::min(kColumns, a.inner - at);
      loops.columns(a, x + (outer * a.extent * a.inner + at) * loops.size, y + outer * a.inner + at, width);
    }
  };
  for_chunks(par, a.outer * tiles, task, std::max<size_t>(1, kChunk / (a.extent * std::min(a.inner, kColumns))));
}

}  // namespace

template <typename T>
void arg_reduce(const ArgReduce& a, const T* x, int64_t* y, const Parallel& par) noexcept {
  if (a.outer * a.inner == 0) return;
  const auto columns = a.min    ? a.last ? arg_columns<true, true, T> : arg_columns<true, false, T>
                          : a.last ? arg_columns<false, true, T>
                                : arg_columns<false, false, T>;
  const Loops loops{sizeof(T), a.min ? arg_row<true, T> : arg_row<false, T>, columns};
  arg_all(a, loops, reinterpret_cast<const char*>(x), y, par);
}

template decltype(arg_reduce<float>) arg_reduce<float>;
template decltype(arg_reduce<double>) arg_reduce<double>;
template decltype(arg_reduce<int8_t>) arg_reduce<int8_t>;
template decltype(arg_reduce<uint8_t>) arg_reduce<uint8_t>;
template decltype(arg_reduce<int32_t>) arg_reduce<int32_t>;
template decltype(arg_reduce<int64_t>) arg_reduce<int64_t>;

}  // namespace retort::kernels
