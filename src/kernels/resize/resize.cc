#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/resize/resize.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/conv/lanes-inl.h"
#include "kernels/dispatch.h"
#include "kernels/resize/resize.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

// One output row: its input rows and their weights.
struct Row {
  const float* image;
  const int32_t* index;
  const float* weight;
  float* out;
};

void copy_row(const ResizeArgs& args, const Row& row) {
  const float* line = row.image + size_t(row.index[0]) * args.in_w * args.in_pixel_stride;
  float* out = row.out;
  for (size_t x = 0; x < args.columns.size; ++x, out += args.out_pixel_stride) {
    const float* in = line + size_t(args.columns.index[x]) * args.in_pixel_stride;
    size_t c = 0;
    for (; c + kLanes <= args.channels; c += kLanes) hn::StoreU(hn::LoadU(FloatTag(), in + c), FloatTag(), out + c);
    if (c < args.channels) store_first(load_first(in + c, args.channels - c), out + c, args.channels - c);
  }
}

// For any number of taps.
void blend_row(const ResizeArgs& args, const Row& row) {
  const FloatTag d;
  float* out = row.out;
  for (size_t x = 0; x < args.columns.size; ++x, out += args.out_pixel_stride) {
    const int32_t* columns = args.columns.index + x * args.columns.taps;
    const float* weights = args.columns.weight + x * args.columns.taps;
    for (size_t c = 0; c < args.channels; c += kLanes) {
      const size_t n = std::min(kLanes, args.channels - c);
      Float sum = hn::Zero(d);
      for (size_t i = 0; i < args.rows.taps; ++i) {
        const float* line = row.image + size_t(row.index[i]) * args.in_w * args.in_pixel_stride + c;
        Float across = hn::Zero(d);
        for (size_t j = 0; j < args.columns.taps; ++j) {
          const Float v = load_first(line + size_t(columns[j]) * args.in_pixel_stride, n);
          across = hn::MulAdd(hn::Set(d, weights[j]), v, across);
        }
        sum = hn::MulAdd(hn::Set(d, row.weight[i]), across, sum);
      }
      store_first(sum, out + c, n);
    }
  }
}

// For two taps on each axis: positions and weights are loaded once for all channels of a pixel.
void linear_row(const ResizeArgs& args, const Row& row) {
  const FloatTag d;
  const size_t line = args.in_w * args.in_pixel_stride;
  const float *above = row.image + size_t(row.index[0]) * line, *below = row.image + size_t(row.index[1]) * line;
  const Float top = hn::Set(d, row.weight[0]), bottom = hn::Set(d, row.weight[1]);
  float* out = row.out;
  for (size_t x = 0; x < args.columns.size; ++x, out += args.out_pixel_stride) {
    const size_t near = size_t(args.columns.index[2 * x]) * args.in_pixel_stride;
    const size_t far = size_t(args.columns.index[2 * x + 1]) * args.in_pixel_stride;
    const Float left = hn::Set(d, args.columns.weight[2 * x]), right = hn::Set(d, args.columns.weight[2 * x + 1]);
    const auto blend = [=](size_t c, size_t n) HWY_ATTR {
      const auto across = [=](const float* from) HWY_ATTR {
        return hn::MulAdd(right, load_first(from + far + c, n), hn::Mul(left, load_first(from + near + c, n)));
      };
      store_first(hn::MulAdd(bottom, across(below), hn::Mul(top, across(above))), out + c, n);
    };
    size_t c = 0;
    for (; c + kLanes <= args.channels; c += kLanes) blend(c, kLanes);
    if (c < args.channels) blend(c, args.channels - c);
  }
}

}  // namespace

// Computes output rows [row0, row1) of the batch.
void resize_rows(const ResizeArgs& args, size_t row0, size_t row1) noexcept {
  const bool linear = args.rows.taps == 2 && args.columns.taps == 2;
  const auto make_row = !args.rows.weight ? copy_row : linear ? linear_row : blend_row;
  for (size_t r = row0; r < row1; ++r) {
    const size_t first = r % args.rows.size * args.rows.taps;
    make_row(args, {args.input + r / args.rows.size * args.in_h * args.in_w * args.in_pixel_stride,
                    args.rows.index + first, args.rows.weight + (args.rows.weight ? first : 0),
                    args.output + r * args.columns.size * args.out_pixel_stride});
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

void resize_nhwc(const ResizeArgs& args, const Parallel& par) noexcept {
  constexpr size_t kTaskElements = 64 << 10;  // read by a task, about 5 µs of work
  const size_t rows = args.batch * args.rows.size;
  const size_t row_elements = args.columns.size * args.channels * args.rows.taps * args.columns.taps;
  if (rows * row_elements == 0) return;
  const size_t task_rows = ceil_div(kTaskElements, row_elements);
  const auto run = RETORT_SELECT(resize_rows);
  par.for_each(ceil_div(rows, task_rows),
               [&](size_t task, int) { run(args, task * task_rows, std::min((task + 1) * task_rows, rows)); });
}

void resize_reference(const ResizeArgs& args) noexcept {
  const size_t height = args.rows.size, width = args.columns.size;
  for (size_t i = 0; i < args.batch * height * width * args.channels; ++i) {
    const size_t c = i % args.channels, x = i / args.channels % width, y = i / args.channels / width % height;
    const size_t b = i / args.channels / width / height;
    double sum = 0;
    for (size_t tap = 0; tap < args.rows.taps * args.columns.taps; ++tap) {
      const size_t ty = y * args.rows.taps + tap / args.columns.taps,
                   tx = x * args.columns.taps + tap % args.columns.taps;
      const size_t pixel = (b * args.in_h + size_t(args.rows.index[ty])) * args.in_w + size_t(args.columns.index[tx]);
      const double weight = args.rows.weight ? double(args.rows.weight[ty]) * double(args.columns.weight[tx]) : 1.0;
      sum += weight * double(args.input[pixel * args.in_pixel_stride + c]);
    }
    args.output[((b * height + y) * width + x) * args.out_pixel_stride + c] = float(sum);
  }
}

}  // namespace retort::kernels
#endif
