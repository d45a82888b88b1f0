#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/softmax.cc"
#include "kernels/norm/softmax.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/norm/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

float row_max(const float* x, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V m0 = hn::Set(d, kMinusInf), m1 = m0, m2 = m0, m3 = m0;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    m0 = hn::Max(m0, hn::LoadU(d, x + i));
    m1 = hn::Max(m1, hn::LoadU(d, x + i + lanes));
    m2 = hn::Max(m2, hn::LoadU(d, x + i + 2 * lanes));
    m3 = hn::Max(m3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) m0 = hn::Max(m0, hn::LoadU(d, x + i));
  if (i < n) m1 = hn::Max(m1, hn::IfThenElse(hn::FirstN(d, n - i), LoadFirst(d, x + i, n - i), m0));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3))));
}

void softmax_row(const float* x, float* y, size_t n, bool log) {
  const D d;
  const float max = row_max(x, n);
  if (log) {
    const V m = hn::Set(d, max), l = hn::Set(d, std::log(exp_sum<false>(x, max, y, n)));
    map_row(x, y, n, [m, l](V v) HWY_ATTR { return hn::Sub(hn::Sub(v, m), l); });
  } else {
    const V inverse = hn::Set(d, 1 / exp_sum<true>(x, max, y, n));
    map_row(y, y, n, [inverse](V v) HWY_ATTR { return hn::Mul(v, inverse); });
  }
}

// Computes one vector of neighbouring slices: `columns` of them (at most Lanes), whose elements are `stride` apart.
template <class Load, class Store>
HWY_INLINE void softmax_columns(const SoftmaxArgs& args, const Load& load, const Store& store) {
  const D d;
  V max = hn::Set(d, kMinusInf);
  for (size_t k = 0; k < args.extent; ++k) max = hn::Max(max, load(args.x, k));
  V sum = hn::Zero(d);
  for (size_t k = 0; k < args.extent; ++k) {
    const V e = exp_shifted(d, load(args.x, k), max, hn::Set(d, kLog2E));
    sum = hn::Add(sum, e);
    if (!args.log) store(e, k);
  }
  const V l = Log(d, sum), inverse = hn::Div(hn::Set(d, 1.0f), sum);
  for (size_t k = 0; k < args.extent; ++k) {
    store(args.log ? hn::Sub(hn::Sub(load(args.x, k), max), l) : hn::Mul(load(args.y, k), inverse), k);
  }
}

// The first elements of as many rows as a vector has lanes, the second ones, and so on.
template <size_t kExtent>
HWY_INLINE void load_rows(const float* p, V* v) {
  const D d;
  if constexpr (kExtent == 2) hn::LoadInterleaved2(d, p, v[0], v[1]);
  if constexpr (kExtent == 3) hn::LoadInterleaved3(d, p, v[0], v[1], v[2]);
  if constexpr (kExtent == 4) hn::LoadInterleaved4(d, p, v[0], v[1], v[2], v[3]);
}
template <size_t kExtent>
HWY_INLINE void store_rows(const V* v, float* p) {
  const D d;
  if constexpr (kExtent == 2) hn::StoreInterleaved2(v[0], v[1], d, p);
  if constexpr (kExtent == 3) hn::StoreInterleaved3(v[0], v[1], v[2], d, p);
  if constexpr (kExtent == 4) hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, p);
}

/// Rows of which one would fill only a small part of a vector, such as the classes of a detector. Returns the first row
/// that is not done.
template <size_t kExtent>
size_t softmax_short_rows(const SoftmaxArgs& args, size_t begin, size_t end) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t r = begin;
  for (; r + lanes <= end; r += lanes) {
    V v[kExtent];
    load_rows<kExtent>(args.x + r * kExtent, v);
    V max = v[0];
    for (size_t k = 1; k < kExtent; ++k) max = hn::Max(max, v[k]);
    V sum = hn::Zero(d), e[kExtent];
    for (size_t k = 0; k < kExtent; ++k) {
      e[k] = exp_shifted(d, v[k], max, hn::Set(d, kLog2E));
      sum = hn::Add(sum, e[k]);
    }
    const V by = args.log ? Log(d, sum) : hn::Div(hn::Set(d, 1.0f), sum);
    for (size_t k = 0; k < kExtent; ++k) e[k] = args.log ? hn::Sub(hn::Sub(v[k], max), by) : hn::Mul(e[k], by);
    store_rows<kExtent>(e, args.y + r * kExtent);
  }
  return r;
}

// The most slices side by side, such as the heads of an attention whose scores are mixed across heads, that are computed
// together by softmax_narrow(): 196 x 4 takes 0.06 of the time that a masked vector for each four elements takes.
constexpr size_t kNarrow = 15;

/// Slice i mod `inner` owns place i of `places`, whose number is a multiple of inner: combines the places of each slice,
/// and gives all of them the result.
[[gnu::noinline]] void combine_places(float* places, size_t count, size_t inner, bool largest) {
  for (size_t i = inner; i < count; ++i) {
    float& slice = places[i % inner];
    slice = largest ? std::max(slice, places[i]) : slice + places[i];
  }
  for (size_t i = inner; i < count; ++i) places[i] = places[i % inner];
}

