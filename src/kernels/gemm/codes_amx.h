// Steps of products of codes in AMX registers. The instructions are inline assembly, so that no part of the library has
// to be compiled for processors with AMX.
#pragma once
#include "kernels/gemm/codes_tile.h"

#if defined(__x86_64__) && defined(__linux__)
namespace retort::kernels::codes_detail {

/// The signs of A and of B.
enum class TileSigns : uint8_t { signed_unsigned, unsigned_signed, signed_signed };

/// Sums of two tiles of rows by a panel: registers 0 and 1 have those of the first tile, 2 and 3 those of the second.
/// Registers 4 and 5 are for A, 6 and 7 for B.
inline void clear_tiles() noexcept {
  asm volatile("tilezero %tmm0\n\ttilezero %tmm1\n\ttilezero %tmm2\n\ttilezero %tmm3");
}
/// All rows of the sums become `row`, which has kTilePanel numbers.
inline void fill_tiles(const int32_t* row) noexcept {
  asm volatile(
      "tileloadd (%0,%1,1), %%tmm0\n\t"
      "tileloadd 64(%0,%1,1), %%tmm1\n\t"
      "tileloadd (%0,%1,1), %%tmm2\n\t"
      "tileloadd 64(%0,%1,1), %%tmm3"
      :
      : "r"(row), "r"(size_t(0))
      : "memory");
}

template <TileSigns kSigns>
inline void multiply_first_tile() noexcept {
  if constexpr (kSigns == TileSigns::signed_unsigned)
    asm volatile("tdpbsud %tmm6, %tmm4, %tmm0\n\ttdpbsud %tmm7, %tmm4, %tmm1");
  else if constexpr (kSigns == TileSigns::unsigned_signed)
    asm volatile("tdpbusd %tmm6, %tmm4, %tmm0\n\ttdpbusd %tmm7, %tmm4, %tmm1");
  else
    asm volatile("tdpbssd %tmm6, %tmm4, %tmm0\n\ttdpbssd %tmm7, %tmm4, %tmm1");
}
template <TileSigns kSigns>
inline void multiply_second_tile() noexcept {
  if constexpr (kSigns == TileSigns::signed_unsigned)
    asm volatile("tdpbsud %tmm6, %tmm5, %tmm2\n\ttdpbsud %tmm7, %tmm5, %tmm3");
  else if constexpr (kSigns == TileSigns::unsigned_signed)
    asm volatile("tdpbusd %tmm6, %tmm5, %tmm2\n\ttdpbusd %tmm7, %tmm5, %tmm3");
  else
    asm volatile("tdpbssd %tmm6, %tmm5, %tmm2\n\ttdpbssd %tmm7, %tmm5, %tmm3");
}

/// Adds the products of a step: the tiles of A begin at `a0` and `a1`, their rows are `a_stride` bytes apart; without
/// `a1` there is only the first. `b` points to the codes of a panel.
template <TileSigns kSigns>
inline void multiply_tiles(const void* a0, const void* a1, size_t a_stride, const void* b) noexcept {
  asm volatile(
      "tileloadd (%0,%1,1), %%tmm4\n\t"
      "tileloadd (%2,%3,1), %%tmm6\n\t"
      "tileloadd 64(%2,%3,1), %%tmm7"
      :
      : "r"(a0), "r"(a_stride), "r"(b), "r"(kTilePanel * 4)
      : "memory");
  multiply_first_tile<kSigns>();
  if (!a1) return;
  asm volatile("tileloadd (%0,%1,1), %%tmm5" : : "r"(a1), "r"(a_stride) : "memory");
  multiply_second_tile<kSigns>();
}

/// Stores the sums: row r of the first tile at sums + r · kTilePanel, those of the second one kTileRows rows later.
inline void store_tiles(int32_t* sums, bool two) noexcept {
  asm volatile(
      "tilestored %%tmm0, (%0,%1,1)\n\t"
      "tilestored %%tmm1, 64(%0,%1,1)"
      :
      : "r"(sums), "r"(kTilePanel * 4)
      : "memory");
  if (!two) return;
  asm volatile(
      "tilestored %%tmm2, (%0,%1,1)\n\t"
      "tilestored %%tmm3, 64(%0,%1,1)"
      :
      : "r"(sums + kTileRows * kTilePanel), "r"(kTilePanel * 4)
      : "memory");
}

}  // namespace retort::kernels::codes_detail
#endif
