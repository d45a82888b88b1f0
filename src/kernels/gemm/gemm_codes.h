// Products of 8-bit codes, exact in 32 bits that wrap around:
//
//   C[m,n] = (A[m,k] - zero of the row) · (B[k,n] - zero of the column) + bias of the row
//
// Codes of any signedness are brought into one form before: those of A signed, those of B unsigned, by turning the sign bit
// where they are not, which moves their zero points as much. Four steps of k lie together, as the instructions want
// them. What fills up the depth of A is the zero point of its row, so it adds nothing whatever B has there.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"

namespace retort::kernels {

/// Codes in memory; null: none, each counts as 0.
struct Codes {
  const void* data = nullptr;
  bool is_signed = false;
  size_t count = SIZE_MAX;  ///< after so many the first comes again
  size_t first = 0;         ///< where element 0 is
  int32_t operator[](size_t i) const {
    if (!data) return 0;
    const size_t at = (first + i) % count;
    return is_signed ? static_cast<const int8_t*>(data)[at] : static_cast<const uint8_t*>(data)[at];
  }
  const uint8_t* bytes(size_t i) const { return static_cast<const uint8_t*>(data) + i; }
};
/// The zero point, of codes like `like`, in the form of A's codes (of B's: 128 more).
inline int32_t zero_of_a(const Codes& like, int32_t zero) { return like.is_signed ? zero : zero - 128; }

/// What belongs to a row of A.
struct CodeRow {
  int32_t zero = 0;  ///< in the form of A
  int32_t sum = 0;   ///< of its codes, padding included
  int32_t bias = 0;  ///< added to the products
  float scale = 1;   ///< of the products, where codes are made of them
};

/// Bytes of a row of A: k and padding.
size_t codes_depth(size_t k);
/// Bytes of A: `m` rows, and some that the kernel reads beyond them.
size_t codes_rows_bytes(size_t m, size_t k);
/// Rows [m, k] of codes, `stride` bytes apart, in the form of A; with `zero` by row.
void pack_code_rows(const Codes& a, size_t stride, size_t m, size_t k, const Codes& zero, int8_t* to,
                    CodeRow* rows) noexcept;

/// A panel of B has as many columns as a tile: [zero points][sums of the codes less those of as many zero points] int32_t,
/// then the codes [depth / 4][column][4].
size_t codes_panel_width();
size_t codes_panel_bytes(size_t k);
/// Bytes of B; both forms want 64-byte aligned memory.
size_t codes_packed_bytes(size_t k, size_t n);
/// Columns [n0, n1) of B [k, n], whose rows are `stride` bytes apart, n0 a multiple of the panel width; `packed` is all of B.
void pack_code_panels(const Codes& b, size_t stride, size_t k, size_t n0, size_t n1, const Codes& zero,
                      void* packed) noexcept;
/// Of a panel whose codes are there: zero points and sums. `sums`: false where the zero points of A are all 0.
void finish_code_panel(void* panel, size_t k, int32_t zero, bool sums) noexcept;
/// Up to four runs of n codes as quads of B's form; runs that are null give 0.
void interleave_codes(const Codes& like, const uint8_t* const (&runs)[4], size_t n, uint32_t* to) noexcept;

/// Where a product goes: int32_t, or codes round(C · scale of the row · scale of the column) + zero, half to even, held
/// within the range of the type; NaN gives the smallest.
struct CodesResult {
  void* data = nullptr;
  size_t stride = 0;  ///< elements from row to row
  bool is_codes = false;
  bool is_signed = false;
  int32_t zero = 0;
  const float* column_scale = nullptr;  ///< [n]; null: 1
};

struct GemmCodesArgs {
  size_t m = 0, n = 0, k = 0;
  const int8_t* a = nullptr;
  const CodeRow* rows = nullptr;
  const void* packed_b = nullptr;
  CodesResult c;
};
/// Spread over the pool.
void gemm_codes(const GemmCodesArgs& args, const Parallel& par) noexcept;
/// Rows [m0, m1) and columns [n0, n1), n0 a multiple of the panel width. Serial.
void gemm_codes_block(const GemmCodesArgs& args, size_t m0, size_t m1, size_t n0, size_t n1) noexcept;

/// Sums that already hold the products of a row, n of them, to element `at` of the result. Serial; reads 16 sums at a time.
void finish_codes(const CodeRow& row, const CodesResult& c, const int32_t* sums, size_t n, size_t at) noexcept;

/// sums[i] = Σ over taps of weights[tap] · x[i + offsets[tap]], weights within [-255, 255]. Serial; works 64 sums at a time,
/// so that up to 63 more of them are written and as many bytes more of x are read.
struct CodeTaps {
  const uint8_t* x;
  const size_t* offsets;
  const int32_t* weights;
  size_t taps;
};
inline constexpr size_t kCodeTapsStep = 64;
void sum_code_taps(const CodeTaps& taps, size_t n, int32_t* sums) noexcept;

/// The plain loop over codes in memory: B element (i, j) at i · b_stride + j.
void gemm_codes_reference(const GemmCodesArgs& args, const Codes& a, const Codes& a_zero, const Codes& b,
                          const Codes& b_zero) noexcept;

/// How the processor multiplies codes at the current instruction level.
enum class CodesUnit : uint8_t {
  pairs,  ///< as pairs of 16 bits
  quads,  ///< AVX-512 VNNI, dot products of AArch64
  tiles,  ///< AMX
};
CodesUnit codes_unit();
/// No better unit than this one from now on. For tests; not thread-safe.
void limit_codes_unit(CodesUnit best);

}  // namespace retort::kernels
