#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/resize/planes.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/conv/lanes-inl.h"
#include "kernels/dispatch.h"
#include "kernels/resize/planes.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using IndexTag = hn::RebindToSigned<FloatTag>;
using Index = hn::Vec<IndexTag>;

// Blends rows: input columns [columns.first, columns.last) of output row y of a plane.
void blend_rows(const PlaneResize& args, const float* plane, size_t y, float* line) {
  const FloatTag d;
  const int32_t* index = args.rows.index + y * args.rows.taps;
  const float* weight = args.rows.weight + y * args.rows.taps;
  const size_t width = args.columns.last - args.columns.first;
  const float* from = plane + args.columns.first;
  for (size_t x = 0; x < width; x += kLanes) {
    const size_t n = std::min(kLanes, width - x);
    Float sum = hn::Zero(d);
    for (size_t i = 0; i < args.rows.taps && index[i] >= 0; ++i) {
      sum = hn::MulAdd(hn::Set(d, weight[i]), load_first(from + size_t(index[i]) * args.in_w + x, n), sum);
    }
    hn::StoreU(sum, d, line + x);  // lines have space for a whole vector
  }
}

// kLanes output columns, starting with x, whose taps are ascending and within one vector of the line, so they are
// permutations in a register.
HWY_INLINE Float columns_near(const PlaneColumns& columns, const float* line, size_t x) {
  const FloatTag d;
  const IndexTag di;
  const int32_t base = columns.index[x];
  const Float values = hn::LoadU(d, line + base);
  Float sum = hn::Zero(d);
  for (size_t j = 0; j < columns.taps; ++j) {
    const size_t at = j * columns.stride + x;
    const Index lane = hn::Sub(hn::LoadU(di, columns.index + at), hn::Set(di, base));
    const Float v = hn::TableLookupLanes(values, hn::IndicesFromVec(d, lane));
    sum = hn::MulAdd(hn::LoadU(d, columns.weight + at), v, sum);
  }
  return sum;
}

HWY_INLINE Float columns_anywhere(const PlaneColumns& columns, const float* line, size_t x) {
  const FloatTag d;
  const IndexTag di;
  const Index least = hn::Set(di, int32_t(columns.first));
  Float sum = hn::Zero(d);
  for (size_t j = 0; j < columns.taps; ++j) {
    const size_t at = j * columns.stride + x;
    const Index index = hn::LoadU(di, columns.index + at);
    const Float v = hn::GatherIndex(d, line, hn::Max(index, least));
    const auto inside = hn::RebindMask(d, hn::Gt(index, hn::Set(di, -1)));
    sum = hn::MulAdd(hn::LoadU(d, columns.weight + at), hn::IfThenElseZero(inside, v), sum);
  }
  return sum;
}

// Whether the taps of kLanes columns, starting with x, span less than a vector.
HWY_INLINE bool is_near(const PlaneColumns& columns, size_t x) {
  return columns.ascending &&
         columns.index[(columns.taps - 1) * columns.stride + x + kLanes - 1] - columns.index[x] < int32_t(kLanes);
}

void blend_columns(const PlaneColumns& columns, const float* line, float* out) {
  const float* origin = line - columns.first;  // of input column 0
  for (size_t x = 0; x < columns.size; x += kLanes) {
    const Float sum = is_near(columns, x) ? columns_near(columns, origin, x) : columns_anywhere(columns, origin, x);
    store_first(sum, out + x, std::min(kLanes, columns.size - x));
  }
}

