// Products in bfloat16 arithmetic:
//
//   C[m,n] = act(r(A)[m,k] · r(B)[k,n] + bias[n] + residual[m,n]),  r: rounding to the nearest bfloat16 (ties to even)
//
// One instruction multiplies two steps of k, exactly, and adds both products to a float32 sum. Relative to a product in
// float32, each factor has an error of at most 2^-9. Subnormal factors and sums count as zero. Packed B has the panels
// of gemm.h, whose elements are pairs: rows 2 i and 2 i + 1 of a column, the first one in the low half. Sums run over k
// in one fixed order, so results do not depend on the number of threads.
#pragma once
#include <cstddef>

#include "kernels/gemm/gemm.h"

namespace retort::kernels {

/// Whether this processor has the instruction (AVX-512 BF16), at the current level.
bool has_bf16_products();
/// Whether it also has AMX with bfloat16 numbers, which multiplies all but a few rows.
bool has_bf16_tiles();
/// How many times as fast products by AMX are about as those in float32, for the size of tasks.
inline constexpr size_t kTilesSpeed = 8;
/// Pairs that hold k numbers.
constexpr size_t bf16_pairs(size_t k) { return (k + 1) / 2; }
/// Length in floats of a row of A that is rounded: pairs, and zeros up to whole cache lines.
constexpr size_t bf16_row(size_t k) { return (bf16_pairs(k) + 15) / 16 * 16; }
/// From one row to the next: an odd number of cache lines, so that the rows of a tile use all sets of the first-level
/// cache. With 1,536 bytes instead of 1,600, AMX takes 1.1 times as long (beside other work).
constexpr size_t bf16_row_stride(size_t k) { return bf16_row(k) + (bf16_row(k) / 16 % 2 == 0 ? 16 : 0); }

/// Bytes of packed B, 64-byte aligned, of PackedType::bf16_pairs.
size_t bf16_packed_bytes(size_t k, size_t n);
/// Rounds and packs B; element (i, j) is b[i * row_stride + j * column_stride], and `b` need not be aligned. Some columns
/// can be packed as a matrix of their own if they start where a panel does; each column of a panel takes
/// bf16_pairs(k) · 4 bytes.
void bf16_pack_b(const float* b, size_t row_stride, size_t column_stride, size_t k, size_t n, void* packed) noexcept;

/// Rounds m rows of k floats, which are a_stride floats apart. Rows of the result are bf16_row(k) floats long and
/// `pairs_stride` floats apart; nothing behind a row is written. Rows may be rounded in place. Serial.
void bf16_round_rows(const float* a, size_t a_stride, size_t m, size_t k, float* pairs, size_t pairs_stride) noexcept;

/// The same for an even k, without the zeros: rows are bf16_pairs(k) floats long and follow each other.
void bf16_round(const float* a, size_t a_stride, size_t m, size_t k, float* pairs) noexcept;

/// Bytes of scratch of bf16_gemm(): the rounded rows of A.
size_t bf16_scratch_bytes(size_t m, size_t k);
/// As gemm(), for args.packed_b of type bf16_pairs; A is in floats. Scratch is 64-byte aligned.
void bf16_gemm(const GemmArgs& args, const Parallel& par, void* scratch) noexcept;
/// gemm_block() takes packed B of type bf16_pairs if `a` are rows of pairs and `k` and `a_stride` count pairs. These are
/// the arguments for rows that bf16_round_rows() has written.
GemmArgs bf16_block(const GemmArgs& args, const float* pairs, size_t pairs_stride);

}  // namespace retort::kernels
