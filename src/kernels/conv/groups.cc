// Grouped convolution of groups of few channels: a product for each group would have few columns, and would gather
// patches for them. Here, a tile is 14 pixels of one vector of outputs, whichever groups those belong to; inputs are
// copied with their padding, and each step of the sum reads its input at a fixed distance from pixel to pixel. If the
// outputs belong to several groups, a permutation of the inputs of a pixel gives each lane that of its group: copies of
// permuted inputs would not fit the first-level cache (half as fast for groups of 4 and 8 with vectors of 512 bits).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/groups.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/copy-inl.h"
#include "kernels/conv/finish-inl.h"
#include "kernels/conv/groups.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using conv_detail::GroupsPlan;
using conv_detail::kRunPixels;

// The outputs of a task.
struct Block {
  size_t unit, image, y, x, rows, columns;
};

// Copies the inputs of a task, with zeros outside of the image.
void copy_block(const ConvArgs& args, const GroupsPlan& plan, const Block& block, float* to) {
  const ConvShape& s = args.shape;
  const ptrdiff_t x = ptrdiff_t(block.x * s.stride_w) - ptrdiff_t(s.pad_left);
  const TapRange inside = taps_inside(x, s.in_w, plan.line_pixels, 1);
  const size_t channel = block.unit * plan.together * plan.group_in;
  const size_t n = std::min(plan.together * plan.group_in, s.in_c - channel);
  for (size_t l = 0; l < plan.lines; ++l, to += plan.line_pixels * plan.pixel) {
    const size_t y = block.y * s.stride_h + l - s.pad_top;  // wraps around above the image
    if (y >= s.in_h) {
      zero_run(plan.line_pixels * plan.pixel, to);
      continue;
    }
    const ptrdiff_t first = ptrdiff_t((block.image * s.in_h + y) * s.in_w) + x;  // may be before the image
    const float* from = args.input + (first + ptrdiff_t(inside.first)) * ptrdiff_t(s.in_pixel_stride) + channel;
    float* at = zero_run(inside.first * plan.pixel, to);
    for (size_t i = 0; i < inside.count(); ++i, at += plan.pixel) copy_run(from + i * s.in_pixel_stride, n, at);
    zero_run((plan.line_pixels - inside.last) * plan.pixel, at);
  }
}

// Where the inputs of a tile are, in bytes: those of neighbouring pixels are `pixel` apart, those of the next tap `tap`,
// those of the next row of the kernel `line`. `count` steps follow each other, in `runs` runs across.
struct Steps {
  size_t pixel, tap, line, runs, kernel_h, count;
  const int32_t* lanes;  // for each channel of a group: where in its pixel each lane has its input
};

// The inputs of one step of several groups.
class Lanes {
 public:
  HWY_INLINE Lanes(const Steps& steps, size_t channel)
      : lanes_(hn::SetTableIndices(FloatTag(), steps.lanes + channel * kLanes)) {}
  HWY_INLINE Float load(const char* at) const {
    return hn::TableLookupLanes(hn::Load(FloatTag(), reinterpret_cast<const float*>(at)), lanes_);
  }
  static constexpr size_t kStep = 0;

 private:
  decltype(hn::SetTableIndices(FloatTag(), static_cast<const int32_t*>(nullptr))) lanes_;
};

// Those of one group.
struct AllLanes {
  HWY_INLINE AllLanes(const Steps&, size_t) {}
  HWY_INLINE Float load(const char* at) const { return hn::Set(FloatTag(), *reinterpret_cast<const float*>(at)); }
  static constexpr size_t kStep = sizeof(float);
};

