// Packing of B into panels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/pack.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <bit>

#include "kernels/dispatch.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_plan.h"
#include "kernels/gemm/tile-inl.h"
#include "kernels/unaligned.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using hn::Half;

/// Concatenates the first four floats of rows `row`, row + 4, row + 8, … of a matrix.
template <class D>
HWY_INLINE hn::Vec<D> load_quads(D d, const float* p, size_t stride) {
  constexpr size_t kN = hn::MaxLanes(D());
  if constexpr (kN == 4) {
    return hn::LoadU(d, p);
  } else {
    const Half<D> half;
    return hn::Combine(d, load_quads(half, p + kN / 2 * stride, stride), load_quads(half, p, stride));
  }
}

/// Transposes quads: four steps of k for as many columns as D has lanes, if the elements of a column are contiguous.
template <class D>
HWY_INLINE void transpose_step(D d, const float* b, size_t stride, float* to) {
  const hn::Repartition<double, D> dd;
  const auto r0 = load_quads(d, b, stride), r1 = load_quads(d, b + stride, stride);
  const auto r2 = load_quads(d, b + 2 * stride, stride), r3 = load_quads(d, b + 3 * stride, stride);
  const auto low01 = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1));
  const auto high01 = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1));
  const auto low23 = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3));
  const auto high23 = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));
  hn::Store(hn::BitCast(d, hn::InterleaveLower(dd, low01, low23)), d, to);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(dd, low01, low23)), d, to + kWidth);
  hn::Store(hn::BitCast(d, hn::InterleaveLower(dd, high01, high23)), d, to + 2 * kWidth);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(dd, high01, high23)), d, to + 3 * kWidth);
}

/// Packs one panel whose elements have any strides.
void pack_any(const float* b, size_t row_stride, size_t column_stride, size_t k, size_t columns, float* to) {
  for (size_t i = 0; i < k; ++i, b += row_stride, to += kWidth) {
    for (size_t c = 0; c < columns; ++c) to[c] = load_unaligned(b, c * column_stride);
    std::fill(to + columns, to + kWidth, 0.0f);
  }
}

/// Packs columns that are contiguous in memory.
void pack_transposed(const float* b, size_t column_stride, size_t k, size_t columns, float* to) {
  const size_t steps = k / 4 * 4, quads = columns / 4 * 4;
  for (size_t i = 0; i < steps; i += 4) {
    float* at = to + i * kWidth;
    size_t c = 0;
    for (; c + kLanes <= columns; c += kLanes)
      transpose_step(FloatTag(), b + c * column_stride + i, column_stride, at + c);
    for (; c < quads; c += 4) transpose_step(hn::Full128<float>(), b + c * column_stride + i, column_stride, at + c);
    for (size_t row = 0; quads < kWidth && row < 4; ++row, at += kWidth) {
      for (c = quads; c < columns; ++c) at[c] = load_unaligned(b, c * column_stride + i + row);
      std::fill(at + columns, at + kWidth, 0.0f);
    }
  }
  pack_any(b + steps, 1, column_stride, k - steps, columns, to + steps * kWidth);
}

void pack_rows(const float* b, size_t row_stride, size_t k, size_t columns, float* to) {
  const FloatTag d;
  for (size_t i = 0; i < k; ++i, b += row_stride, to += kWidth) {
    for (size_t c = 0; c < kWidth; c += kLanes) {
      const size_t n = columns - std::min(c, columns);
      hn::Store(n >= kLanes ? hn::LoadU(d, b + c) : n == 0 ? hn::Zero(d) : LoadFirst(d, b + c, n), d, to + c);
    }
  }
}

void pack_panel(const float* b, size_t row_stride, size_t column_stride, size_t k, size_t columns, float* to) {
  if (column_stride == 1) {
    pack_rows(b, row_stride, k, columns, to);
  } else if (row_stride == 1) {
    pack_transposed(b, column_stride, k, columns, to);
  } else {
    pack_any(b, row_stride, column_stride, k, columns, to);
  }
}

template <class Stored>
void narrow(const float* from, size_t k, uint16_t* to) {
  const FloatTag d;
  for (size_t i = 0; i < k; ++i, from += kWidth, to += kWidth)
    Stored::store(hn::Load(d, from), hn::Load(d, from + kLanes), to);
}

/// Packs a full panel in 16 bits, a few steps of k at a time.
void pack_narrow_panel(const float* b, size_t row_stride, size_t column_stride, size_t k, PackedType type,
                       uint16_t* to) {
  constexpr size_t kSteps = 64;
  HWY_ALIGN float floats[kSteps * kWidth];
  for (size_t i = 0; i < k; i += kSteps, b += kSteps * row_stride, to += kSteps * kWidth) {
    const size_t steps = std::min(kSteps, k - i);
    pack_panel(b, row_stride, column_stride, steps, kWidth, floats);
    if constexpr (kHasF16) {
      if (type == PackedType::f16) narrow<StoredF16>(floats, steps, to);
    }
    if (type == PackedType::bf16) narrow<StoredBf16>(floats, steps, to);
  }
}

