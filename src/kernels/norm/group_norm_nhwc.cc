#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/group_norm_nhwc.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <vector>

#include "kernels/dispatch.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/elementwise/unary.h"
#include "kernels/gemm/gemm.h"
#include "kernels/norm/group_norm.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// sums[c] = Σ add(0, x[pixel, c], c) over a few hundred pixels.
template <class Add>
HWY_INLINE void channel_sums(const float* x, size_t pixels, size_t channels, const Add& add, float* sums) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) {
    V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    const float* p = x + c;
    for (size_t i = 0; i < pixels; ++i, p += channels) {
      s0 = add(s0, hn::LoadU(d, p), c);
      s1 = add(s1, hn::LoadU(d, p + lanes), c + lanes);
      s2 = add(s2, hn::LoadU(d, p + 2 * lanes), c + 2 * lanes);
      s3 = add(s3, hn::LoadU(d, p + 3 * lanes), c + 3 * lanes);
    }
    hn::StoreU(s0, d, sums + c);
    hn::StoreU(s1, d, sums + c + lanes);
    hn::StoreU(s2, d, sums + c + 2 * lanes);
    hn::StoreU(s3, d, sums + c + 3 * lanes);
  }
  for (; c < channels; c += lanes) {
    const size_t n = std::min(lanes, channels - c);
    V s = hn::Zero(d);
    for (size_t i = 0; i < pixels; ++i) {
      const float* const p = x + i * channels + c;
      s = add(s, n == lanes ? hn::LoadU(d, p) : LoadFirst(d, p, n), c);
    }
    StoreFirst(d, s, sums + c, n);
  }
}

}  // namespace

void nhwc_group_moments(const float* x, size_t pixels, size_t channels, size_t groups, float* sums, float* centers,
                        GroupMoments* moments) {
  const D d;
  const size_t width = channels / groups;
  channel_sums(
      x, pixels, channels, [](V s, V v, size_t) HWY_ATTR { return hn::Add(s, v); }, sums);
  for (size_t g = 0; g < groups; ++g) {
    double sum = 0;
    for (size_t c = g * width; c < (g + 1) * width; ++c) sum += double(sums[c]);
    moments[g].mean = float(sum / double(pixels * width));
    std::fill_n(centers + g * width, width, moments[g].mean);
  }
  const auto add_square = [d, centers](V s, V v, size_t c) HWY_ATTR {
    const V apart = hn::Sub(v, hn::LoadU(d, centers + c));
    return hn::MulAdd(apart, apart, s);
  };
  channel_sums(x, pixels, channels, add_square, sums);
  for (size_t g = 0; g < groups; ++g) {
    moments[g].squares = 0;
    for (size_t c = g * width; c < (g + 1) * width; ++c) moments[g].squares += double(sums[c]);
  }
}

void nhwc_channel_affine(const float* x, float* y, size_t pixels, size_t channels, const float* center,
                         const float* scale, const float* shift) {
  const D d;
  const size_t lanes = hn::Lanes(d), whole = channels / lanes * lanes;
  for (size_t i = 0; i < pixels; ++i, x += channels, y += channels) {
    const auto f = [&](V v, size_t c) HWY_ATTR {
      return hn::MulAdd(hn::Sub(v, hn::LoadU(d, center + c)), hn::LoadU(d, scale + c), hn::LoadU(d, shift + c));
    };
    for (size_t c = 0; c < whole; c += lanes) hn::StoreU(f(hn::LoadU(d, x + c), c), d, y + c);
    if (whole < channels)
      StoreFirst(d, f(LoadFirst(d, x + whole, channels - whole), whole), y + whole, channels - whole);
  }
}

void row_affine_block(const float* x, float* y, size_t rows, size_t channels, const float* scale, const float* shift) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < rows; ++i, x += channels, y += channels) {
    size_t c = 0;
    for (; c + lanes <= channels; c += lanes)
      hn::StoreU(hn::MulAdd(hn::LoadU(d, x + c), hn::LoadU(d, scale + c), hn::LoadU(d, shift + c)), d, y + c);
    if (c == channels) continue;
    const size_t n = channels - c;
    StoreFirst(d, hn::MulAdd(LoadFirst(d, x + c, n), LoadFirst(d, scale + c, n), LoadFirst(d, shift + c, n)), y + c, n);
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

constexpr size_t kMostLanes = HWY_MAX_BYTES / sizeof(float);  // arrays of channels are read in whole vectors

/// The work: pieces of pixels, whose length depends only on the shape.
struct Pieces {
  size_t pixels, each, count;
  explicit Pieces(const GroupNorm& args)
      : pixels(args.spatial),
        each(std::clamp<size_t>(kChunk / std::max<size_t>(args.channels, 1), 32, 256)),
        count(ceil_div(pixels, each)) {}
  size_t first(size_t i) const { return i * each; }
  size_t length(size_t i) const { return std::min(each, pixels - first(i)); }
};

/// The parts of the scratch memory.
struct Memory {
  size_t channels, parts, coefficients, of_workers;
  Memory(const GroupNorm& args, int workers)
      : channels(round_up(args.channels, kMostLanes)),
        parts(checked_mul(args.batch * args.groups, Pieces(args).count, "groups")),
        coefficients(checked_mul(args.batch, 3 * channels, "channels")),
        of_workers(checked_mul(size_t(workers), 2 * channels, "channels")) {}
  size_t bytes() const { return parts * sizeof(GroupMoments) + (coefficients + of_workers) * sizeof(float); }
};

/// center, scale and shift of the channels of one image.
void find_coefficients(const GroupNorm& args, const GroupMoments* parts, const Pieces& pieces, size_t stride,
                       float* to) {
  const size_t width = args.channels / args.groups;
  for (size_t g = 0; g < args.groups; ++g) {
    const GroupMoments m =
        joined_moments(parts + g, args.groups, pieces.count, [&](size_t i) { return pieces.length(i) * width; });
    const float inv_std = m.inverse_deviation(pieces.pixels * width, args.epsilon);
    for (size_t c = g * width; c < (g + 1) * width; ++c) {
      to[c] = m.mean;
      to[stride + c] = args.gamma ? inv_std * args.gamma[c] : inv_std;
      to[2 * stride + c] = args.beta ? args.beta[c] : 0;
    }
  }
}

/// Calls f(first, n) for rows of channels, a few at a time, and applies the activation to them in y while they are in the
/// first-level cache.
template <typename F>
void activated_rows(size_t rows, size_t channels, const Activation& activation, float* y, const F& f) noexcept {
  constexpr size_t kElements = 2048;
  const size_t some = std::max<size_t>(1, kElements / channels);
  for (size_t first = 0; first < rows; first += some) {
    const size_t n = std::min(some, rows - first);
    f(first, n);
    const std::span<float> done(y + first * channels, n * channels);
    if (activation.kind != Activation::Kind::none) activate(activation, done, done, Parallel());
  }
}

/// Normalises some pixels from element `at` on.
void normalise(const GroupNorm& args, size_t at, size_t pixels, const float* coefficients, size_t stride) noexcept {
  const auto affine = RETORT_SELECT(nhwc_channel_affine);
  activated_rows(pixels, args.channels, args.activation, args.y + at, [&](size_t pixel, size_t n) {
    const size_t first = at + pixel * args.channels;
    affine(args.x + first, args.y + first, n, args.channels, coefficients, coefficients + stride,
           coefficients + 2 * stride);
  });
}

}  // namespace