void copy_columns(const PlaneColumns& columns, const float* in, size_t in_w, float* out) {
  const FloatTag d;
  const IndexTag di;
  for (size_t x = 0; x < columns.size; x += kLanes) {
    const Index index = hn::LoadU(di, columns.index + x);
    const size_t n = std::min(kLanes, columns.size - x);
    if (in_w >= kLanes && is_near(columns, x)) {
      const int32_t base = std::min(columns.index[x], int32_t(in_w - kLanes));
      const auto lanes = hn::IndicesFromVec(d, hn::Sub(index, hn::Set(di, base)));
      store_first(hn::TableLookupLanes(hn::LoadU(d, in + base), lanes), out + x, n);
    } else {
      store_first(hn::GatherIndex(d, in, hn::Max(index, hn::Zero(di))), out + x, n);
    }
  }
}

// Rows that are copies of one input row are computed once.
void copy_rows(const PlaneResize& args, size_t row0, size_t row1) {
  const size_t width = args.columns.size;
  for (size_t r = row0; r < row1; ++r) {
    const size_t plane = r / args.rows.size, y = r % args.rows.size;
    float* out = args.output + plane * args.out_stride + y * width;
    if (r > row0 && y > 0 && args.rows.index[y] == args.rows.index[y - 1]) {
      std::memcpy(out, out - width, width * sizeof(float));
    } else {
      copy_columns(args.columns, args.input + plane * args.in_stride + size_t(args.rows.index[y]) * args.in_w,
                   args.in_w, out);
    }
  }
}

}  // namespace

void make_plane_rows(const PlaneResize& args, size_t row0, size_t row1, float* line) noexcept {
  if (!args.columns.weight) return copy_rows(args, row0, row1);
  for (size_t r = row0; r < row1; ++r) {
    const size_t plane = r / args.rows.size, y = r % args.rows.size;
    blend_rows(args, args.input + plane * args.in_stride, y, line);
    blend_columns(args.columns, line, args.output + plane * args.out_stride + y * args.columns.size);
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

size_t plane_line_floats(size_t first, size_t last) {
  constexpr size_t kVector = 16;  // floats of the widest vector: a load may extend this far beyond a line's last float
  return round_up(last - first, kVector) + kVector;
}

void resize_plane_rows(const PlaneResize& args, size_t row0, size_t row1, float* line) noexcept {
  if (args.columns.size > 0) RETORT_SELECT(make_plane_rows)(args, row0, row1, line);
}

void resize_planes(const PlaneResize& args, float* lines, const Parallel& par) noexcept {
  constexpr size_t kTaskElements = 64 << 10;  // read by a task, about 5 µs of work
  const size_t rows = args.planes * args.rows.size, width = args.columns.size;
  if (rows * width == 0) return;
  const size_t line = plane_line_floats(args.columns.first, args.columns.last);
  const size_t row_elements = width * args.columns.taps + line * args.rows.taps,
               task_rows = ceil_div(kTaskElements, row_elements);
  par.for_each(ceil_div(rows, task_rows), [&](size_t task, int worker) {
    resize_plane_rows(args, task * task_rows, std::min((task + 1) * task_rows, rows),
                      lines ? lines + size_t(worker) * line : nullptr);
  });
}

void resize_planes_reference(const PlaneResize& args) noexcept {
  const size_t height = args.rows.size, width = args.columns.size;
  for (size_t i = 0; i < args.planes * height * width; ++i) {
    const size_t x = i % width, y = i / width % height, plane = i / width / height;
    double sum = 0;
    for (size_t tap = 0; tap < args.rows.taps * args.columns.taps; ++tap) {
      const size_t ty = y * args.rows.taps + tap / args.columns.taps;
      const size_t tx = tap % args.columns.taps * args.columns.stride + x;
      const int32_t row = args.rows.index[ty], column = args.columns.index[tx];
      if (row < 0 || column < 0) continue;
      const double weight = args.columns.weight ? double(args.rows.weight[ty]) * double(args.columns.weight[tx]) : 1.0;
      sum += weight * double(args.input[plane * args.in_stride + size_t(row) * args.in_w + size_t(column)]);
    }
    args.output[plane * args.out_stride + y * width + x] = float(sum);
  }
}

}  // namespace retort::kernels
#endif
