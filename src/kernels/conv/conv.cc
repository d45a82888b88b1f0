#include "kernels/conv/conv.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/groups.h"
#include "kernels/conv/inside.h"
#include "kernels/conv/times.h"
#include "kernels/conv/windows.h"
#include "kernels/conv/winograd.h"
#include "kernels/gemm/gemm_bf16.h"

namespace retort::kernels {
namespace conv_detail {

size_t spread_stride(size_t floats) {
  constexpr size_t kLine = 16, kAlias = 256;  // in floats: 64 bytes, 1 KiB
  const size_t stride = round_up(floats, kLine);
  return stride >= 2 * kAlias && stride % kAlias == 0 ? stride + kLine : stride;
}

size_t group_columns(size_t columns, size_t wanted) {
  const size_t width = gemm_panel_width();
  const size_t panels = std::max<size_t>(ceil_div(columns, width), 1);
  return ceil_div(panels, std::clamp<size_t>(wanted, 1, panels)) * width;
}

void reset_workers(void* scratch, size_t worker_bytes, int workers) noexcept {
  for (int w = 0; w < workers; ++w) *worker_head(scratch, worker_bytes, w) = {kNoBlock, kNoBlock};
}

size_t wanted_tasks(size_t macs) { return std::clamp<size_t>(macs / kTaskMacs, 1, kWantedTasks); }

namespace {

bool is_depthwise(const ConvShape& s) { return s.groups > 1 && s.groups == s.in_c && s.groups == s.out_c; }

bool suits_winograd(const ConvShape& s) {
  // Rows of a tile are stored at a distance that is counted in the distance of its columns.
  const bool even = s.out_w * s.dilation_h % s.dilation_w == 0;
  return s.groups == 1 && s.kernel_h == 3 && s.kernel_w == 3 && s.stride_h * s.stride_w == 1 && even &&
         !s.input_is_nchw;
}

constexpr size_t kMinChannels = 16;  // with fewer, vectors are half empty
constexpr double kGain = 1.1;        // with less gain, the plain sum is as fast and rounds less

ConvAlgorithm cheapest_3x3(const ConvShape& s, double plain = 1) {
  if (s.in_c < kMinChannels || s.out_c < kMinChannels) return ConvAlgorithm::rows;
  const Times3x3 times(s);
  const double winograd4 = times.winograd4(), winograd2 = times.winograd2();
  if (times.direct(plain) <= kGain * std::min(winograd4, winograd2)) return ConvAlgorithm::rows;
  return winograd4 < winograd2 ? ConvAlgorithm::winograd4 : ConvAlgorithm::winograd2;
}

// Compares times like cheapest_3x3.
bool saves_by_winograd_line(const ConvShape& s, double plain = 1) {
  constexpr double kTransform = 3, kFilter = 6;
  if (s.in_c < kMinChannels || s.out_c < kMinChannels) return false;
  const LineTaps taps = line_taps(s.kernel_w);
  const double channels = double(s.in_c) * double(s.out_c);
  const double products = double((taps.of_group + kLineTile - 1) * taps.groups);
  const size_t strip = ceil_div(ceil_div(s.out_w, s.dilation_w), kLineTile) + taps.groups - 1;
  const double tiles = double(s.batch * s.in_h * phases(s)) * double(strip);
  const double direct = plain * double(s.out_pixels()) * double(s.kernel_w) * (channels / 16);
  const double winograd =
      (tiles + kFilter) * products * (channels / 16) + tiles * kTransform * double(s.in_c + s.out_c);
  return direct > kGain * winograd;
}

// The time of a plain sum over the taps inside of the image, compared to all taps; 1 if `inside` saves too little.
double plain_share(const ConvShape& s) {
  constexpr double kMostShare = 0.9;  // rectangles of few pixels are multiplied more slowly
  const double share = inside_share(s);
  return share <= kMostShare ? share : 1;
}

// Packs one panel as the GEMM needs it, taps outermost: row (tap, channel). The weights of a column are contiguous, taps
// innermost: some channels at a time are transposed in the first-level cache.
void pack_panel(const float* w, size_t channels, size_t taps, size_t columns, float* packed) {
  constexpr size_t kFloats = 4096;
  alignas(64) float rows[kFloats];
  const size_t width = gemm_panel_width(), filter = taps * channels, most = kFloats / (taps * width);
  for (size_t t = 0; t < taps && most == 0; ++t)
    gemm_pack_b(w + t, taps, filter, channels, columns, packed + t * channels * width);
  for (size_t c = 0; c < channels && most > 0; c += most) {
    const size_t some = std::min(most, channels - c);
    gemm_pack_b(w + c * taps, 1, filter, some * taps, columns, rows);
    for (size_t i = 0; i < some * taps; ++i)
      std::copy_n(rows + i * width, width, packed + (i % taps * channels + c + i / taps) * width);
  }
}

void pack_taps_outermost(const float* w, const RowsPlan& plan, size_t taps, float* packed, const Parallel& run) {
  const size_t width = gemm_panel_width(), filter = taps * plan.group_in;
  for (size_t n = 0; n < plan.group_out && filter > 0 && !run.cancelled(); n += width, packed += filter * width) {
    const size_t columns = std::min(width, plan.group_out - n);
    if (taps == 1)
      gemm_pack_b(w + n * filter, 1, filter, filter, columns, packed);
    else
      pack_panel(w + n * filter, plan.group_in, taps, columns, packed);
  }
}

// Bytes after the weights of a pointwise convolution that say which of its columns are suitable for sums.
size_t pointwise_fit_bytes(const ConvShape& s) {
  const bool pointwise = s.groups * s.kernel_h * s.kernel_w == 1 && !s.input_is_nchw;
  return pointwise ? gemm_fit_bytes(s.in_c, s.out_c) : 0;
}

void pack_rows(const ConvShape& s, const float* weights, float* packed, const Parallel& run) {
  const RowsPlan plan = plan_rows(s);
  const size_t group_floats = group_packed_bytes(s) / sizeof(float);
  for (size_t g = 0; g < s.groups && !run.cancelled();
       ++g, packed += group_floats, weights += plan.k * plan.group_out) {
    if (s.input_is_nchw) {
      gemm_pack_b(weights, 1, plan.k, plan.k, plan.group_out, {packed, PackedType::f32, &run});
    } else {
      pack_taps_outermost(weights, plan, s.kernel_h * s.kernel_w, packed, run);
    }
  }
}

// Packs filters taps outermost, one panel after the other; a tap has whole pairs of channels.
void pack_bf16(const ConvShape& s, const float* w, float* packed, const Parallel& run) {
  const size_t width = gemm_panel_width(), taps = s.kernel_h * s.kernel_w, filter = taps * s.in_c;
  for (size_t n = 0; n < s.out_c && !run.cancelled(); n += width) {
    for (size_t t = 0; t < taps; ++t, packed += bf16_pairs(s.in_c) * width)
      bf16_pack_b(w + n * filter + t, taps, filter, s.in_c, std::min(width, s.out_c - n), packed);
  }
}

}  // namespace

size_t group_packed_bytes(const ConvShape& s) {
  return gemm_packed_bytes(s.kernel_h * s.kernel_w * (s.in_c / s.groups), s.out_c / s.groups);
}

}  // namespace conv_detail

using namespace conv_detail;

ConvShape lay_down(ConvShape s) {
  const bool column = s.in_w == 1 && s.out_w == 1 && s.kernel_w == 1 && s.pad_left == 0;
  if (!column) return s;
  std::swap(s.in_h, s.in_w);
  std::swap(s.out_h, s.out_w);
  std::swap(s.kernel_h, s.kernel_w);
  s.pad_left = std::exchange(s.pad_top, 0);
  s.stride_w = std::exchange(s.stride_h, 1);
  s.dilation_w = std::exchange(s.dilation_h, 1);
  return s;
}

ConvShape fold_width(const ConvShape& s) {
  // The weights of kernels 1 x 1, which a kernel of one row would become, are followed by more bytes.
  const bool whole = s.in_w > 1 && s.kernel_w == s.in_w && s.out_w == 1 && s.pad_left == 0 && s.dilation_w == 1;
  const bool channels_last = !s.input_is_nchw || s.in_c == 1;
  if (!whole || s.kernel_h == 1 || s.groups > 1 || s.scaled_input || !channels_last || s.in_pixel_stride != s.in_c)
    return s;
  ConvShape f = s;
  f.in_c = f.in_pixel_stride = s.in_c * s.in_w;
  f.in_w = f.kernel_w = f.stride_w = 1;
  f.input_is_nchw = false;
  return lay_down(f);
}

ConvAlgorithm choose_conv(const ConvShape& s, bool strict) {
  if (is_depthwise(s) && !s.scaled_input) return ConvAlgorithm::depthwise;
  if (s.groups > 1) {
    if (suits_groups(s)) return ConvAlgorithm::groups;
    return suits_windows(s) && !is_direct(s) ? ConvAlgorithm::windows : ConvAlgorithm::grouped;
  }
  if (suits_lines(s)) return ConvAlgorithm::lines;
  if (s.kernel_h * s.kernel_w == 1 && s.pad_top == 0 && s.pad_left == 0 && !s.input_is_nchw) {
    const bool saves = !strict && is_direct(s) && gemm_scratch_bytes(s.out_pixels(), s.out_c, s.in_c, 1) > 0;
    if (saves) return ConvAlgorithm::strassen;
    return suits_windows(s) && !is_direct(s) ? ConvAlgorithm::windows : ConvAlgorithm::pointwise;
  }
  const double plain = plain_share(s);
  if (!strict && !s.scaled_input && suits_winograd(s)) {
    const ConvAlgorithm cheapest = cheapest_3x3(s, plain);
    if (cheapest != ConvAlgorithm::rows) return cheapest;
  } else if (!strict && is_along_lines(s) && s.stride_w == 1 && saves_by_winograd_line(s, plain)) {
    return ConvAlgorithm::winograd_line;
  }
  if (plain < 1) return ConvAlgorithm::inside;
  if (suits_strips(s)) return ConvAlgorithm::strips;
  return suits_windows(s) ? ConvAlgorithm::windows : ConvAlgorithm::rows;
}

namespace {

bool suits_packed_winograd(const ConvShape& s, bool strict) {
  if (strict || s.scaled_input || !suits_winograd(s) || s.in_c < kMinChannels || s.out_c < kMinChannels) return false;
  return s.dilation_h % s.dilation_w == 0;  // out_w may differ in a run, whose filters are packed by then
}

}  // namespace

bool saves_by_packed_winograd(const ConvShape& shape, bool strict) {
  ConvShape s = shape;
  s.batch = std::max<size_t>(s.batch, 1);
  if (!suits_packed_winograd(s, strict) || s.out_pixels() == 0) return false;
  const Times3x3 times(s);
  return kGain * times.winograd2_packed() <
         std::min({times.direct(plain_share(s)), times.winograd4(), times.winograd2()});
}

ConvAlgorithm choose_packed_winograd(const ConvShape& s) {
  const Times3x3 times(s);
  return times.winograd2_packed() <= times.winograd4() ? ConvAlgorithm::winograd2_packed
                                                       : ConvAlgorithm::winograd4_packed;
}

namespace {

constexpr double kBf16Product = 0.55;  // two products at a time, and the rounding of patches

ConvShape of_usual_size(ConvShape s) {
  constexpr size_t kUsualSize = 56;
  for (size_t* unknown : {&s.in_h, &s.in_w, &s.out_h, &s.out_w}) *unknown = *unknown == 0 ? kUsualSize : *unknown;
  s.batch = std::max<size_t>(s.batch, 1);
  return s;
}

}  // namespace

bool saves_by_bf16_winograd(const ConvShape& shape, bool strict) {
  if (!has_bf16_products() || has_bf16_tiles() || shape.in_c % 2 != 0 || !suits_packed_winograd(shape, strict))
    return false;
  const ConvShape s = of_usual_size(shape);
  const Times3x3 times(s);
  const double time = times.bf16_winograd(), direct = times.direct(kBf16Product * plain_share(s));
  return kGain * time < direct && time < std::min(times.winograd4(), times.winograd2_packed());
}

bool saves_by_bf16(const ConvShape& shape, bool strict) {
  constexpr size_t kFewChannels = 16;
  constexpr double kByAmx = 0.1;
  const double plain = has_bf16_tiles() ? kByAmx : kBf16Product;
  if (suits_bf16_lines(shape)) return shape.out_c >= kFewChannels;
  if (suits_bf16_pixels(shape)) return true;
  if (!has_bf16_products() || shape.groups > 1 || shape.input_is_nchw) return false;
  if (shape.in_c % 2 != 0 || shape.in_c < kFewChannels || shape.out_c < kFewChannels) return false;
  const ConvShape s = of_usual_size(shape);
  switch (choose_conv(s, strict)) {
    case ConvAlgorithm::winograd4:
    case ConvAlgorithm::winograd2:
      return cheapest_3x3(s, plain) == ConvAlgorithm::rows;
    case ConvAlgorithm::winograd_line:
      return !saves_by_winograd_line(s, plain);
    case ConvAlgorithm::lines:
      return false;
    case ConvAlgorithm::inside:
      return plain < inside_share(s);
    default:
      return true;
  }
}

const char* conv_algorithm_name(ConvAlgorithm algorithm) {
  static constexpr const char* kNames[] = {
      "pointwise", "strassen",  "rows",      "inside",           "windows",          "strips",
      "lines",     "winograd4", "winograd2", "winograd2_packed", "winograd4_packed", "winograd_line",
      "depthwise", "grouped",   "groups",    "bf16_rows",        "bf16_winograd"};
  static_assert(std::size(kNames) == size_t(ConvAlgorithm::bf16_winograd) + 1);
  return kNames[size_t(algorithm)];
}

namespace {

bool packs_winograd(ConvAlgorithm a) {
  return a == ConvAlgorithm::winograd2_packed || a == ConvAlgorithm::winograd4_packed;
}

}  // namespace

size_t conv_packed_bytes(const ConvShape& s, ConvAlgorithm algorithm) {
  if (algorithm == ConvAlgorithm::depthwise) return depthwise_packed_bytes(s);
  if (algorithm == ConvAlgorithm::groups) return groups_packed_bytes(s);
  if (algorithm == ConvAlgorithm::bf16_rows && suits_bf16_lines(s)) return bf16_lines_packed_bytes(s);
  if (algorithm == ConvAlgorithm::bf16_rows) {
    const size_t channels = suits_bf16_pixels(s) ? bf16_pixels(s).in_c : s.in_c;
    return bf16_packed_bytes(s.kernel_h * s.kernel_w * channels, s.out_c);
  }
  if (packs_winograd(algorithm)) return 16 * packed_plane(s.in_c, s.out_c) * sizeof(float);
  if (algorithm == ConvAlgorithm::bf16_winograd) return 16 * packed_plane(bf16_pairs(s.in_c), s.out_c) * sizeof(float);
  return s.groups * group_packed_bytes(s) + round_up(pointwise_fit_bytes(s), 64);
}

void conv_pack(const ConvShape& s, ConvAlgorithm algorithm, const float* weights, float* packed,
               const Parallel& run) noexcept {
  if (algorithm == ConvAlgorithm::depthwise)
    return depthwise_pack(s, {weights, s.kernel_h * s.kernel_w, 0, s.kernel_w, 1}, packed);
  if (algorithm == ConvAlgorithm::groups) {
    const size_t taps = s.kernel_h * s.kernel_w, filter = s.in_c / s.groups * taps;
    return groups_pack(s, {weights, s.out_c / s.groups * filter, filter, taps, 0, s.kernel_w, 1}, packed, run);
  }
  if (algorithm == ConvAlgorithm::bf16_rows && suits_bf16_lines(s)) return bf16_lines_pack(s, weights, packed, run);
  if (algorithm == ConvAlgorithm::bf16_rows && suits_bf16_pixels(s)) return bf16_pixels_pack(s, weights, packed, run);
  if (algorithm == ConvAlgorithm::bf16_rows) return pack_bf16(s, weights, packed, run);
  if (packs_winograd(algorithm)) return pack_winograd(s, weights, packed, run);
  if (algorithm == ConvAlgorithm::bf16_winograd) return pack_bf16_winograd(s, weights, packed, run);
  pack_rows(s, weights, packed, run);
  if (pointwise_fit_bytes(s) == 0) return;
  auto* fit = reinterpret_cast<uint8_t*>(packed) + group_packed_bytes(s);
  gemm_compare_b(packed, s.in_c, s.out_c, fit, run);
}

size_t conv_scratch_bytes(const ConvShape& s, ConvAlgorithm algorithm, int workers) {
  if (s.out_pixels() * s.out_c == 0) return 0;
  switch (algorithm) {
    case ConvAlgorithm::depthwise:
      return 0;
    case ConvAlgorithm::groups:
      return plan_groups(s).worker_bytes * size_t(workers);
    case ConvAlgorithm::strassen:
      return gemm_scratch_bytes(s.out_pixels(), s.out_c, s.in_c, workers);
    case ConvAlgorithm::winograd4:
    case ConvAlgorithm::winograd2:
    case ConvAlgorithm::winograd2_packed:
    case ConvAlgorithm::winograd4_packed:
    case ConvAlgorithm::winograd_line:
    case ConvAlgorithm::bf16_winograd:
      return plan_winograd(s, algorithm).worker_bytes * size_t(workers);
    case ConvAlgorithm::lines:
      return plan_lines(s).worker_bytes * size_t(workers);
    case ConvAlgorithm::strips:
      return plan_strips(s).worker_bytes * size_t(workers);
    case ConvAlgorithm::inside:
      return plan_inside(s).worker_bytes * size_t(workers);
    case ConvAlgorithm::windows:
      return plan_windows(s).worker_bytes * size_t(workers);
    case ConvAlgorithm::pointwise:
    case ConvAlgorithm::rows:
    case ConvAlgorithm::grouped:
      return scales_weights(s) ? group_packed_bytes(s) : plan_rows(s).worker_bytes * size_t(workers);
    case ConvAlgorithm::bf16_rows: {
      if (suits_bf16_lines(s)) return bf16_lines_scratch_bytes(s);
      const RowsPlan plan = plan_rows(suits_bf16_pixels(s) ? bf16_pixels(s) : s, true);
      return plan.image_bytes + plan.worker_bytes * size_t(workers);
    }
  }
  return 0;
}

void conv(const ConvArgs& args, void* scratch, const Parallel& par) noexcept {
  if (args.shape.out_pixels() * args.shape.out_c == 0) return;
  switch (args.algorithm) {
    case ConvAlgorithm::winograd4:
    case ConvAlgorithm::winograd2:
    case ConvAlgorithm::winograd2_packed:
    case ConvAlgorithm::winograd4_packed:
    case ConvAlgorithm::winograd_line:
    case ConvAlgorithm::bf16_winograd:
      return conv_winograd(args, scratch, par);
    case ConvAlgorithm::depthwise:
      return conv_depthwise(args, par);
    case ConvAlgorithm::groups:
      return conv_groups(args, scratch, par);
    case ConvAlgorithm::lines:
      return conv_lines(args, scratch, par);
    case ConvAlgorithm::strips:
      return conv_strips(args, scratch, par);
    case ConvAlgorithm::inside:
      return conv_inside(args, scratch, par);
    case ConvAlgorithm::windows:
      return conv_windows(args, scratch, par);
    case ConvAlgorithm::pointwise:
    case ConvAlgorithm::strassen:
    case ConvAlgorithm::rows:
    case ConvAlgorithm::grouped:
      return conv_rows(args, scratch, par);
    case ConvAlgorithm::bf16_rows:
      if (suits_bf16_lines(args.shape)) return conv_bf16_lines(args, scratch, par);
      return (suits_bf16_pixels(args.shape) ? conv_bf16_pixels : conv_rows)(args, scratch, par);
  }
}

}  // namespace retort::kernels
