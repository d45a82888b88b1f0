// The parts of gemm_codes that depend on the processor.
#pragma once
#include "kernels/dispatch.h"
#include "kernels/gemm/gemm_codes.h"

namespace retort::kernels::codes_detail {

struct Part {
  size_t m0 = 0, m1 = 0, n0 = 0, n1 = 0;
};

/// Rows that one AMX register holds, and bytes of their depth. Two by two registers make a tile of 32 rows and one
/// panel.
inline constexpr size_t kTileRows = 16, kTileDepth = 64, kTilePanel = 32;

/// Whether the system lets this process use AMX; the first call requests it.
bool has_tiles();
/// Configures this thread's registers; computes the sums of the following tiles.
void begin_tiles() noexcept;
/// The same for tiles of A with `rows` rows of `depth` bytes, a multiple of 4.
void begin_tiles(size_t rows, size_t depth) noexcept;
void end_tiles() noexcept;
/// Memory that is needed soon: `lines` of the cache for each kTileDepth bytes of depth.
struct Ahead {
  const char* at = nullptr;
  size_t lines = 0;
};
/// sums [16 · row_tiles][32] = A · B, where row_tiles is 1 or 2 and `b` points to the codes of a panel.
void sum_tiles(const int8_t* a, size_t depth, size_t row_tiles, const uint8_t* b, Ahead ahead, int32_t* sums) noexcept;

/// The function behind interleave_codes(); `flip` inverts the sign bit or nothing.
using Interleave = void (*)(const uint8_t* const (&runs)[4], uint8_t flip, size_t n, uint8_t* to) noexcept;
Interleave interleave() noexcept;
/// Replaces the codes of a row of A by their magnitudes and masks (CodesSums::magnitudes); returns the sum of the
/// magnitudes of negative ones.
int32_t split_row(int8_t* codes, size_t depth) noexcept;
/// Sets the sums of a panel whose zero points and codes are complete.
void sum_panel(void* panel, size_t depth) noexcept;

/// The form of a function for the instruction level and the unit: at 512 bits, it needs VNNI.
template <typename F>
F* select_codes(F* v2, F* avx2, F* avx512) {
  return select_isa(v2, avx2, codes_unit() == CodesUnit::pairs ? avx2 : avx512);
}

}  // namespace retort::kernels::codes_detail

#if defined(__x86_64__)
#define RETORT_SELECT_CODES(fn) ::retort::kernels::codes_detail::select_codes(&N_SSE4::fn, &N_AVX2::fn, &N_AVX3::fn)
#else
#define RETORT_SELECT_CODES(fn) (&HWY_NAMESPACE::fn)
#endif
