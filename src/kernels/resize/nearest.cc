#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/resize/nearest.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/resize/nearest.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Images mostly become larger along both axes, so a row is written to two places, which may be one.
template <typename D, typename T>
HWY_INLINE void double_vector(D d, const T* x, T* y, T* z) {
  const auto v = hn::LoadU(d, x);
  hn::StoreInterleaved2(v, v, d, y);
  hn::StoreInterleaved2(v, v, d, z);
}

template <typename T>
void double_row(const void* from, void* to, void* copy, size_t n) {
  const auto* const x = static_cast<const T*>(from);
  auto *const y = static_cast<T*>(to), *const z = static_cast<T*>(copy);
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 16 / sizeof(T)> d16;
  size_t i = 0;
  for (const size_t step = hn::Lanes(d); i + step <= n; i += step) double_vector(d, x + i, y + 2 * i, z + 2 * i);
  for (const size_t step = hn::Lanes(d16); i < n && n >= step; i += step) {
    i = std::min(i, n - step);  // writes some elements once more
    double_vector(d16, x + i, y + 2 * i, z + 2 * i);
  }
  for (; i < n; ++i) y[2 * i] = y[2 * i + 1] = z[2 * i] = z[2 * i + 1] = x[i];
}

}  // namespace

void double_elements(const void* from, void* to, void* copy, size_t n, size_t bytes) noexcept {
  if (bytes == 1) return double_row<uint8_t>(from, to, copy, n);
  if (bytes == 2) return double_row<uint16_t>(from, to, copy, n);
  if (bytes == 4) return double_row<uint32_t>(from, to, copy, n);
  double_row<uint64_t>(from, to, copy, n);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

template <typename T>
void pick(const std::byte* from, std::byte* to, std::span<const int32_t> columns) {
  const auto* const x = reinterpret_cast<const T*>(from);
  auto* const y = reinterpret_cast<T*>(to);
  for (size_t i = 0; i < columns.size(); ++i) y[i] = x[columns[i]];
}

void pick_columns(const NearestResize& args, const std::byte* from, std::byte* to) {
  switch (args.bytes) {
    case 1:
      return pick<uint8_t>(from, to, args.columns);
    case 2:
      return pick<uint16_t>(from, to, args.columns);
    case 4:
      return pick<uint32_t>(from, to, args.columns);
    case 8:
      return pick<uint64_t>(from, to, args.columns);
    default:
      for (size_t i = 0; i < args.columns.size(); ++i)
        std::memcpy(to + i * args.bytes, from + size_t(args.columns[i]) * args.bytes, args.bytes);
  }
}

// Output rows [row0, row1) of all planes. Rows that are copies of one input row follow each other.
void make_rows(const NearestResize& args, bool doubled, size_t row0, size_t row1) {
  const size_t height = args.rows.size(), line = args.columns.size() * args.bytes;
  const auto double_row = RETORT_SELECT(double_elements);
  size_t plane = row0 / height, y = row0 % height;
  for (size_t r = row0, done = 0; r < row1; r += done, y += done) {
    if (y == height) {
      y = 0;
      ++plane;
    }
    const size_t most = std::min(row1 - r, height - y);
    const size_t input_row = plane * args.in_h + size_t(args.rows[y]);
    const auto* const from = static_cast<const std::byte*>(args.input) + input_row * args.in_w * args.bytes;
    auto* const to = static_cast<std::byte*>(args.output) + r * line;
    const bool again = most > 1 && args.rows[y + 1] == args.rows[y];
    if (doubled) {
      double_row(from, to, again ? to + line : to, args.in_w, args.bytes);
      done = again ? 2 : 1;
    } else {
      pick_columns(args, from, to);
      done = 1;
    }
    for (; done < most && args.rows[y + done] == args.rows[y]; ++done) std::memcpy(to + done * line, to, line);
  }
}

}  // namespace

bool doubles(std::span<const int32_t> columns, size_t in_w) noexcept {
  if (columns.size() != 2 * in_w) return false;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (size_t(columns[i]) != i / 2) return false;
  }
  return true;
}

void resize_nearest(const NearestResize& args, const Parallel& par) noexcept {
  constexpr size_t kTaskBytes = 128 << 10;  // written by a task, about 5 µs of work
  const size_t rows = args.planes * args.rows.size(), line = args.columns.size() * args.bytes;
  if (rows * line == 0) return;
  const bool word = args.bytes == 1 || args.bytes == 2 || args.bytes == 4 || args.bytes == 8;
  const bool doubled = word && doubles(args.columns, args.in_w);
  const size_t task_rows = round_up(ceil_div(kTaskBytes, line), 2);
  par.for_each(ceil_div(rows, task_rows), [&](size_t task, int) {
    make_rows(args, doubled, task * task_rows, std::min((task + 1) * task_rows, rows));
  });
}

}  // namespace retort::kernels
#endif
