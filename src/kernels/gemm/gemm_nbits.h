// Products with weights that are stored in 2, 4 or 8 bits. A block of weights, consecutive along k, shares a scale and
// a zero point:
//
//   C[m,n] = A[m,k] · B[k,n] + bias[n],   B[k,n] = (code[n,k] - zero[n,block]) · scale[n,block]
//
// The weights are repacked, but keep their size: a panel has one column per 32-bit lane of a vector, and a lane holds
// consecutive codes of its column. Sums run over k in one fixed order, so results do not depend on the number of
// threads.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/function_ref.h"
#include "base/parallel.h"

namespace retort::kernels {

/// The zero points of blocks.
enum class NBitZeros : uint8_t {
  middle,   ///< half of the range, for all
  codes,    ///< integers from 0 to 255
  numbers,  ///< any numbers
};
/// The form of packed weights.
struct NBitForm {
  size_t bits = 4;  ///< of a code: 2, 4 or 8
  size_t n = 0, k = 0;
  size_t block = 32;  ///< weights of a block; the last one of a column may have fewer
  NBitZeros zeros = NBitZeros::middle;
  bool halves = false;  ///< scales, and offsets (numbers as zero points times scales), are packed as float16
  size_t blocks() const { return (k + block - 1) / block; }
  size_t middle() const { return size_t(1) << (bits - 1); }
};
/// Whether there is a kernel: a block is a power of two from 16 to 256.
bool nbits_supported(const NBitForm& form);

/// Where the scales and zero points of blocks [first, first + count) of a column go, `stride` numbers apart. Zero points
/// are not used if all are half of the range.
struct NBitRun {
  size_t column = 0, first = 0, count = 1;
  size_t stride = 1;
  float *scales = nullptr, *zeros = nullptr;
};
/// Weights as a model has them: for each column, blocks of whole bytes, the first code in the lowest bits.
struct NBitSource {
  const uint8_t* codes = nullptr;                ///< [n][blocks][block · bits / 8]
  FunctionRef<void(const NBitRun&)> parameters;  ///< called by many threads
};
/// Columns of a panel.
size_t nbits_panel_width();
size_t nbits_packed_bytes(const NBitForm& form);
/// Whether float16 holds all scales exactly, and all offsets up to the rounding of floats: weights that were quantised
/// with such parameters are smaller with `halves`. False if the processor does not convert them by itself.
bool nbits_fit_halves(const NBitForm& form, const NBitSource& from, const Parallel& par) noexcept;
/// Whether all zero points are half of the range, as those of symmetric weights are: products by such a form need less
/// memory and time.
bool nbits_zeros_are_middle(const NBitForm& form, const NBitSource& from, const Parallel& par) noexcept;
/// `packed` is 64-byte aligned.
void nbits_pack(const NBitForm& form, const NBitSource& from, void* packed, const Parallel& par) noexcept;

/// How A takes part in a product.
enum class NBitInput : uint8_t {
  exact,    ///< as float
  rounded,  ///< in codes from -127 to 127 with a scale per row and block of k: much faster for more than a few rows
  bf16,     ///< as bfloat16 numbers, to which the weights are rounded, too
};
/// What a product with m rows really uses if its input is `wanted`. By AMX, many rows are rounded to bfloat16 in place of
/// codes, which have larger errors, if blocks are small: scaling the sums of each block takes longer than products in
/// bfloat16. Without AMX, and for a few rows, bf16 is exact.
NBitInput nbits_input(const NBitForm& form, NBitInput wanted, size_t m);
struct NBitProduct {
  NBitForm form;
  const void* packed = nullptr;
  size_t m = 0;
  const float* a = nullptr;  ///< [m, k]
  NBitInput input = NBitInput::exact;
  const float* bias = nullptr;  ///< [n]; may be null
  float* c = nullptr;           ///< [m, n]
};
/// Bytes of scratch for products with up to m rows, `workers` being Parallel::workers() of its call.
size_t nbits_scratch_bytes(const NBitForm& form, size_t m, NBitInput input, int workers);
/// `scratch` is 64-byte aligned. A row in codes with an element that is not finite gives NaN.
void gemm_nbits(const NBitProduct& p, void* scratch, const Parallel& par) noexcept;
/// The reference: plain loops over the weights as the model has them, with sums in double precision. p.packed is not
/// used.
void gemm_nbits_reference(const NBitProduct& p, const NBitSource& from);

}  // namespace retort::kernels
