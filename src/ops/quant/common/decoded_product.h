// The product of a matrix of floats and a matrix whose columns are stored as codes. The codes are decoded during the
// product, so n-bit weights need no more memory than in the file.
#pragma once
#include <cstdint>

#include "base/function_ref.h"
#include "base/parallel.h"
#include "kernels/gemm/gemm_nbits.h"
#include "tensor/dtype.h"

namespace retort::ops {

/// C[m, n] = A[m, k] · B[k, n] + bias[n].
struct DecodedProduct {
  size_t m = 0, n = 0, k = 0;
  const float* a = nullptr;  ///< row-major
  FunctionRef<void(size_t column, float* to)>
      decode;                   ///< writes the k floats of a column of B; called by many threads; outlives the product
  const float* bias = nullptr;  ///< may be null
  float* c = nullptr;           ///< row-major
};
/// Bytes of scratch for multiply_decoded(), `workers` being Parallel::workers() of its call.
size_t decoded_scratch(size_t k, int workers);
/// The same, with sums in double precision.
void multiply_decoded_reference(const DecodedProduct& p);
/// `scratch` is 64-byte aligned.
void multiply_decoded(const DecodedProduct& p, void* scratch, const Parallel& parallel);

/// Rows of codes of 2, 3, 4 or 8 bits, the first code in the lowest bits of a byte. A row is cut into blocks, each of
/// which starts at a byte and has a scale and a zero point: element = (code - zero point) · scale. The
/// zero point of codes of 3 bits is always 4.
struct CodeBlocks {
  size_t bits = 4, length = 0;   ///< of a code; elements of a row
  size_t block = 0, blocks = 0;  ///< elements of a block; blocks of a row
  const uint8_t* codes = nullptr;
  size_t row_bytes = 0;          ///< of codes
  const void* scales = nullptr;  ///< [rows, blocks]
  DType scale_type = DType::f32;
  const uint8_t* zeros = nullptr;    ///< packed like the codes, a row from a byte on; null: half of the range
  size_t zero_bytes = 0;             ///< of a row of them
  size_t zero_rows = 0;              ///< not 0: for each block, the zero points of that many rows lie side by side
  const void* real_zeros = nullptr;  ///< in place of `zeros`: [rows, blocks] of a float type
  DType real_zero_type = DType::f32;
  const int32_t* groups = nullptr;  ///< for each element, the block whose scale and zero point apply; null: its own
  void decode(size_t row, float* to) const;
  float scale(size_t row, size_t block) const;
  float zero(size_t row, size_t block) const;
  /// Those of the blocks of `run` in `row`, whatever the column of `run` is.
  void parameters(size_t row, const kernels::NBitRun& run) const;
};

}  // namespace retort::ops
