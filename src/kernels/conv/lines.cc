// Direct convolution of an image with few channels, the first of a network, or to few channels. Gathering patches would
// cost as much as multiplying them. Instead, the input lines of one output row are copied with their padding, and each
// step of the sum reads its inputs from there, at a fixed distance from pixel to pixel. A vector has the sums of a
// pixel's channels, or if these are very few, parts of one sum (LinesPlan::dots), or one channel of neighbouring pixels
// (LinesPlan::pixels).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/lines.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/finish-inl.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

// Pixels of a tile: with two vectors of channels each, as many sums as the registers hold; with one, enough sums that
// multiply-adds do not wait for each other.
template <size_t kVectors>
constexpr size_t kTilePixels = kLanes == 16 ? conv_detail::kMostTilePixels / kVectors
                                            : std::min(conv_detail::kMostTilePixels / 2, kAccumulators / kVectors);

// Copies those padded input lines of output row `row` of the batch that no row before has copied.
void copy_lines(const ConvArgs& args, const conv_detail::LinesPlan& plan, size_t row,
                const conv_detail::LinesMemory& memory) {
  const ConvShape& s = args.shape;
  const size_t b = row / s.out_h, y = row % s.out_h * s.stride_h;
  const size_t channels = s.input_is_nchw ? 1 : s.in_c;  // of one element of a line
  const size_t before = s.pad_left * channels, planes = s.input_is_nchw ? s.in_c : 1;
  const size_t copied = std::min(s.in_w * channels, plan.line_floats - before);
  for (size_t i = 0; i < s.kernel_h; ++i) {
    const size_t padded_y = y + i * s.dilation_h, in_y = padded_y - s.pad_top;  // wraps around above the image
    const size_t place = s.dilation_h == 1 ? padded_y % s.kernel_h : i;
    const size_t line = b * (s.out_h * s.stride_h + s.kernel_h * s.dilation_h) + padded_y;
    const bool is_held = memory.held[place] == line;
    memory.held[place] = line;
    for (size_t plane = 0; plane < planes; ++plane) {
      float* const to = memory.copies + (plane * s.kernel_h + place) * plan.line_floats;
      memory.lines[plane * s.kernel_h + i] = to;
      if (is_held) continue;
      if (in_y < s.in_h) {
        std::copy_n(args.input + ((b * planes + plane) * s.in_h + in_y) * s.in_w * channels, copied, to + before);
      } else {
        std::fill_n(to + before, copied, 0.0f);
      }
    }
  }
}

// Pixels that share a pointer to the first one's input: general registers are few.
constexpr size_t kNearPixels = 7;

// The distances of such pixels, in bytes.
struct Steps {
  size_t one, three, five;
  // The addresses of instructions multiply a register by 1, 2, 4 or 8.
  HWY_INLINE const float* from(const char* first, size_t pixel) const {
    const char* const at = pixel == 0   ? first
                           : pixel == 3 ? first + three
                           : pixel == 5 ? first + five
                           : pixel == 6 ? first + 2 * three
                                        : first + pixel * one;
    return reinterpret_cast<const float*>(at);
  }
};

// kVectors vectors of channels, of which tile.channels exist; `first` is where in the lines the first pixel begins.
template <size_t kVectors, size_t kPixels>
HWY_INLINE void convolve_tile(const conv_detail::LinesPlan& plan, const float* const* lines, size_t first,
                              const float* weights, const Finish& finish, const OutputTile& tile) {
  const FloatTag d;
  Float sums[kVectors][kPixels];
#pragma GCC unroll 32
  for (size_t i = 0; i < kVectors * kPixels; ++i) sums[i / kPixels][i % kPixels] = hn::Zero(d);
  constexpr size_t kPointers = (kPixels + kNearPixels - 1) / kNearPixels;
  const size_t step = plan.step * sizeof(float);
  const Steps steps{step, 3 * step, 5 * step};
  for (size_t l = 0; l < plan.lines; ++l) {
    const char* in[kPointers];
#pragma GCC unroll 32
    for (size_t i = 0; i < kPointers; ++i)
      in[i] = reinterpret_cast<const char*>(lines[l] + first) + i * kNearPixels * step;
    for (size_t k = 0; k < plan.run; ++k, weights += plan.width) {
      Float w[kVectors];
#pragma GCC unroll 32
      for (size_t v = 0; v < kVectors; ++v) w[v] = hn::Load(d, weights + v * kLanes);
#pragma GCC unroll 32
      for (size_t p = 0; p < kPixels; ++p) {
        const Float x = hn::Set(d, *steps.from(in[p / kNearPixels], p % kNearPixels));
#pragma GCC unroll 32
        for (size_t v = 0; v < kVectors; ++v) sums[v][p] = hn::MulAdd(x, w[v], sums[v][p]);
      }
#pragma GCC unroll 32
      for (size_t i = 0; i < kPointers; ++i) in[i] += sizeof(float);
    }
  }
#pragma GCC unroll 32
  for (size_t v = 0; v < kVectors; ++v) {
    OutputTile part = tile;
    part.channel += v * kLanes;
    part.channels = std::min(kLanes, tile.channels - v * kLanes);
    finish.store<1, kPixels>(sums[v], part);
  }
}

