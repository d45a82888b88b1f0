#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/global_average.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <bit>

#include "base/checked.h"
#include "kernels/conv/lanes-inl.h"
#include "kernels/dispatch.h"
#include "kernels/division.h"
#include "kernels/pool/pool.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

// Sums of kVectors vectors of channels over `pixels` pixels. A long chain of additions loses accuracy, so runs of
// pixels are summed first.
template <size_t kVectors>
HWY_INLINE void sum_channels(const float* in, size_t pixels, size_t pixel_stride, size_t n, Float (&totals)[kVectors]) {
  constexpr size_t kRun = 64;
  const auto width = [n](size_t v) { return v + 1 == kVectors ? n : kLanes; };
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) totals[v] = hn::Zero(FloatTag());
  for (size_t p0 = 0; p0 < pixels; p0 += kRun) {
    Float sums[kVectors];
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) sums[v] = hn::Zero(FloatTag());
    for (size_t p = p0; p < std::min(p0 + kRun, pixels); ++p, in += pixel_stride) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) sums[v] = hn::Add(sums[v], load_first(in + v * kLanes, width(v)));
    }
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) totals[v] = hn::Add(totals[v], sums[v]);
  }
}

template <size_t kVectors>
HWY_INLINE void average_channels(const pool_detail::Pixels& of, const float* in, size_t n, float* out) {
  Float totals[kVectors];
  sum_channels<kVectors>(in, of.count, of.stride, n, totals);
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) {
    store_first(hn::Div(totals[v], hn::Set(FloatTag(), float(of.divisor))), out + v * kLanes,
                v + 1 == kVectors ? n : kLanes);
  }
}

}  // namespace

// Computes channels [c0, c1) of the mean of some pixels.
void average_pixels(const pool_detail::Pixels& of, size_t c0, size_t c1, float* out) noexcept {
  size_t c = c0;
  for (; c + 4 * kLanes <= c1; c += 4 * kLanes) average_channels<4>(of, of.input + c, kLanes, out + c);
  for (; c + kLanes <= c1; c += kLanes) average_channels<1>(of, of.input + c, kLanes, out + c);
  if (c < c1) average_channels<1>(of, of.input + c, c1 - c, out + c);
}

float average_plane(const float* in, size_t pixels) noexcept {
  const size_t whole = pixels / kLanes;  // read as this many pixels of a vector of channels
  Float sums[1];
  sum_channels<1>(in, whole, kLanes, kLanes, sums);
  float sum = hn::GetLane(hn::SumOfLanes(FloatTag(), sums[0]));
  for (size_t p = whole * kLanes; p < pixels; ++p) sum += in[p];
  return sum / float(pixels);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

constexpr size_t kLine = 16;  // floats of a cache line

// The division of the means of images: blocks of pixels, whose sums are added afterwards, or of channels.
struct AveragePlan {
  size_t pixels = 0, pixel_blocks = 1, channels = 0, channel_blocks = 1;
};

// As convolutions divide such an image (conv_plan.h): a worker reads the pixels that it has written. If it read channels
// of all pixels, the next step would also find them in another processor's caches.
AveragePlan plan_average(size_t batch, size_t pixels, size_t channels) {
  // Elements that a task reads, about 2 µs of work. A block of channels is whole lines: no two tasks write to one.
  constexpr size_t kElements = 16 << 10, kMostTasks = 16, kFewPixels = 64;
  const size_t tasks = std::clamp<size_t>(batch * pixels * channels / kElements, 1, kMostTasks);
  const size_t most = ceil_div(std::bit_ceil(tasks), std::max<size_t>(batch, 1));
  AveragePlan p;
  p.pixels = pixels < kFewPixels ? pixels : even_block(pixels, batch, 1, most);
  p.channels = pixels < kFewPixels ? even_block(ceil_div(channels, kLine), batch, 1, most) * kLine : channels;
  p.pixel_blocks = ceil_div(pixels, p.pixels);
  p.channel_blocks = ceil_div(channels, std::max<size_t>(p.channels, 1));
  return p;
}

}  // namespace

size_t global_average_scratch_bytes(size_t batch, size_t pixels, size_t channels) {
  const AveragePlan plan = plan_average(batch, pixels, channels);
  return plan.pixel_blocks == 1 ? 0 : batch * plan.pixel_blocks * round_up(channels, kLine) * sizeof(float);
}

void global_average_nhwc(const GlobalAverageArgs& args, void* scratch, const Parallel& par) noexcept {
  if (args.batch * args.channels == 0) return;
  const AveragePlan plan = plan_average(args.batch, args.pixels, args.channels);
  const size_t stride = round_up(args.channels, kLine), parts = plan.pixel_blocks;
  const bool at_once = parts == 1;
  auto* const sums = static_cast<float*>(scratch);
  const auto run = RETORT_SELECT(average_pixels);
  par.for_each(args.batch * parts * plan.channel_blocks, [&](size_t task, int) {
    const size_t c0 = task % plan.channel_blocks * plan.channels, part = task / plan.channel_blocks;
    const size_t image = part / parts, p0 = part % parts * plan.pixels;
    pool_detail::Pixels of{args.input + (image * args.pixels + p0) * args.in_pixel_stride,
                           std::min(plan.pixels, args.pixels - p0), args.in_pixel_stride, at_once ? args.pixels : 1};
    run(of, c0, std::min(c0 + plan.channels, args.channels),
        at_once ? args.output + image * args.out_stride : sums + part * stride);
  });
  for (size_t b = 0; !at_once && b < args.batch; ++b) {
    run({sums + b * parts * stride, parts, stride, args.pixels}, 0, args.channels, args.output + b * args.out_stride);
  }
}

void global_average_nchw(const float* input, size_t planes, size_t pixels, float* output,
                         const Parallel& par) noexcept {
  constexpr size_t kTaskElements = 64 << 10;  // that a task reads, about 5 µs of work
  const size_t task_planes = ceil_div(kTaskElements, std::max<size_t>(pixels, 1));
  const auto run = RETORT_SELECT(average_plane);
  par.for_each(ceil_div(planes, task_planes), [&](size_t task, int) {
    const size_t end = std::min((task + 1) * task_planes, planes);
    for (size_t p = task * task_planes; p < end; ++p) output[p] = run(input + p * pixels, pixels);
  });
}

}  // namespace retort::kernels
#endif
