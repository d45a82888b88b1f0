// Convolution of an image with few channels, the first of a network, in bfloat16 arithmetic. By AMX, the input is copied
// once, with its padding, as pixels of four rounded numbers (8 bytes). A row of an AMX register, 64 bytes, then holds
// the eight pixels from one on, so registers load the patches of neighbouring outputs directly from the copy, one line
// of the kernel at a time. The way without AMX is described at suits_bf16_pixels().
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/bf16_lines.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/lanes-inl.h"
#include "kernels/dispatch.h"
#include "kernels/gemm/amx.h"
#include "kernels/gemm/bf16-inl.h"
#include "kernels/gemm/gemm_bf16.h"
#include "kernels/gemm/gemm_plan.h"
#include "kernels/unaligned.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

/// Writes n pixels of `channels` planes (1 to 4), which are `plane` floats apart. Missing channels are zero.
void copy_pixels(const float* from, size_t plane, size_t channels, size_t n, float* to) noexcept {
  const FloatTag d;
  for (size_t i = 0; i < n; i += kLanes, to += 2 * kLanes) {
    Float v[4];
    for (size_t c = 0; c < 4; ++c)
      v[c] = c < channels ? load_first(from + c * plane + i, std::min(kLanes, n - i)) : hn::Zero(d);
    hn::StoreInterleaved2(pair(v[0], v[1]), pair(v[2], v[3]), WordTag(), reinterpret_cast<uint32_t*>(to));
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {
namespace {

constexpr size_t kPixelFloats = 2, kPixels = amx::kStepPairs / kPixelFloats, kMostChannels = 4;

// The padded copy of the input.
struct Image {
  size_t height, line;  // lines of an image, floats of a line
  explicit Image(const ConvShape& s)
      : height((s.out_h - 1) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1),
        line(round_up((s.out_w - 1) * s.stride_w + kPixels + kMaxLanes, kPixels) * kPixelFloats) {}
};

void copy_line(const ConvArgs& args, const Image& image, size_t row, float* to) {
  const ConvShape& s = args.shape;
  const size_t y = row % image.height - s.pad_top;  // wraps around above the image
  std::fill_n(to, image.line, 0.0f);
  const size_t room = image.line / kPixelFloats - kMaxLanes;  // whole vectors are written
  if (y >= s.in_h || s.pad_left >= room) return;
  const float* from = args.input + (row / image.height * s.in_c * s.in_h + y) * s.in_w;
  RETORT_SELECT(copy_pixels)
  (from, s.in_h * s.in_w, s.in_c, std::min(s.in_w, room - s.pad_left), to + s.pad_left * kPixelFloats);
}

// One line of outputs.
void convolve_line(const ConvArgs& args, const Image& image, size_t row, const float* pixels, const Parallel& par) {
  const ConvShape& s = args.shape;
  const size_t first = row * s.out_w;
  GemmArgs g;
  g.m = s.out_w;
  g.n = s.out_c;
  g.k = s.kernel_h * amx::kStepPairs;
  g.a = pixels + (row / s.out_h * image.height + row % s.out_h * s.stride_h) * image.line;
  g.a_stride = s.stride_w * kPixelFloats;
  g.packed_b = {args.packed, PackedType::bf16_pairs};
  g.c = args.output + first * s.out_pixel_stride;
  g.c_stride = s.out_pixel_stride;
  g.epilogue = args.epilogue;
  if (g.epilogue.residual) g.epilogue.residual += first * g.epilogue.residual_stride;
  g.run = &par;
  gemm_detail::Part part{.m0 = 0, .m1 = g.m, .n0 = 0, .n1 = g.n, .k_block = g.k};
  part.a_step = image.line * s.dilation_h;
  part.a_step_pairs = s.kernel_w * kPixelFloats;  // infinity times a weight of 0 behind them would be NaN
  gemm_detail::select_gemm_part()(g, part);
}

}  // namespace

// Kernels of one line or one column never suit: lay_down() makes one of the other, whose packed weights would differ.
bool suits_bf16_lines(const ConvShape& s) {
  constexpr size_t kMostLines = 64;  // of the copy, between the first and the last line of a kernel
  const bool has_one_form = (s.kernel_h > 1) == (s.kernel_w > 1);
  return has_bf16_tiles() && s.input_is_nchw && s.in_c <= kMostChannels && s.kernel_w <= kPixels && has_one_form &&
         (s.kernel_h - 1) * s.dilation_h <= kMostLines && s.groups == 1 && (s.dilation_w == 1 || s.kernel_w == 1) &&
         !s.scaled_input;
}

size_t bf16_lines_packed_bytes(const ConvShape& s) {
  return bf16_packed_bytes(s.kernel_h * 2 * amx::kStepPairs, s.out_c);
}

// [panel][line of the kernel][pixel][pair of channels][column]
void bf16_lines_pack(const ConvShape& s, const float* w, float* packed, const Parallel& run) noexcept {
  constexpr size_t kPanel = amx::kPanel, kRows = 2 * amx::kStepPairs;
  const size_t taps = s.kernel_h * s.kernel_w;
  for (size_t n = 0; n < s.out_c && !run.cancelled(); n += kPanel) {
    const size_t columns = std::min(kPanel, s.out_c - n);
    for (size_t y = 0; y < s.kernel_h; ++y, packed += kRows / 2 * kPanel) {
      float rows[kRows * kPanel] = {};
      for (size_t i = 0; i < s.kernel_w * s.in_c * columns; ++i) {
        const size_t x = i % s.kernel_w, c = i / s.kernel_w % s.in_c, column = i / s.kernel_w / s.in_c;
        rows[(x * kMostChannels + c) * kPanel + column] =
            load_unaligned(w, ((n + column) * s.in_c + c) * taps + y * s.kernel_w + x);
      }
      bf16_pack_b(rows, kPanel, 1, kRows, kPanel, packed);
    }
  }
}

size_t bf16_lines_scratch_bytes(const ConvShape& s) {
  const Image image(s);
  const size_t lines = checked_mul(s.batch, image.height, "lines of the input");
  return checked_mul(lines, image.line * sizeof(float), "lines of the input");
}

void conv_bf16_lines(const ConvArgs& args, void* scratch, const Parallel& par) noexcept {
  constexpr size_t kCopied = 32;  // lines of a task: about 5 µs
  const ConvShape& s = args.shape;
  const Image image(s);
  auto* const pixels = static_cast<float*>(scratch);
  const size_t lines = s.batch * image.height, rows = s.batch * s.out_h;
  par.for_each(ceil_div(lines, kCopied), [&](size_t task, int) {
    for (size_t l = task * kCopied; l < std::min((task + 1) * kCopied, lines); ++l)
      copy_line(args, image, l, pixels + l * image.line);
  });
  const size_t task_rows = ceil_div(rows, wanted_tasks(s.out_pixels() * s.out_c * s.kernel_h * kPixels));
  par.for_each(ceil_div(rows, task_rows), [&](size_t task, int) {
    const size_t end = std::min((task + 1) * task_rows, rows);
    for (size_t row = task * task_rows; row < end && !par.cancelled(); ++row)
      convolve_line(args, image, row, pixels, par);
  });
}

// Without AMX, bf16_rows multiply a copy of the input, whose pixels are padded to four rounded numbers. Two multiply-adds
// of pairs replace one for each channel. Patches are gathered, so short sums for few columns gain nothing; products of
// pairs always have whole panels. Parts of the time in float32, three channels of 224x224, by 1 and 2 threads: 7x7 with
// 64 filters (kLeast: 98) 0.80 and 0.80, 5x5 with 64 (50) 0.86 and 0.91, 3x3 with 192 (54) 0.68 and 0.90, 7x7 with 32
// (49) 1 and 1, 3x3 with 128 (36) 0.76 and 1.12, 3x3 with 64 (18) 1.10 and 1.47.
bool suits_bf16_pixels(const ConvShape& s) {
  constexpr size_t kFewestChannels = 3, kPanel = 32, kLeast = 48;
  const size_t taps = s.kernel_h * s.kernel_w;
  return has_bf16_products() && !has_bf16_tiles() && s.input_is_nchw && s.groups == 1 && !s.scaled_input &&
         s.in_c >= kFewestChannels && s.in_c <= kMostChannels && taps > 1 && taps * (s.out_c / kPanel) >= kLeast;
}

ConvShape bf16_pixels(const ConvShape& shape) {
  ConvShape s = shape;
  s.in_c = s.in_pixel_stride = kMostChannels;
  s.input_is_nchw = false;
  return s;
}

// [panel][tap][pair of channels][column]
void bf16_pixels_pack(const ConvShape& s, const float* w, float* packed, const Parallel& run) noexcept {
  constexpr size_t kPanel = 32;
  const size_t taps = s.kernel_h * s.kernel_w;
  for (size_t n = 0; n < s.out_c && !run.cancelled(); n += kPanel) {
    for (size_t t = 0; t < taps; ++t, packed += kPixelFloats * kPanel) {
      float rows[kMostChannels * kPanel] = {};
      for (size_t i = 0; i < s.in_c * std::min(kPanel, s.out_c - n); ++i)
        rows[i % s.in_c * kPanel + i / s.in_c] = load_unaligned(w, (n * s.in_c + i) * taps + t);
      bf16_pack_b(rows, kPanel, 1, kMostChannels, kPanel, packed);
    }
  }
}

void conv_bf16_pixels(const ConvArgs& args, void* scratch, const Parallel& par) noexcept {
  constexpr size_t kCopied = 4096;  // pixels of a task: about 3 µs
  const ConvShape& s = args.shape;
  const size_t plane = s.in_h * s.in_w, tasks = ceil_div(plane, kCopied);
  auto* const pixels = static_cast<float*>(scratch);
  const auto copy = RETORT_SELECT(copy_pixels);
  par.for_each(s.batch * tasks, [&](size_t task, int) {
    const size_t image = task / tasks, first = task % tasks * kCopied, count = std::min(kCopied, plane - first);
    const float* from = args.input + image * s.in_c * plane + first;
    float* to = pixels + (image * plane + first) * kPixelFloats;
    const size_t whole = count / kMaxLanes * kMaxLanes, rest = count - whole;
    if (whole > 0) copy(from, plane, s.in_c, whole, to);
    if (rest == 0) return;
    float last[kMaxLanes * kPixelFloats];  // whole vectors are written
    copy(from + whole, plane, s.in_c, rest, last);
    std::copy_n(last, rest * kPixelFloats, to + whole * kPixelFloats);
  });
  ConvArgs rounded = args;
  rounded.shape = bf16_pixels(s);
  rounded.input = pixels;
  conv_rows(rounded, scratch, par);
}

}  // namespace retort::kernels::conv_detail
#endif