// One output row, some vectors of channels from channel c on.
template <size_t kVectors>
void convolve_row(const ConvArgs& args, const conv_detail::LinesPlan& plan, size_t row, size_t c,
                  const float* const* lines) {
  const ConvShape& s = args.shape;
  const Finish finish(args);
  const float* weights = args.packed + c * plan.lines * plan.run;
  constexpr size_t kMany = kTilePixels<kVectors>, kFew = kLanes == 16 ? kMany / 2 : kMany;
  for (size_t x = 0; x < s.out_w;) {
    const OutputTile tile{row * s.out_w + x, 0, 1, s.out_w - x, c, s.out_c - c};
    if (kFew < kMany && tile.columns <= kFew) {  // the last ones
      convolve_tile<kVectors, kFew>(plan, lines, x * plan.step, weights, finish, tile);
      break;
    }
    convolve_tile<kVectors, kMany>(plan, lines, x * plan.step, weights, finish, tile);
    x += kMany;
  }
}

using FourTag = hn::CappedTag<float, 4>;
using Four = hn::Vec<FourTag>;

template <class D>
HWY_INLINE Four sum_of_blocks(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) <= 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return sum_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sums of the lanes of four vectors.
HWY_INLINE Four sums_of_lanes(const Float* v) {
  const FloatTag d;
  const hn::RepartitionToWide<FloatTag> pairs;
  const auto ab = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, v[0], v[1]), hn::InterleaveUpper(d, v[0], v[1])));
  const auto ce = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, v[2], v[3]), hn::InterleaveUpper(d, v[2], v[3])));
  const Float low = hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce));
  return sum_of_blocks(d, hn::Add(low, hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce))));
}

template <class D>
HWY_INLINE hn::Vec<D> widen(D d, Four v) {
  if constexpr (hn::MaxLanes(d) <= 4) {
    return v;
  } else {
    return hn::ZeroExtendVector(d, widen(hn::Half<D>(), v));
  }
}

// Four sums, kOutputs of each pixel, as the first lanes of a vector for each pixel.
template <size_t kOutputs>
HWY_INLINE void spread_sums(Four sums, Float* pixels) {
  const FloatTag d;
  pixels[0] = widen(d, sums);
  if constexpr (kOutputs == 2) pixels[1] = widen(d, hn::Shuffle1032(sums));
  if constexpr (kOutputs == 1) {
    pixels[1] = widen(d, hn::Broadcast<1>(sums));
    pixels[2] = widen(d, hn::Broadcast<2>(sums));
    pixels[3] = widen(d, hn::Broadcast<3>(sums));
  }
}

// Pixels of a tile of dot products.
constexpr size_t dot_pixels(size_t outputs) {
  if (outputs == 1) return 8;
  return kLanes == 16 || outputs == 2 ? 4 : 2;
}

