// The tile registers of AMX: permission to use them, their configuration, and sums of products of bfloat16 numbers. The
// instructions are inline assembly, so that no part of the library has to be compiled for processors with AMX.
#pragma once
#include <cstddef>
#include <cstdint>

namespace retort::kernels::amx {

/// Rows that one register holds, and bytes of such a row. Two by two registers make a tile of 32 rows and one panel of
/// packed B.
inline constexpr size_t kRows = 16, kRowBytes = 64, kPanel = 32;
/// Pairs of bfloat16 numbers that one step multiplies.
inline constexpr size_t kStepPairs = kRowBytes / 4;

enum class Numbers : uint8_t { codes, bf16 };
/// Whether the processor multiplies these numbers and the system lets this process use the registers; the first call
/// requests it.
bool has(Numbers numbers);

/// Configures this thread's registers for tiles of `first` and `second` rows (at most 16 each; `second` may be 0), and for
/// steps of `row_bytes` of A (at most kRowBytes, a multiple of 4).
void begin(size_t first, size_t second, size_t row_bytes = kRowBytes) noexcept;
void end() noexcept;

/// Some rows of pairs times a panel of pairs, for `steps` · kStepPairs pairs.
struct PairTile {
  const float* a = nullptr;    ///< rows of the first tile, then rows of the second
  size_t a_stride = 0;         ///< in floats
  size_t a_step = kStepPairs;  ///< floats from one step of a row to the next
  size_t first = kRows, second = kRows;
  const void* b = nullptr;  ///< [pairs][kPanel]
  size_t steps = 0;
  const void* last_b = nullptr;  ///< B of a step that follows; null: none
  const char* prefetch = nullptr;
  size_t prefetch_lines = 0;  ///< per step, to the second-level cache
};
/// sums [first + second][kPanel]; registers are configured for `first` and `second`.
void sum_pairs(const PairTile& tile, float* sums) noexcept;

}  // namespace retort::kernels::amx