/// Computes a whole outer slice of at most kNarrow inner positions, as its elements lie: the inner positions of a vector
/// repeat after `period` vectors.
void softmax_narrow(const SoftmaxArgs& args, size_t period) {
  const D d;
  const size_t lanes = hn::Lanes(d), size = args.extent * args.inner, count = period * lanes;
  float max[kNarrow * hn::MaxLanes(D())], sum[kNarrow * hn::MaxLanes(D())];
  const auto load = [&](const float* p, size_t i)
                        HWY_ATTR { return i + lanes <= size ? hn::LoadU(d, p + i) : LoadFirst(d, p + i, size - i); };
  const auto used = [&](size_t i) HWY_ATTR { return hn::FirstN(d, size - i); };
  const auto store = [&](V v, size_t i) HWY_ATTR {
    if (i + lanes <= size) return hn::StoreU(v, d, args.y + i);
    StoreFirst(d, v, args.y + i, size - i);
  };
  for (size_t first = 0; first < count; first += lanes) {
    V m = hn::Set(d, kMinusInf);
    for (size_t i = first; i < size; i += count) m = hn::Max(m, hn::IfThenElse(used(i), load(args.x, i), m));
    hn::StoreU(m, d, max + first);
  }
  combine_places(max, count, args.inner, true);
  for (size_t first = 0; first < count; first += lanes) {
    const V m = hn::LoadU(d, max + first);
    V total = hn::Zero(d);
    for (size_t i = first; i < size; i += count) {
      const V e = exp_shifted(d, load(args.x, i), m, hn::Set(d, kLog2E));
      total = hn::Add(total, hn::IfThenElseZero(used(i), e));
      store(e, i);
    }
    hn::StoreU(total, d, sum + first);
  }
  combine_places(sum, count, args.inner, false);
  for (size_t first = 0; first < count; first += lanes) {
    const V inverse = hn::Div(hn::Set(d, 1.0f), hn::LoadU(d, sum + first));
    for (size_t i = first; i < size; i += count) store(hn::Mul(load(args.y, i), inverse), i);
  }
}

}  // namespace

void softmax_rows(const SoftmaxArgs& args, size_t begin, size_t end) {
  if (args.extent == 2) begin = softmax_short_rows<2>(args, begin, end);
  if (args.extent == 3) begin = softmax_short_rows<3>(args, begin, end);
  if (args.extent == 4) begin = softmax_short_rows<4>(args, begin, end);
  for (size_t r = begin; r < end; ++r) {
    softmax_row(args.x + r * args.extent, args.y + r * args.extent, args.extent, args.log);
  }
}

/// Computes inner positions [begin, end) of one outer slice; `args` has its pointers and inner stride.
void softmax_inner(const SoftmaxArgs& args, size_t begin, size_t end) {
  const D d;
  const size_t lanes = hn::Lanes(d), period = args.inner / std::gcd(args.inner, lanes);
  if (!args.log && args.inner <= kNarrow && args.extent * args.inner >= 4 * period * lanes)
    return softmax_narrow(args, period);
  size_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    softmax_columns(
        args, [&](const float* p, size_t k) HWY_ATTR { return hn::LoadU(d, p + k * args.inner + i); },
        [&](V v, size_t k) HWY_ATTR { hn::StoreU(v, d, args.y + k * args.inner + i); });
  }
  if (i == end) return;
  softmax_columns(
      args, [&](const float* p, size_t k) HWY_ATTR { return LoadFirst(d, p + k * args.inner + i, end - i); },
      [&](V v, size_t k) HWY_ATTR { StoreFirst(d, v, args.y + k * args.inner + i, end - i); });
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

constexpr size_t kInnerStep = 64;  // slices of one task: a multiple of every vector length, and whole cache lines

}  // namespace

void softmax(const SoftmaxArgs& args, const Parallel& par) noexcept {
  if (args.extent == 0 || args.inner == 0) return;
  if (args.inner == 1) {
    const auto rows = RETORT_SELECT(softmax_rows);
    const size_t rows_per_task = std::max<size_t>(1, kChunk / args.extent);
    return for_chunks(
        par, args.outer, [&](size_t begin, size_t end) { rows(args, begin, end); }, rows_per_task);
  }
  const auto columns = RETORT_SELECT(softmax_inner);
  const size_t steps = ceil_div(args.inner, kInnerStep);
  const size_t steps_per_task = std::max<size_t>(1, kChunk / (args.extent * std::min(args.inner, kInnerStep)));
  const auto task = [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      SoftmaxArgs slice = args;
      slice.x += t / steps * args.extent * args.inner;
      slice.y += t / steps * args.extent * args.inner;
      const size_t first = t % steps * kInnerStep;
      columns(slice, first, std::min(args.inner, first + kInnerStep));
    }
  };
  for_chunks(par, args.outer * steps, task, steps_per_task);
}

void softmax_reference(const SoftmaxArgs& a) noexcept {
  for (size_t slice = 0; slice < a.outer * a.inner; ++slice) {
    const size_t first = slice / a.inner * a.extent * a.inner + slice % a.inner;
    const float* const x = a.x + first;
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (size_t k = 0; k < a.extent; ++k) max = std::max(max, double(x[k * a.inner]));
    for (size_t k = 0; k < a.extent; ++k) sum += std::exp(x[k * a.inner] - max);
    for (size_t k = 0; k < a.extent; ++k) {
      const double v = x[k * a.inner] - max;
      a.y[first + k * a.inner] = float(a.log ? v - std::log(sum) : std::exp(v) / sum);
    }
  }
}

}  // namespace retort::kernels
#endif