// kOutputs channels of a tile as dot products of runs; `weights` are those of dot_weights.
template <size_t kOutputs>
HWY_INLINE void dot_tile(const conv_detail::LinesPlan& plan, const float* const* lines, size_t first,
                         const float* weights, const Finish& finish, const OutputTile& tile) {
  constexpr size_t kPixels = dot_pixels(kOutputs), kSums = kPixels * kOutputs;
  const FloatTag d;
  const auto within = hn::FirstN(d, plan.run % kLanes);
  Float sums[kSums];
#pragma GCC unroll 32
  for (size_t i = 0; i < kSums; ++i) sums[i] = hn::Zero(d);
  const auto add = [&](const float* in, auto load) HWY_ATTR {
    Float w[kOutputs];
#pragma GCC unroll 4
    for (size_t o = 0; o < kOutputs; ++o) w[o] = hn::Load(d, weights + o * kLanes);
    weights += kOutputs * kLanes;
#pragma GCC unroll 8
    for (size_t p = 0; p < kPixels; ++p) {
      const Float x = load(in + p * plan.step);
#pragma GCC unroll 4
      for (size_t o = 0; o < kOutputs; ++o) sums[p * kOutputs + o] = hn::MulAdd(x, w[o], sums[p * kOutputs + o]);
    }
  };
  for (size_t l = 0; l < plan.lines; ++l) {
    const float* const line = lines[l] + first;
    size_t k = 0;
    for (; k + kLanes <= plan.run; k += kLanes)
      add(line + k, [&](const float* in) HWY_ATTR { return hn::LoadU(d, in); });
    // The floats after a run belong to other pixels, and may be NaN.
    if (k < plan.run)
      add(line + k, [&](const float* in) HWY_ATTR { return hn::IfThenElseZero(within, hn::LoadU(d, in)); });
  }
  Float pixels[kPixels];
#pragma GCC unroll 4
  for (size_t i = 0; i < kSums; i += 4) spread_sums<kOutputs>(sums_of_lanes(sums + i), pixels + i / kOutputs);
  finish.store<1, kPixels>(pixels, tile);
}

template <size_t kOutputs>
void dot_row(const ConvArgs& args, const conv_detail::LinesPlan& plan, size_t row, const float* const* lines,
             const float* weights) {
  constexpr size_t kPixels = dot_pixels(kOutputs);
  const ConvShape& s = args.shape;
  const Finish finish(args);
  for (size_t x = 0; x < s.out_w; x += kPixels) {
    const OutputTile tile{row * s.out_w + x, 0, 1, s.out_w - x, 0, s.out_c};
    dot_tile<kOutputs>(plan, lines, x * plan.step, weights, finish, tile);
  }
}

// Adds up channel c of vectors of pixels from x on, of which n exist.
template <size_t kVectors>
HWY_INLINE void add_pixels(const conv_detail::LinesPlan& plan, const float* const* lines, const float* weights,
                           const Finish& finish, size_t x, size_t pixel, size_t c, size_t n) {
  const FloatTag d;
  Float sums[kVectors];
#pragma GCC unroll 4
  for (Float& sum : sums) sum = hn::Zero(d);
  for (size_t l = 0; l < plan.lines; ++l) {
    const float* in = lines[l] + x;
    for (size_t k = 0; k < plan.run; ++k, weights += plan.width, in += plan.tap) {
      const Float w = hn::Set(d, weights[c]);
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) sums[v] = hn::MulAdd(w, hn::LoadU(d, in + v * kLanes), sums[v]);
    }
  }
  HWY_ALIGN float lanes[kVectors * kLanes];
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) hn::Store(sums[v], d, lanes + v * kLanes);
  finish.store_pixels(lanes, pixel, c, std::min(n, kVectors * kLanes));
}

}  // namespace

// Computes one output row of the batch by vectors of pixels.
void pixel_lines(const ConvArgs& args, const conv_detail::LinesPlan& plan, size_t row,
                 const conv_detail::LinesMemory& memory) noexcept {
  const ConvShape& s = args.shape;
  const Finish finish(args);
  copy_lines(args, plan, row, memory);
  for (size_t c = 0; c < s.out_c; ++c) {
    for (size_t x = 0; x < s.out_w;) {
      const bool many = s.out_w - x > 3 * kLanes;
      (many ? add_pixels<4> : add_pixels<1>)(plan, memory.lines, args.packed, finish, x, row * s.out_w + x, c,
                                             s.out_w - x);
      x += many ? 4 * kLanes : kLanes;
    }
  }
  finish.activate(row * s.out_w, s.out_w, 0, s.out_c);
}

