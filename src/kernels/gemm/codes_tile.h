// The parts of gemm_codes that depend on the processor.
#pragma once
#include "kernels/gemm/gemm_codes.h"

namespace retort::kernels::codes_detail {

struct Part {
  size_t m0 = 0, m1 = 0, n0 = 0, n1 = 0;
};

/// Rows that one AMX register holds, and bytes of their depth. Two by two make a tile of 32 rows and one panel.
inline constexpr size_t kTileRows = 16, kTileDepth = 64, kTilePanel = 32;

/// Whether the system lets this process use AMX; asks for it at the first call.
bool has_tiles();
/// Sets up this thread's registers; the sums of the tiles that follow.
void begin_tiles() noexcept;
void end_tiles() noexcept;
/// sums [16 · row_tiles][32] = A · B; row_tiles: 1 or 2; `b`: codes of a panel.
void sum_tiles(const int8_t* a, size_t depth, size_t row_tiles, const uint8_t* b, int32_t* sums) noexcept;

}  // namespace retort::kernels::codes_detail