// Adds up a tile: kRunPixels pixels from `first` on, and as many from `second` on.
template <class Inputs>
HWY_NOINLINE void add_tile(const Steps& steps, const char* first, const char* second, const float* weights, float* to) {
  const FloatTag d;
  const size_t s1 = steps.pixel, s3 = 3 * s1, s5 = 5 * s1;
  Float sums[2 * kRunPixels];
#pragma GCC unroll 32
  for (Float& sum : sums) sum = hn::Zero(d);
  for (size_t run = 0; run < steps.kernel_h * steps.runs; ++run) {
    const size_t offset = run / steps.runs * steps.line + run % steps.runs * steps.tap;
    const char *a = first + offset, *b = second + offset;
    for (size_t k = 0; k < steps.count; ++k, weights += kLanes, a += Inputs::kStep, b += Inputs::kStep) {
      const Inputs inputs(steps, k);
      const Float w = hn::Load(d, weights);
      const auto add = [&](const char* at, Float* sum) HWY_ATTR {
        sum[0] = hn::MulAdd(w, inputs.load(at), sum[0]);
        sum[1] = hn::MulAdd(w, inputs.load(at + s1), sum[1]);
        sum[2] = hn::MulAdd(w, inputs.load(at + 2 * s1), sum[2]);
        sum[3] = hn::MulAdd(w, inputs.load(at + s3), sum[3]);
        sum[4] = hn::MulAdd(w, inputs.load(at + 4 * s1), sum[4]);
        sum[5] = hn::MulAdd(w, inputs.load(at + s5), sum[5]);
        sum[6] = hn::MulAdd(w, inputs.load(at + 2 * s3), sum[6]);
      };
      add(a, sums);
      add(b, sums + kRunPixels);
    }
  }
#pragma GCC unroll 32
  for (size_t i = 0; i < 2 * kRunPixels; ++i) hn::Store(sums[i], d, to + i * kLanes);
}

// Adds up one run of pixels of several groups, with a kernel of three columns that touch: an input is permuted once for
// all its outputs.
HWY_NOINLINE void add_run_of_3(const Steps& steps, const char* from, const float* weights, float* to) {
  const FloatTag d;
  const size_t tap = steps.count * kLanes;
  Float sums[kRunPixels];
#pragma GCC unroll 32
  for (Float& sum : sums) sum = hn::Zero(d);
  for (size_t i = 0; i < steps.kernel_h; ++i, from += steps.line, weights += 2 * tap) {
    for (size_t k = 0; k < steps.count; ++k, weights += kLanes) {
      const Lanes inputs(steps, k);
      const Float w[] = {hn::Load(d, weights), hn::Load(d, weights + tap), hn::Load(d, weights + 2 * tap)};
#pragma GCC unroll 32
      for (size_t x = 0; x < kRunPixels + 2; ++x) {
        const Float v = inputs.load(from + x * kLanes * sizeof(float));
#pragma GCC unroll 32
        for (size_t j = 0; j < 3; ++j) {
          if (x >= j && x - j < kRunPixels) sums[x - j] = hn::MulAdd(w[j], v, sums[x - j]);
        }
      }
    }
  }
#pragma GCC unroll 32
  for (size_t i = 0; i < kRunPixels; ++i) hn::Store(sums[i], d, to + i * kLanes);
}

HWY_NOINLINE void store_run(const Finish& finish, const float* from, const OutputTile& at) {
  Float sums[kRunPixels];
#pragma GCC unroll 32
  for (size_t i = 0; i < kRunPixels; ++i) sums[i] = hn::Load(FloatTag(), from + i * kLanes);
  finish.store<1, kRunPixels>(sums, at);
}

// Adds up two runs.
void add_runs(const ConvShape& s, const Steps& steps, const char* first, const char* second, const float* weights,
              float* sums) {
  if (!steps.lanes) return add_tile<AllLanes>(steps, first, second, weights, sums);
  if (s.kernel_w != 3 || s.stride_w * s.dilation_w != 1) return add_tile<Lanes>(steps, first, second, weights, sums);
  add_run_of_3(steps, first, weights, sums);
  if (second != first) add_run_of_3(steps, second, weights, sums + kRunPixels * kLanes);
}

