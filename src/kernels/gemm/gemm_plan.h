// The division of a product into parts, and the function that computes a part at each instruction level.
#pragma once
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/panel.h"

namespace retort::kernels::gemm_detail {

/// Bytes of an element, which is a pair in panels of pairs.
inline constexpr size_t bytes_of(PackedType type) {
  return type == PackedType::bf16 || type == PackedType::f16 ? 2 : sizeof(float);
}

/// Rows [m0, m1), columns [n0, n1) of a product; n0 is a multiple of the panel width. Steps of k are taken in blocks of
/// at most k_block.
struct Part {
  size_t m0 = 0, m1 = 0, n0 = 0, n1 = 0;
  size_t k_block = 0;
  AmxRows amx;  ///< set by the function that computes the part
  /// If not 0, AMX computes all rows, however few: steps of its registers, which are whole, are that many floats apart
  /// in A, and the first `a_step_pairs` of a step are multiplied. k_block is k then.
  size_t a_step = 0, a_step_pairs = 0;
  const float* gathered = nullptr;  ///< the rows of the part after gather_rows(); null: A is read as it is
};

/// Row blocks times groups of columns; one task computes one part. Depends only on the shape and the panel width.
struct Grid {
  size_t block_rows = 0, row_blocks = 0;
  size_t group_columns = 0, column_groups = 0;
  size_t k_block = 0;
};
/// `speed`: how many times as fast as by the processor's vectors the product is computed.
Grid make_grid(size_t m, size_t n, size_t k, size_t speed, PackedType type = PackedType::f32);

/// Divides k into equal blocks that are multiples of a cache line. It is not divided if one tile has all rows, since no
/// panel is read twice then.
size_t k_block_of(size_t m, size_t k, PackedType type = PackedType::f32);

/// Tiles of `rows` rows that are as equal as possible: `longer` of them have base + 1 rows, the others base.
struct RowTiles {
  size_t count, base, longer;
  explicit RowTiles(size_t rows, size_t most)
      : count((rows + most - 1) / most), base(rows / count), longer(rows % count) {}
};

/// Whether a product first copies A so that a tile reads it from one place: its rows four steps of k at a time, for each
/// tile and each block of k. A tile of plain rows reads twelve places, and rows that are a multiple of 4 KiB apart share
/// few lines of the first-level cache. Whole models are 1.02 to 1.09 times as fast on Sapphire Rapids, where probably
/// another thread uses the same core (bench/kernels/README.md).
bool gathers_rows(size_t m, size_t n, size_t k);
/// Whether all tiles of a part of that many rows have a function for gathered rows.
bool is_gathered(size_t part_rows);
/// Gathers the rows of a part for one block of k. A part's blocks follow each other.
void gather_rows(const float* a, size_t a_stride, size_t rows, size_t steps, float* to);

/// Whether the processor reads a panel ahead by itself, as fast as the memory can, and prefetching only disturbs it.
/// Only measured on Zen 4, which tells by its first-level cache of 32 KiB: most others with bfloat16 products have 48.
bool reads_ahead() noexcept;

/// The function that computes a part at the current instruction level.
using PartFunction = void (*)(const GemmArgs&, const Part&) noexcept;
PartFunction select_gemm_part();

}  // namespace retort::kernels::gemm_detail
