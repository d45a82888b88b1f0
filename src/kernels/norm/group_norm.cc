#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/group_norm.cc"
#include "kernels/norm/group_norm.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "kernels/dispatch.h"
#include "kernels/elementwise/blocks-inl.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/reduce/sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// y = (x - center)·scale + shift.
void affine_row(const float* x, float* y, size_t n, float center, float scale, float shift) {
  const D d;
  const V c = hn::Set(d, center), m = hn::Set(d, scale), a = hn::Set(d, shift);
  const auto f = [&](V v) HWY_ATTR { return hn::MulAdd(hn::Sub(v, c), m, a); };
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
  if (i < n) StoreFirst(d, f(LoadFirst(d, x + i, n - i)), y + i, n - i);
}

}  // namespace

GroupMoments group_moments(const float* x, size_t count) {
  const D d;
  const double sum = BlockedSum(d, x, count, [](V s, V v) HWY_ATTR { return hn::Add(s, v); });
  const float mean = float(sum / double(count));
  const V shift = hn::Set(d, mean);
  const double squares = BlockedSum(d, x, count, [shift](V s, V v) HWY_ATTR {
    const V c = hn::Sub(v, shift);
    return hn::MulAdd(c, c, s);
  });
  return {mean, squares};
}

void group_norm_rows(const GroupNorm& args, size_t begin, size_t end, float mean, float inv_std) {
  for (size_t row = begin; row < end; ++row) {
    const size_t c = row % args.channels, at = row * args.spatial;
    const float gamma = args.gamma ? args.gamma[c] : 1, beta = args.beta ? args.beta[c] : 0;
    affine_row(args.x + at, args.y + at, args.spatial, mean, inv_std * gamma, beta);
  }
}

void affine_run(const Affine& a, const float* x, float* y, size_t n) {
  affine_row(x, y, n, a.center, a.scale, a.shift);
}

void channel_affine_part(const ChannelAffine& args, size_t row, size_t begin, size_t n) {
  const size_t c = row % args.channels, at = row * args.spatial + begin;
  affine_row(args.x + at, args.y + at, n, 0, args.scale[c], args.shift[c]);
  if (args.activation.kind != Activation::Kind::none) activate_rows(args.activation, args.y + at, 1, n, n);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

namespace {

/// Fewer groups than this do not keep the workers busy: large ones are divided.
constexpr size_t kFewGroups = 16;

/// Normalises one block of [channels / groups, spatial] in pieces, for more than one thread.
void group_norm_pieces(const GroupNorm& args, size_t block, const Parallel& par) noexcept {
  constexpr size_t kMost = 64;
  const auto moments = RETORT_SELECT(group_moments);
  const auto rows = RETORT_SELECT(group_norm_rows);
  const size_t channels = args.channels / args.groups, count = channels * args.spatial;
  const size_t piece = std::max(kChunk, ceil_div(count, kMost)), pieces = ceil_div(count, piece);
  const auto length = [&](size_t i) { return std::min(piece, count - i * piece); };
  GroupMoments parts[kMost];
  const float* const x = args.x + block * count;
  par.for_each(pieces, [&](size_t i, int) { parts[i] = moments(x + i * piece, length(i)); });
  const GroupMoments m = joined_moments(parts, 1, pieces, length);
  const float inv_std = m.inverse_deviation(count, args.epsilon);
  const size_t first = block * channels;
  for_chunks(
      par, channels, [&](size_t begin, size_t end) { rows(args, first + begin, first + end, m.mean, inv_std); },
      std::max<size_t>(1, kChunk / args.spatial));
}

}  // namespace

GroupMoments joined_moments(const GroupMoments* parts, size_t stride, size_t pieces,
                            FunctionRef<size_t(size_t)> length) noexcept {
  double sum = 0, squares = 0;
  size_t count = 0;
  for (size_t i = 0; i < pieces; ++i) {
    sum += double(parts[i * stride].mean) * double(length(i));
    count += length(i);
  }
  const double mean = sum / double(count);
  for (size_t i = 0; i < pieces; ++i) {
    const double apart = double(parts[i * stride].mean) - mean;
    squares += parts[i * stride].squares + apart * apart * double(length(i));
  }
  return {float(mean), squares};
}

void group_norm(const GroupNorm& args, const Parallel& par) noexcept {
  const size_t blocks = args.batch * args.groups;
  if (blocks == 0 || args.channels * args.spatial == 0) return;
  const size_t channels = args.channels / args.groups, count = channels * args.spatial;
  if (blocks < kFewGroups && count > 2 * kChunk) {
    for (size_t b = 0; b < blocks; ++b) group_norm_pieces(args, b, par);
    return;
  }
  const auto moments = RETORT_SELECT(group_moments);
  const auto rows = RETORT_SELECT(group_norm_rows);
  const auto task = [&](size_t begin, size_t end) {
    for (size_t b = begin; b < end; ++b) {
      const GroupMoments m = moments(args.x + b * count, count);
      rows(args, b * channels, (b + 1) * channels, m.mean, m.inverse_deviation(count, args.epsilon));
    }
  };
  for_chunks(par, blocks, task, std::max<size_t>(1, kChunk / count));
}

void channel_affine(const ChannelAffine& args, const Parallel& par) noexcept {
  if (args.spatial == 0) return;
  const auto part = RETORT_SELECT(channel_affine_part);
  const size_t piece = std::min(args.spatial, kChunk), pieces = ceil_div(args.spatial, piece);  // of a row
  const auto task = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t at = i % pieces * piece;
      part(args, i / pieces, at, std::min(piece, args.spatial - at));
    }
  };
  for_chunks(par, args.batch * args.channels * pieces, task, std::max<size_t>(1, kChunk / piece));
}

void affine(const Affine& args, const float* x, float* y, size_t n) noexcept {
  RETORT_SELECT(affine_run)(args, x, y, n);
}

void group_norm_reference(const GroupNorm& a) noexcept {
  if (a.channels == 0) return;
  const size_t channels = a.channels / a.groups, count = channels * a.spatial;
  for (size_t block = 0; block < a.batch * a.groups; ++block) {
    const float* const x = a.x + block * count;
    double mean = 0, variance = 0;
    for (size_t i = 0; i < count; ++i) mean += double(x[i]) / double(count);
    for (size_t i = 0; i < count; ++i) variance += (x[i] - mean) * (x[i] - mean) / double(count);
    const double inv_std = 1 / std::sqrt(variance + double(a.epsilon));
    for (size_t i = 0; i < count; ++i) {
      const size_t c = block % a.groups * channels + i / a.spatial;
      const double gamma = a.gamma ? double(a.gamma[c]) : 1, beta = a.beta ? double(a.beta[c]) : 0;
      a.y[block * count + i] = float((x[i] - mean) * inv_std * gamma + beta);
    }
  }
}

}  // namespace retort::kernels
#endif
