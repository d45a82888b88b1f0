// Prefetching of the panels of packed B. Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_GEMM_PREFETCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_GEMM_PREFETCH_INL_H_
#undef RETORT_KERNELS_GEMM_PREFETCH_INL_H_
#else
#define RETORT_KERNELS_GEMM_PREFETCH_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/stored-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

/// Lines of a panel that four steps of k read.
constexpr size_t panel_lines(size_t element_bytes) { return 4 * kWidth * element_bytes / 64; }

HWY_INLINE void prefetch_line(const char* p) { __builtin_prefetch(p, 0, 2); }

/// Prefetches lines that are `apart` from each other.
HWY_INLINE void prefetch_some(const char* p, size_t lines, size_t apart) {
  if (lines == 0) return;
  prefetch_line(p);
  if (lines < 2) return;
  prefetch_line(p + apart);
  if (lines < 4) return;
  prefetch_line(p + 2 * apart);
  prefetch_line(p + 3 * apart);
  if (lines < 8) return;
  for (size_t i = 4; i < 8; ++i) prefetch_line(p + i * apart);
}

/// Prefetches a block ahead of `b`, which kLines lines are read from next: lines of each part of the block in turn. On
/// Zen 5, a single row reads 42 GB/s from memory with lines of two pages at once, 39 with those of one, 37 with those of
/// four, and 25 with those of eight.
template <size_t kLines>
HWY_INLINE void prefetch_block_ahead(const void* b) {
  constexpr size_t kPart = 4096, kParts = 2, kBlock = kParts * kPart;
  const size_t inside = reinterpret_cast<uintptr_t>(b) % kBlock;
  const char* p = static_cast<const char*>(b) - inside + kBlock + inside / kParts;
  const size_t part = kLines < kParts ? inside / 64 : 0;  // few lines: the other parts follow in the next calls
#pragma GCC unroll 8
  for (size_t i = 0; i < kLines; ++i) prefetch_line(p + (part + i) % kParts * kPart + i / kParts * 64);
}

/// Prefetches the lines `kAhead` bytes after those at `b`.
template <size_t kLines, size_t kAhead, int kLevel>
HWY_INLINE void prefetch_ahead(const void* b) {
#pragma GCC unroll 8
  for (size_t i = 0; i < kLines; ++i) __builtin_prefetch(static_cast<const char*>(b) + kAhead + i * 64, 0, kLevel);
}

/// Prefetches a panel that `kRows` rows read from memory. At AVX2 two loads read each line, and lines that come from
/// two pages in turn do not suit the processor's own prefetching: on Zen 4, a row reads 18 GB/s of floats that way and
/// 31 if they come in order and to the first-level cache, three rows 18 and 27; but 4 rows 25 and 25, 6 rows 27 and 22.
/// With 16 bits, a single row reads 26 and 31 GB/s if they come in order a little ahead; more rows are 1.2 to 1.4 times
/// as fast with two pages.
template <class Element, size_t kRows>
HWY_INLINE void prefetch_panel(const Element* b) {
  constexpr size_t kLines = panel_lines(sizeof(Element));
  if constexpr (HWY_TARGET == HWY_AVX2 && sizeof(Element) == sizeof(float) && kRows <= 3) {
    prefetch_ahead<kLines, 4096, 3>(b);
  } else if constexpr (HWY_TARGET == HWY_AVX2 && kRows == 1) {
    prefetch_ahead<kLines, 512, 2>(b);
  } else {
    prefetch_block_ahead<kLines>(b);
  }
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