size_t group_norm_nhwc_scratch(const GroupNorm& args, int workers) { return Memory(args, workers).bytes(); }

void group_norm_nhwc(const GroupNorm& args, void* scratch, const Parallel& par) noexcept {
  const size_t size = args.channels * args.spatial;
  if (args.batch * size == 0) return;
  const Pieces pieces(args);
  const Memory memory(args, par.workers());
  auto* const parts = static_cast<GroupMoments*>(scratch);
  auto* const coefficients = reinterpret_cast<float*>(parts + memory.parts);
  float* const of_workers = coefficients + memory.coefficients;
  const size_t image_parts = pieces.count * args.groups;
  const auto moments = RETORT_SELECT(nhwc_group_moments);
  par.for_each(args.batch * pieces.count, [&](size_t task, int worker) {
    const size_t b = task / pieces.count, i = task % pieces.count;
    float* const sums = of_workers + size_t(worker) * 2 * memory.channels;
    moments(args.x + b * size + pieces.first(i) * args.channels, pieces.length(i), args.channels, args.groups, sums,
            sums + memory.channels, parts + b * image_parts + i * args.groups);
  });
  for (size_t b = 0; b < args.batch; ++b)
    find_coefficients(args, parts + b * image_parts, pieces, memory.channels, coefficients + b * 3 * memory.channels);
  par.for_each(args.batch * pieces.count, [&](size_t task, int) {
    const size_t b = task / pieces.count, i = task % pieces.count;
    normalise(args, b * size + pieces.first(i) * args.channels, pieces.length(i),
              coefficients + b * 3 * memory.channels, memory.channels);
  });
}

void group_norm_nhwc_reference(const GroupNorm& args) {
  const size_t size = args.channels * args.spatial;
  std::vector<float> planes(args.batch * size), normal(planes.size());
  const auto place = [&](size_t i) {
    return i / size * size + i % args.channels * args.spatial + i % size / args.channels;
  };
  for (size_t i = 0; i < planes.size(); ++i) planes[place(i)] = args.x[i];
  GroupNorm first = args;
  first.x = planes.data();
  first.y = normal.data();
  group_norm_reference(first);
  for (size_t i = 0; i < planes.size(); ++i) {
    const float value = normal[place(i)];
    const Epilogue activation{.bias = &value, .activation = args.activation};
    gemm_reference(1, 1, 0, nullptr, 0, nullptr, 0, 0, args.y + i, 1, activation);
  }
}

void row_affine(const RowAffine& args, const Parallel& par) noexcept {
  if (args.channels == 0) return;
  const auto affine = RETORT_SELECT(row_affine_block);
  const auto task = [&](size_t begin, size_t end) {
    float* const y = args.y + begin * args.channels;
    activated_rows(end - begin, args.channels, args.activation, y, [&](size_t row, size_t n) {
      affine(args.x + (begin + row) * args.channels, y + row * args.channels, n, args.channels, args.scale, args.shift);
    });
  };
  for_chunks(par, args.rows, task, std::max<size_t>(1, kChunk / args.channels));
}

void channel_affine_reference(const ChannelAffine& args) {
  for (size_t i = 0; i < args.batch * args.channels * args.spatial; ++i) {
    const size_t c = i / args.spatial % args.channels;
    const auto value = float(double(args.x[i]) * double(args.scale[c]) + double(args.shift[c]));
    const Epilogue activation{.bias = &value, .activation = args.activation};
    gemm_reference(1, 1, 0, nullptr, 0, nullptr, 0, 0, args.y + i, 1, activation);
  }
}
void row_affine_reference(const RowAffine& a) {
  channel_affine_reference({a.rows, a.channels, 1, a.x, a.scale, a.shift, a.y, a.activation});
}

}  // namespace retort::kernels
#endif
