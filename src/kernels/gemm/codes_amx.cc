// Products of codes in AMX registers. The instructions are inline assembly, so that no part of the library has to be
// compiled for processors with AMX.
#include "kernels/gemm/codes_tile.h"

#if defined(__x86_64__) && defined(__linux__)
#include "kernels/gemm/amx.h"

namespace retort::kernels::codes_detail {

bool has_tiles() { return amx::has(amx::Numbers::codes); }
void begin_tiles() noexcept { amx::begin(kTileRows, kTileRows); }
void begin_tiles(size_t rows, size_t depth) noexcept { amx::begin(rows, rows, depth); }
void end_tiles() noexcept { amx::end(); }

void sum_tiles(const int8_t* a, size_t depth, size_t row_tiles, const uint8_t* b, Ahead ahead, int32_t* sums) noexcept {
  constexpr size_t kLine = 64, kPanelRow = kTilePanel * 4, kStep = kTileDepth / 4 * kPanelRow;
  const int8_t* a1 = a + kTileRows * depth;
  asm volatile("tilezero %tmm0\n\ttilezero %tmm1\n\ttilezero %tmm2\n\ttilezero %tmm3");
  for (size_t i = 0; i < depth; i += kTileDepth, b += kStep) {
    for (size_t line = 0; line < ahead.lines; ++line, ahead.at += kLine) __builtin_prefetch(ahead.at, 0, 2);
    asm volatile(
        "tileloadd (%0,%1,1), %%tmm4\n\t"
        "tileloadd (%2,%3,1), %%tmm6\n\t"
        "tileloadd 64(%2,%3,1), %%tmm7\n\t"
        "tdpbsud %%tmm6, %%tmm4, %%tmm0\n\t"
        "tdpbsud %%tmm7, %%tmm4, %%tmm1"
        :
        : "r"(a + i), "r"(depth), "r"(b), "r"(kPanelRow)
        : "memory");
    if (row_tiles == 1) continue;
    asm volatile(
        "tileloadd (%0,%1,1), %%tmm5\n\t"
        "tdpbsud %%tmm6, %%tmm5, %%tmm2\n\t"
        "tdpbsud %%tmm7, %%tmm5, %%tmm3"
        :
        : "r"(a1 + i), "r"(depth)
        : "memory");
  }
  asm volatile(
      "tilestored %%tmm0, (%0,%1,1)\n\t"
      "tilestored %%tmm1, 64(%0,%1,1)"
      :
      : "r"(sums), "r"(kPanelRow)
      : "memory");
  if (row_tiles == 1) return;
  asm volatile(
      "tilestored %%tmm2, (%0,%1,1)\n\t"
      "tilestored %%tmm3, 64(%0,%1,1)"
      :
      : "r"(sums + kTileRows * kTilePanel), "r"(kPanelRow)
      : "memory");
}

}  // namespace retort::kernels::codes_detail

#else

namespace retort::kernels::codes_detail {
bool has_tiles() { return false; }
void begin_tiles() noexcept {}
void begin_tiles(size_t, size_t) noexcept {}
void end_tiles() noexcept {}
void sum_tiles(const int8_t*, size_t, size_t, const uint8_t*, Ahead, int32_t*) noexcept {}
}  // namespace retort::kernels::codes_detail

#endif
