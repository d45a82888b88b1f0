// A channel of codes under a window of weights: depthwise convolution.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/codes_window.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/gemm/codes_store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
#if HWY_TARGET <= HWY_AVX3
namespace {

/// The bytes of four columns of a window, for each of 16 results: a block of 128 bits has those of four.
template <size_t kStride>
struct Spread {
  alignas(64) int32_t words[kSumLanes];
  alignas(64) uint8_t bytes[2][4 * kSumLanes];
  constexpr Spread() : words(), bytes() {
    for (size_t i = 0; i < kSumLanes; ++i) words[i] = int32_t(i / 4 * kStride + i % 4);
    for (size_t i = 0; i < 4 * kSumLanes; ++i) {
      for (size_t half : {0, 1}) bytes[half][i] = uint8_t(i % 16 / 4 * kStride + i % 4 + 4 * half);
    }
  }
};

template <size_t kStride, size_t kHalves>
void window_lines(const CodeWindow& w, const CodeRow& row, const CodesResult& c, size_t lines, size_t width,
                  size_t at) {
  static constexpr Spread<kStride> spread;
  const SumTag d;
  const hn::Repartition<uint8_t, SumTag> bytes;
  const auto words = hn::SetTableIndices(d, spread.words);
  const auto low = hn::Load(bytes, spread.bytes[0]), high = hn::Load(bytes, spread.bytes[1]);
  const auto scale = hn::Set(hn::ScalableTag<float>(), row.scale);
  const auto offset = hn::Set(hn::ScalableTag<float>(), row.offset);
  for (size_t i = 0; i < lines; ++i, at += width) {
    const uint8_t* x = w.x + i * w.row_stride * w.row_bytes;
    for (size_t j = 0; j < width; j += kSumLanes, x += kSumLanes * kStride) {
      Sums sum = hn::Set(d, row.bias);
      for (size_t r = 0; r < w.rows; ++r) {
        const auto near = hn::TableLookupLanes(hn::BitCast(d, hn::LoadU(bytes, x + r * w.row_bytes)), words);
        const auto add = [&](auto pattern, const int8_t* weights) HWY_ATTR {
          auto v = sum.raw;
          const auto quad = hn::Set(d, load_quad(weights));
          const auto spread_bytes = hn::TableLookupBytes(hn::BitCast(bytes, near), pattern);
          asm("vpdpbusd %2, %1, %0" : "+v"(v) : "v"(spread_bytes.raw), "v"(quad.raw));
          sum.raw = v;
        };
        add(low, w.weights[r]);
        if constexpr (kHalves == 2) add(high, w.weights[r] + 4);
      }
      store_result(c, sum, scale, offset, width - j, at + j);
    }
  }
}

}  // namespace

void codes_window(const CodeWindow& w, const CodeRow& row, const CodesResult& c, size_t lines, size_t width,
                  size_t at) noexcept {
  const bool wide = w.columns > 4;
  if (w.column_stride == 1)
    wide ? window_lines<1, 2>(w, row, c, lines, width, at) : window_lines<1, 1>(w, row, c, lines, width, at);
  else
    wide ? window_lines<2, 2>(w, row, c, lines, width, at) : window_lines<2, 1>(w, row, c, lines, width, at);
}
#endif

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

#if defined(__x86_64__)
bool has_code_windows() { return current_isa() == Isa::avx512 && codes_unit() != CodesUnit::pairs; }
void multiply_code_window(const CodeWindow& window, const CodeRow& row, const CodesResult& c, size_t lines,
                          size_t width, size_t at) noexcept {
  N_AVX3::codes_window(window, row, c, lines, width, at);
}
#else
bool has_code_windows() { return false; }
void multiply_code_window(const CodeWindow&, const CodeRow&, const CodesResult&, size_t, size_t, size_t) noexcept {}
#endif

}  // namespace retort::kernels
#endif