// Computes a vector of outputs of a block. Runs follow each other down, so that tiles read most lines twice, and from
// the first-level cache.
void convolve_vector(const ConvArgs& args, const Steps& steps, const Block& block, const float* lines,
                     const float* weights, OutputTile at) {
  const ConvShape& s = args.shape;
  const Finish finish(args);
  const size_t runs = block.rows * ceil_div(block.columns, kRunPixels), first_pixel = at.pixel;
  const size_t down = steps.line / s.dilation_h * s.stride_h;
  HWY_ALIGN float sums[2 * kRunPixels * kLanes];
  const auto input = [&](size_t run) {
    return reinterpret_cast<const char*>(lines) + run % block.rows * down + run / block.rows * kRunPixels * steps.pixel;
  };
  for (size_t run = 0; run < runs; run += 2) {
    const size_t last = std::min(run + 2, runs);
    add_runs(s, steps, input(run), input(last - 1), weights, sums);
    for (size_t r = run; r < last; ++r) {
      const size_t x = r / block.rows * kRunPixels;
      at.pixel = first_pixel + r % block.rows * s.out_w + x;
      at.columns = block.columns - x;
      store_run(finish, sums + (r - run) * kRunPixels * kLanes, at);
    }
  }
  for (size_t y = 0; y < block.rows; ++y)
    finish.activate(first_pixel + y * s.out_w, block.columns, at.channel, at.channel + at.channels);
}

// `lanes` has space for the permutations of several groups.
Steps steps_of(const ConvShape& s, const GroupsPlan& plan, int32_t* lanes) {
  const size_t pixel = plan.pixel * sizeof(float), line = plan.line_pixels * pixel;
  Steps steps{s.stride_w * pixel, s.dilation_w * pixel, s.dilation_h * line, s.kernel_w, s.kernel_h, plan.group_in, {}};
  if (plan.spread()) {
    // Lanes without an output get any input.
    for (size_t i = 0; i < plan.group_in * kLanes; ++i) {
      const size_t group = std::min(i % kLanes / plan.group_out, plan.together - 1);
      lanes[i] = int32_t(group * plan.group_in + i / kLanes);
    }
    steps.lanes = lanes;
  } else if (s.dilation_w == 1) {
    steps.runs = 1, steps.count *= s.kernel_w;
  }
  return steps;
}

}  // namespace

void groups_task(const ConvArgs& args, const GroupsPlan& plan, size_t task, float* lines) noexcept {
  const ConvShape& s = args.shape;
  Block block;
  block.unit = task % plan.units, task /= plan.units;
  block.x = task % plan.column_blocks * plan.columns, task /= plan.column_blocks;
  block.y = task % plan.row_blocks * plan.rows;
  block.image = task / plan.row_blocks;
  block.rows = std::min(plan.rows, s.out_h - block.y), block.columns = std::min(plan.columns, s.out_w - block.x);
  copy_block(args, plan, block, lines);
  HWY_ALIGN int32_t lanes[kLanes / 2 * kLanes];
  const Steps steps = steps_of(s, plan, lanes);
  const size_t unit_out = plan.together * plan.group_out, channel = block.unit * unit_out;
  const size_t end = std::min(channel + unit_out, s.out_c);
  const float* weights = args.packed + block.unit * plan.vectors * plan.filter;
  OutputTile at{(block.image * s.out_h + block.y) * s.out_w + block.x, 0, 1, 0, 0, 0};
  for (at.channel = channel; at.channel < end; at.channel += kLanes, weights += plan.filter) {
    at.channels = std::min(kLanes, end - at.channel);
    convolve_vector(args, steps, block, lines, weights, at);
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {

void conv_groups(const ConvArgs& args, void* scratch, const Parallel& par) noexcept {
  const GroupsPlan plan = plan_groups(args.shape);
  const auto run = RETORT_SELECT(groups_task);
  const size_t tasks = args.shape.batch * plan.row_blocks * plan.column_blocks * plan.units;
  par.for_each(tasks, [&](size_t task, int worker) {
    run(args, plan, task, reinterpret_cast<float*>(static_cast<char*>(scratch) + size_t(worker) * plan.worker_bytes));
  });
}

}  // namespace retort::kernels::conv_detail
#endif
