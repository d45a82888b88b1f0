#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sample/sample.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/conv/lanes-inl.h"
#include "kernels/dispatch.h"
#include "kernels/sample/sample.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using IndexTag = hn::RebindToSigned<FloatTag>;
using Index = hn::Vec<IndexTag>;

HWY_INLINE Float larger(Float a, Float b) { return hn::IfThenElse(hn::Lt(a, b), b, a); }

// The values that kLanes points read for tap t, in kPlanes planes starting with `in`: the table is loaded once for all
// of them.
template <size_t kPlanes>
HWY_INLINE void products(const SampleArgs& args, const float* in, size_t at, Float (&to)[kPlanes]) {
  const IndexTag di;
  const FloatTag d;
  const Index index = hn::LoadU(di, args.index + at), from = hn::Max(index, hn::Zero(di));
  const auto inside = hn::RebindMask(d, hn::Gt(index, hn::Set(di, -1)));
  const Float weight = hn::LoadU(d, args.weight + at);
#pragma GCC unroll 4
  for (size_t c = 0; c < kPlanes; ++c)
    to[c] = hn::Mul(weight, hn::IfThenElseZero(inside, hn::GatherIndex(d, in + c * args.in_stride, from)));
}

template <size_t kPlanes>
void sum_planes(const SampleArgs& args, const float* in, float* out) {
  for (size_t p = 0; p < args.points; p += kLanes) {
    Float sums[kPlanes], more[kPlanes];
#pragma GCC unroll 4
    for (size_t c = 0; c < kPlanes; ++c) sums[c] = hn::Zero(FloatTag());
    for (size_t t = 0; t < args.taps; ++t) {
      products(args, in, t * args.table_stride + p, more);
#pragma GCC unroll 4
      for (size_t c = 0; c < kPlanes; ++c) sums[c] = hn::Add(sums[c], more[c]);
    }
#pragma GCC unroll 4
    for (size_t c = 0; c < kPlanes; ++c)
      store_first(sums[c], out + c * args.out_stride + p, std::min(kLanes, args.points - p));
  }
}

template <size_t kPlanes>
void max_planes(const SampleArgs& args, const float* in, float* out, bool more) {
  for (size_t p = 0; p < args.points; p += kLanes) {
    const size_t n = std::min(kLanes, args.points - p);
    Float best[kPlanes], four[kPlanes], next[kPlanes];
#pragma GCC unroll 4
    for (size_t c = 0; c < kPlanes; ++c)
      best[c] = hn::Zero(FloatTag());  // the compiler does not know that there is at least one tap
    for (size_t t = 0; t < args.taps; t += 4) {
      products(args, in, t * args.table_stride + p, four);
      for (size_t i = t + 1; i < t + 4; ++i) {
        products(args, in, i * args.table_stride + p, next);
#pragma GCC unroll 4
        for (size_t c = 0; c < kPlanes; ++c) four[c] = larger(four[c], next[c]);
      }
#pragma GCC unroll 4
      for (size_t c = 0; c < kPlanes; ++c) {
        if (t > 0)
          best[c] = larger(best[c], four[c]);
        else
          best[c] = more ? larger(load_first(out + c * args.out_stride + p, n), four[c]) : four[c];
      }
    }
#pragma GCC unroll 4
    for (size_t c = 0; c < kPlanes; ++c) store_first(best[c], out + c * args.out_stride + p, n);
  }
}

}  // namespace

void sample_sum_all(const SampleArgs& args) noexcept {
  size_t c = 0;
  for (; c + 4 <= args.planes; c += 4)
    sum_planes<4>(args, args.input + c * args.in_stride, args.output + c * args.out_stride);
  for (; c < args.planes; ++c) sum_planes<1>(args, args.input + c * args.in_stride, args.output + c * args.out_stride);
}

void sample_max_all(const SampleArgs& args, bool more) noexcept {
  size_t c = 0;
  for (; c + 4 <= args.planes; c += 4)
    max_planes<4>(args, args.input + c * args.in_stride, args.output + c * args.out_stride, more);
  for (; c < args.planes; ++c)
    max_planes<1>(args, args.input + c * args.in_stride, args.output + c * args.out_stride, more);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

float product(const SampleArgs& a, size_t plane, size_t tap, size_t point) {
  const size_t at = tap * a.table_stride + point;
  const int32_t i = a.index[at];
  return a.weight[at] * (i < 0 ? 0.0f : a.input[plane * a.in_stride + size_t(i)]);
}

}  // namespace

void sample_sum(const SampleArgs& args) noexcept { RETORT_SELECT(sample_sum_all)(args); }
void sample_max(const SampleArgs& args, bool more) noexcept {
  if (args.taps > 0) RETORT_SELECT(sample_max_all)(args, more);
}

void sample_sum_reference(const SampleArgs& args) noexcept {
  for (size_t i = 0; i < args.planes * args.points; ++i) {
    const size_t c = i / args.points, p = i % args.points;
    double sum = 0;
    for (size_t t = 0; t < args.taps; ++t) sum += double(product(args, c, t, p));
    args.output[c * args.out_stride + p] = float(sum);
  }
}

void sample_max_reference(const SampleArgs& args, bool more) noexcept {
  for (size_t i = 0; i < args.planes * args.points && args.taps > 0; ++i) {
    const size_t c = i / args.points, p = i % args.points;
    float& out = args.output[c * args.out_stride + p];
    for (size_t t = 0; t < args.taps; t += 4) {
      float four = product(args, c, t, p);
      for (size_t k = 1; k < 4; ++k) four = std::max(four, product(args, c, t + k, p));
      out = t > 0 || more ? std::max(out, four) : four;
    }
  }
}

}  // namespace retort::kernels
#endif
