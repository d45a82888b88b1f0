// Rounding of A and B to pairs of bfloat16 numbers, and their products.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_bf16.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <atomic>

#include "base/checked.h"
#include "base/features.h"
#include "kernels/dispatch.h"
#include "kernels/gemm/amx.h"
#include "kernels/gemm/bf16-inl.h"
#include "kernels/gemm/gemm_bf16.h"
#include "kernels/gemm/gemm_plan.h"
#include "kernels/gemm/without_tiles.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using FloatTag = hn::ScalableTag<float>;
using Float = hn::Vec<FloatTag>;
constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(float);
constexpr size_t kWidth = 2 * kLanes;

/// Writes 2 · kLanes numbers in their order.
HWY_INLINE void round_some(Float first, Float second, float* to) {
#if HWY_TARGET <= HWY_AVX3  // the caller of bf16_round_rows has checked that the processor has the instruction
  Words words = hn::Undefined(WordTag());
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(words.raw) : "v"(first.raw), "v"(second.raw));
#else
  const auto low = hn::ConcatEven(FloatTag(), second, first), high = hn::ConcatOdd(FloatTag(), second, first);
  const Words words = pair(low, high);
#endif
  hn::StoreU(hn::BitCast(FloatTag(), words), FloatTag(), to);
}

}  // namespace

/// Writes `floats` floats: pairs, and zeros behind them.
void round_pairs(const float* a, size_t n, size_t floats, float* to) noexcept {
  const FloatTag d;
  size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes)
    round_some(hn::LoadU(d, a + i), hn::LoadU(d, a + i + kLanes), to + i / 2);
  const size_t left = floats - i / 2;
  if (left == 0) return;
  HWY_ALIGN float rest[2 * kLanes] = {}, pairs[16] = {};
  std::copy_n(a + i, n - i, rest);
  round_some(hn::Load(d, rest), hn::Load(d, rest + kLanes), pairs);
  std::copy_n(pairs, left, to + i / 2);
}

/// Joins the rows 2 i and 2 i + 1 of a float panel; `steps` is even.
void join_rows(const float* panel, size_t steps, float* to) noexcept {
  const FloatTag d;
  for (size_t i = 0; i < steps; i += 2, panel += 2 * kWidth, to += kWidth) {
    for (size_t c = 0; c < kWidth; c += kLanes) {
      const Words both = pair(hn::Load(d, panel + c), hn::Load(d, panel + kWidth + c));
      hn::Store(hn::BitCast(d, both), d, to + c);
    }
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

constexpr size_t kMostWidth = 32;  // of a panel, at any level

}  // namespace

bool has_bf16_products() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512bf16");
  return has && current_isa() == Isa::avx512 && allows(Feature::bf16);
#else
  return false;
#endif
}

namespace {
std::atomic<bool> tiles_allowed = true;
}
void testing::allow_bf16_tiles(bool allowed) { tiles_allowed = allowed; }
bool has_bf16_tiles() {
  return tiles_allowed.load(std::memory_order_relaxed) && has_bf16_products() && allows(Feature::amx) &&
         amx::has(amx::Numbers::bf16);
}

size_t bf16_packed_bytes(size_t k, size_t n) { return gemm_packed_bytes(bf16_pairs(k), n, PackedType::bf16_pairs); }

void bf16_pack_b(const float* b, size_t row_stride, size_t column_stride, size_t k, size_t n, void* packed) noexcept {
  constexpr size_t kSteps = 64;
  alignas(64) float floats[kSteps * kMostWidth];
  const auto join = RETORT_SELECT(join_rows);
  const size_t width = gemm_panel_width();
  auto* to = static_cast<float*>(packed);
  for (size_t j = 0; j < n; j += width) {
    for (size_t i = 0; i < k; i += kSteps) {
      const size_t steps = std::min(kSteps, k - i), even = round_up(steps, size_t(2));
      gemm_pack_b(b + i * row_stride + j * column_stride, row_stride, column_stride, steps, std::min(width, n - j),
                  floats);
      std::fill_n(floats + steps * width, (even - steps) * width, 0.0f);
      join(floats, even, to);
      to += even / 2 * width;
    }
  }
}

void bf16_round_rows(const float* a, size_t a_stride, size_t m, size_t k, float* pairs, size_t pairs_stride) noexcept {
  const auto round = RETORT_SELECT(round_pairs);
  for (size_t i = 0; i < m; ++i) round(a + i * a_stride, k, bf16_row(k), pairs + i * pairs_stride);
}

void bf16_round(const float* a, size_t a_stride, size_t m, size_t k, float* pairs) noexcept {
  const auto round = RETORT_SELECT(round_pairs);
  if (a_stride == k) return round(a, m * k, m * k / 2, pairs);
  for (size_t i = 0; i < m; ++i) round(a + i * a_stride, k, k / 2, pairs + i * (k / 2));
}

size_t bf16_scratch_bytes(size_t m, size_t k) { return m * bf16_row_stride(k) * sizeof(float); }

GemmArgs bf16_block(const GemmArgs& args, const float* pairs, size_t pairs_stride) {
  GemmArgs g = args;
  g.a = pairs;
  g.a_stride = pairs_stride;
  g.k = bf16_pairs(args.k);
  return g;
}

void bf16_gemm(const GemmArgs& args, const Parallel& par, void* scratch) noexcept {
  constexpr size_t kTaskFloats = 16 << 10;  // rounding them takes about 2 µs
  if (args.m == 0 || args.n == 0) return;
  auto* pairs = static_cast<float*>(scratch);
  const size_t stride = bf16_row_stride(args.k), rows = std::max<size_t>(kTaskFloats / std::max<size_t>(args.k, 1), 1);
  par.for_each(ceil_div(args.m, rows), [&](size_t task, int) {
    const size_t m0 = task * rows;
    bf16_round_rows(args.a + m0 * args.a_stride, args.a_stride, std::min(rows, args.m - m0), args.k,
                    pairs + m0 * stride, stride);
  });
  gemm(bf16_block(args, pairs, stride), par);
}

}  // namespace retort::kernels
#endif