/// The bits that conversion to 16-bit types loses; zero if none.
struct Lost {
  uint32_t bf16 = 0, f16 = 0;
};

/// float16 has 10 bits of mantissa above 2^-14, multiples of 2^-24 below, and its largest number is 65504.
Lost lost_bits(const float* p, size_t count) {
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> du;
  const auto smallest_normal = hn::Set(du, std::bit_cast<uint32_t>(0x1p-14f));
  const auto largest = hn::Set(du, std::bit_cast<uint32_t>(65504.0f)), half = hn::BitCast(du, hn::Set(d, 0.5f));
  auto bf16 = hn::Zero(du), f16 = hn::Zero(du);
  for (size_t i = 0; i < count; i += kLanes) {
    const auto bits = hn::BitCast(du, count - i < kLanes ? LoadFirst(d, p + i, count - i) : hn::LoadU(d, p + i));
    const auto magnitude = hn::And(bits, hn::Set(du, 0x7fffffff));
    // Near 0.5 floats are 2^-24 apart. Bits are compared, since a processor may treat tiny numbers as zeros.
    const auto above_half = hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, half));
    const auto rounded = hn::BitCast(du, hn::Sub(above_half, hn::BitCast(d, half)));
    const auto lost = hn::IfThenElse(hn::Lt(magnitude, smallest_normal), hn::Xor(rounded, magnitude),
                                     hn::And(bits, hn::Set(du, 0x1fff)));
    bf16 = hn::Or(bf16, hn::And(bits, hn::Set(du, 0xffff)));
    f16 = hn::Or(f16, hn::Or(lost, hn::VecFromMask(du, hn::Gt(magnitude, largest))));
  }
  const auto any = [&](auto v) { return hn::AllTrue(du, hn::Eq(v, hn::Zero(du))) ? 0u : 1u; };
  return {any(bf16), any(f16)};
}

}  // namespace

void gemm_pack(const float* b, size_t row_stride, size_t column_stride, size_t k, size_t n, PackTarget to) noexcept {
  char* at = static_cast<char*>(to.data);
  for (size_t j = 0; j < n; j += kWidth, b += kWidth * column_stride) {
    const size_t columns = std::min(kWidth, n - j);
    if (to.type == PackedType::f32 || columns < kWidth) {
      pack_panel(b, row_stride, column_stride, k, columns, reinterpret_cast<float*>(at));
    } else {
      pack_narrow_panel(b, row_stride, column_stride, k, to.type, reinterpret_cast<uint16_t*>(at));
    }
    at += kWidth * k * gemm_detail::bytes_of(to.type);
  }
}

PackedType gemm_exact(const float* values, size_t count, const Parallel& run) noexcept {
  constexpr size_t kChunk = 1024;
  Lost lost{.f16 = kHasF16 ? 0u : 1u};
  for (size_t i = 0; i < count && (lost.bf16 == 0 || lost.f16 == 0) && !run.cancelled(); i += kChunk) {
    const Lost more = lost_bits(values + i, std::min(kChunk, count - i));
    lost.bf16 |= more.bf16;
    lost.f16 |= more.f16;
  }
  return lost.bf16 == 0 ? PackedType::bf16 : lost.f16 == 0 ? PackedType::f16 : PackedType::f32;
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

void gemm_pack_b(const float* b, size_t row_stride, size_t column_stride, size_t k, size_t n, PackTarget to) noexcept {
  const auto pack = RETORT_SELECT(gemm_pack);
  if (!to.run) return pack(b, row_stride, column_stride, k, n, to);
  // Each row of a large matrix may be on a page that is not in memory yet, and a page fault takes a microsecond or more.
  constexpr size_t kRows = 4096;
  const size_t width = gemm_panel_width();
  char* at = static_cast<char*>(to.data);
  for (size_t j = 0; j < n; j += width, b += width * column_stride) {
    const size_t columns = std::min(width, n - j);
    const size_t row_bytes = width * gemm_detail::bytes_of(columns < width ? PackedType::f32 : to.type);
    for (size_t i = 0; i < k && !to.run->cancelled(); i += kRows) {
      const size_t rows = std::min(kRows, k - i);
      pack(b + i * row_stride, row_stride, column_stride, rows, columns, {at, to.type});
      at += rows * row_bytes;
    }
  }
}

PackedType gemm_exact_type(const float* values, size_t count, const Parallel& run) noexcept {
  return RETORT_SELECT(gemm_exact)(values, count, run);
}

}  // namespace retort::kernels
#endif
