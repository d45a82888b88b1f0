// Products of 8-bit codes, exact in 32 bits that wrap around:
//
//   C[m,n] = (A[m,k] - zero of the row) · (B[k,n] - zero of the column) + bias of the row
//
// Codes of any signedness are converted to one form: those of A to signed, those of B to unsigned, by inverting the
// sign bit if necessary, which shifts their zero points equally. Four steps of k are contiguous, as the instructions
// require. The depth of A is padded with the zero point of its row, so padding adds nothing whatever B has there.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"

namespace retort::kernels {

/// Codes in memory; null: none, each counts as 0.
struct Codes {
  const void* data = nullptr;
  bool is_signed = false;
  size_t count = SIZE_MAX;  ///< index `count` is the first element again
  size_t first = 0;         ///< the index in memory of element 0
  int32_t operator[](size_t i) const {
    if (!data) return 0;
    const size_t at = (first + i) % count;
    return is_signed ? static_cast<const int8_t*>(data)[at] : static_cast<const uint8_t*>(data)[at];
  }
  const uint8_t* bytes(size_t i) const { return static_cast<const uint8_t*>(data) + i; }
};
/// The zero point of codes like `like`, in the form of A's codes (in the form of B's, it is 128 more).
inline int32_t zero_of_a(const Codes& like, int32_t zero) { return like.is_signed ? zero : zero - 128; }

/// Data for one row of A.
struct CodeRow {
  int32_t zero = 0;  ///< in the form of A
  int32_t sum = 0;   ///< of its codes, including padding
  int32_t bias = 0;  ///< added to the products
  float scale = 1;   ///< of the products, if they are converted to codes
  float offset = 0;  ///< added to the scaled products before they are rounded to codes
};

/// Bytes of a row of A: k and padding.
size_t codes_depth(size_t k);
/// The sums of a product. With saturating ones, elements 2i and 2i + 1 of k are a pair, whose products are added first,
/// in 16 bits that stop at their limits: what `vpmaddubsw` computes. No other sum saturates. Unsigned codes are
/// multiplied by signed ones, so that the pairs of a matrix product depend on which of its sides is unsigned.
enum class CodesSums : uint8_t {
  exact,       ///< A signed, B unsigned
  saturating,  ///< the same forms; pairs saturate
  turned,      ///< A unsigned, B signed; pairs saturate
  corrected,   ///< the same forms; exact: pairs of B that would saturate have an excess, which is added apart
  magnitudes,  ///< both signed; exact: no pair of magnitudes of A and codes of B saturates
};
/// Whether corrected sums, and those of magnitudes, are supported and faster than exact ones, at the current instruction
/// level. Magnitudes take an instruction more for each vector, but no time for an excess.
bool corrects_code_pairs();
/// Bytes of a packed row of A: for magnitudes, those of all elements, then bytes of set bits for the negative ones.
size_t codes_row_bytes(size_t k, CodesSums sums = CodesSums::exact);
/// Bytes of A: `m` rows, and some more bytes that the kernel may read.
size_t codes_rows_bytes(size_t m, size_t k, CodesSums sums = CodesSums::exact);

/// Packs rows [m, k] of codes, `stride` bytes apart, in the form of A; `zero` gives a zero point per row.
/// The rows may be packed where they are, codes_row_bytes(k, sums) bytes apart.
void pack_code_rows(const Codes& a, size_t stride, size_t m, size_t k, const Codes& zero, int8_t* to, CodeRow* rows,
                    CodesSums sums = CodesSums::exact) noexcept;

/// The sum of n codes, which wraps around.
int32_t sum_codes(const int8_t* codes, size_t n) noexcept;

/// Columns of a panel of B, equal to those of a tile. A panel is [zero points][sums of the codes minus the same number
/// of zero points] int32_t, then the codes [depth / 4][column][4].
size_t codes_panel_width();
size_t codes_panel_bytes(size_t k);
/// Bytes of B; both forms need 64-byte aligned memory.
size_t codes_packed_bytes(size_t k, size_t n);
/// Packs columns [n0, n1) of B [k, n], whose rows are `stride` bytes apart; n0 is a multiple of the panel width;
/// `packed` is the memory of all of B.
void pack_code_panels(const Codes& b, size_t stride, size_t k, size_t n0, size_t n1, const Codes& zero, void* packed,
                      CodesSums sums = CodesSums::exact) noexcept;
/// For corrected sums: bytes of the excess of B [k, n], and what moves it out of the packed panels; see codes_excess.h.
size_t code_excess_bytes(const Codes& b, size_t stride, size_t k, size_t n);
void split_code_excess(size_t k, size_t n, void* packed, void* excess) noexcept;
/// Bytes of transposed rows of A, and what transposes rows [first, first + 32) of the packed rows; none if A has few.
inline constexpr size_t kCodesBlockRows = 32;
size_t codes_transposed_bytes(size_t m, size_t k);
void transpose_code_rows(const int8_t* rows, size_t m, size_t k, size_t first, uint8_t* to) noexcept;
/// Sets the zero points and sums of a panel whose codes are complete. `sums` is false if the zero points of A are all
/// 0.
void finish_code_panel(void* panel, size_t k, int32_t zero, bool sums) noexcept;
/// Interleaves up to four runs of n codes as quads of B's form; null runs count as 0.
void interleave_codes(const Codes& like, const uint8_t* const (&runs)[4], size_t n, uint32_t* to) noexcept;

/// The destination of a product: int32_t; float C · scale of the row · scale of the column + bias of the column +
/// residual; or codes round(C · scale of the row · scale of the column + offset of the row) + zero, half to even, clamped
/// to the range of the type; NaN gives the smallest.
struct CodesResult {
  void* data = nullptr;
  size_t stride = 0;  ///< elements from row to row
  bool is_codes = false, is_float = false;
  bool is_signed = false;
  int32_t zero = 0;
  const float* column_scale = nullptr;  ///< [n]; null: 1
  const float* column_bias = nullptr;   ///< [n], for floats; null: 0
  const float* residual = nullptr;      ///< [m, n] with the stride of `data`, added to floats; null: 0
};

struct GemmCodesArgs {
  size_t m = 0, n = 0, k = 0;
  const int8_t* a = nullptr;
  const CodeRow* rows = nullptr;
  const void* packed_b = nullptr;
  bool same_zero = false;  ///< all columns of B have the same zero point
  bool near = false;       ///< B is in the second-level cache, so that it need not be requested ahead of time
  CodesSums sums = CodesSums::exact;
  const void* excess = nullptr;         ///< of corrected sums
  const uint8_t* transposed = nullptr;  ///< A, for the excess
  CodesResult c;
};
/// Distributed over the pool.
void gemm_codes(const GemmCodesArgs& args, const Parallel& par) noexcept;
/// Rows [m0, m1) and columns [n0, n1); n0 is a multiple of the panel width. Serial.
void gemm_codes_block(const GemmCodesArgs& args, size_t m0, size_t m1, size_t n0, size_t n1) noexcept;

/// Converts n finished sums of a row and stores them, starting with element `at` of the result. Serial; reads 16 sums
/// at a time.
void finish_codes(const CodeRow& row, const CodesResult& c, const int32_t* sums, size_t n, size_t at) noexcept;

/// sums[i] = Σ over taps of weights[tap] · x[i + offsets[tap]], with weights within [-255, 255]. Serial; computes 64
/// sums at a time, so up to 63 more sums are written and as many more bytes of x are read.
struct CodeTaps {
  const uint8_t* x;
  const size_t* offsets;
  const int32_t* weights;
  size_t taps;
};
inline constexpr size_t kCodeTapsStep = 64;
void sum_code_taps(const CodeTaps& taps, size_t n, int32_t* sums) noexcept;

/// One channel under a window of weights: element (i, j) of the result has the sum of
/// weights[r][s] · x[(i · stride + r) · row_bytes + j · stride + s], plus the bias.
struct CodeWindow {
  static constexpr size_t kColumns = 8, kSurplus = 64;  ///< bytes that may be read after the last one that counts
  const uint8_t* x;
  size_t row_bytes;
  const int8_t (*weights)[kColumns];  ///< surplus columns are 0
  size_t rows, columns;
  size_t row_stride, column_stride;
};
/// Whether this processor multiplies windows.
bool has_code_windows();
/// Writes `lines` rows of `width` elements, starting with element `at` of the result. Strides are 1 or 2. Serial.
void multiply_code_window(const CodeWindow& window, const CodeRow& row, const CodesResult& c, size_t lines,
                          size_t width, size_t at) noexcept;

/// The reference: a plain loop over codes in memory; B element (i, j) is at i · b_stride + j.
void gemm_codes_reference(const GemmCodesArgs& args, const Codes& a, const Codes& a_zero, const Codes& b,
                          const Codes& b_zero) noexcept;

/// The instructions that multiply codes at the current instruction level.
enum class CodesUnit : uint8_t {
  pairs,       ///< as pairs of 16-bit numbers
  quads,       ///< AVX-512 VNNI, dot products of AArch64
  tiles,       ///< AMX
  saturating,  ///< for CodesSums::saturating
  turned,      ///< for CodesSums::turned
  magnitudes,  ///< for CodesSums::magnitudes
};
/// One of the first three: saturating sums are the same ones at every level.
CodesUnit codes_unit();
/// Limits the unit to at most `best` from now on. For tests; not thread-safe.
void limit_codes_unit(CodesUnit best);

}  // namespace retort::kernels