// Computes one output row of the batch.
void convolve_lines(const ConvArgs& args, const conv_detail::LinesPlan& plan, size_t row,
                    const conv_detail::LinesMemory& memory) noexcept {
  const ConvShape& s = args.shape;
  copy_lines(args, plan, row, memory);
  for (size_t c = 0; c < s.out_c; c += plan.width)
    (s.out_c - c > kLanes ? convolve_row<2> : convolve_row<1>)(args, plan, row, c, memory.lines);
  Finish(args).activate(row * s.out_w, s.out_w, 0, s.out_c);
}

// The same by dot products.
void dot_lines(const ConvArgs& args, const conv_detail::LinesPlan& plan, size_t row,
               const conv_detail::LinesMemory& memory) noexcept {
  const ConvShape& s = args.shape;
  copy_lines(args, plan, row, memory);
  const auto dot = plan.outputs == 1 ? dot_row<1> : plan.outputs == 2 ? dot_row<2> : dot_row<4>;
  dot(args, plan, row, memory.lines, memory.weights);
  Finish(args).activate(row * s.out_w, s.out_w, 0, s.out_c);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {

namespace {

// Weights of dot products: for each line and each vector of its run, a vector for each output, padded with zeros.
void dot_weights(const LinesPlan& p, const float* packed, size_t outputs, float* to) {
  for (size_t l = 0; l < p.lines; ++l, packed += p.run * p.width) {
    for (size_t k = 0; k < p.run; k += p.lanes) {
      for (size_t o = 0; o < p.outputs; ++o, to += p.lanes) {
        const size_t n = o < outputs ? std::min(p.lanes, p.run - k) : 0;
        for (size_t i = 0; i < n; ++i) to[i] = packed[(k + i) * p.width + o];
        std::fill(to + n, to + p.lanes, 0.0f);
      }
    }
  }
}

LinesMemory memory_of_lines(const LinesPlan& plan, void* scratch, int worker) {
  char* const own = static_cast<char*>(scratch) + size_t(worker) * plan.worker_bytes;
  LinesMemory m;
  m.lines = reinterpret_cast<const float**>(own);
  m.held = reinterpret_cast<size_t*>(m.lines + plan.lines);
  m.weights = reinterpret_cast<float*>(own + plan.head_bytes);
  m.copies = m.weights + plan.weight_floats;
  return m;
}

// Prepares for the rows of a task. The padding stays zero from one line to the next.
void begin_lines(const ConvArgs& args, const LinesPlan& plan, const LinesMemory& memory) {
  if (plan.dots) dot_weights(plan, args.packed, args.shape.out_c, memory.weights);
  std::fill_n(memory.held, args.shape.kernel_h, kNoBlock);
  std::fill_n(memory.copies, plan.lines * plan.line_floats, 0.0f);
}

// With up to eight channels, half of a vector of 512 bits would be empty. Zen 4 computes it as two of 256 bits, of which
// it then computes one; other processors compute as many vectors of 256 bits as of 512.
auto convolve_for([[maybe_unused]] size_t channels) {
#if defined(__x86_64__)
  if (channels <= 8 && current_isa() == Isa::avx512) return &N_AVX2::convolve_lines;
#endif
  return RETORT_SELECT(convolve_lines);
}

}  // namespace

void conv_lines(const ConvArgs& args, void* scratch, const Parallel& par) noexcept {
  const ConvShape& s = args.shape;
  const LinesPlan plan = plan_lines(s);
  const size_t rows = s.batch * s.out_h;
  const size_t task_rows = ceil_div(rows, wanted_tasks(s.out_pixels() * s.out_c * plan.lines * plan.run));
  const auto convolve = plan.pixels ? RETORT_SELECT(pixel_lines)
                        : plan.dots ? RETORT_SELECT(dot_lines)
                                    : convolve_for(s.out_c);
  par.for_each(ceil_div(rows, task_rows), [&](size_t task, int worker) {
    const LinesMemory memory = memory_of_lines(plan, scratch, worker);
    begin_lines(args, plan, memory);
    const size_t end = std::min((task + 1) * task_rows, rows);
    for (size_t row = task * task_rows; row < end && !par.cancelled(); ++row) convolve(args, plan, row, memory);
  });
}

}  // namespace retort::kernels::conv_detail
#endif
