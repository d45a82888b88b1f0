// The parts of gemm_nbits that depend on the processor.
#pragma once
#include "kernels/gemm/gemm_nbits.h"

namespace retort::kernels::nbits_detail {

/// Where packed weights have what. A panel begins with the zero points of all blocks, a byte per column, if they are
/// codes: memory is read in order then. For each block follow the vectors of codes, one of scales, and one of offsets
/// if zero points are numbers. A scale or an offset takes `number_bytes`.
struct Layout {
  size_t lanes, vectors, blocks, number_bytes;
  size_t zeros_bytes, codes_bytes, block_bytes, panel_bytes;
  Layout(const NBitForm& form, size_t lanes);
  const uint8_t* block(const uint8_t* panel, size_t b) const { return panel + zeros_bytes + b * block_bytes; }
};

/// Rows of A, rounded: codes [m][depth], and for each row and block a scale, the sum of the codes, and the value with
/// which the sum of a block starts. Rows are padded to whole blocks, with zeros.
struct RoundedRows {
  int8_t* codes;
  float *scales, *sums;
  int32_t* starts;
};

/// Rows of A and all that a tile needs besides.
struct Work {
  const NBitProduct& p;
  Layout layout;
  size_t depth;         ///< k, rounded up to whole blocks
  RoundedRows rounded;  ///< if the input is rounded
  const float* exact;   ///< [m][depth] otherwise; null: too many rows for it
};

struct Part {
  size_t m0 = 0, m1 = 0, panel0 = 0, panel1 = 0;
  char* expanded = nullptr;  ///< memory for a pair of panels in 8 bits; null: panels are used as they are
};

/// Rows beyond the last that the kernel reads and ignores.
inline constexpr size_t kSurplusRows = 11;
/// With more rows than this, exact products decode panels first.
inline constexpr size_t kFewRows = 4;

/// The panel width of the instructions in use.
size_t lanes();
/// Whether these instructions convert float16.
bool converts_halves();
/// Rounds rows [m0, m1) of A.
void round_rows(const Work& w, size_t m0, size_t m1) noexcept;
/// Bytes for a pair of panels in 8 bits, from which a product with m rounded rows is faster; 0: it is not.
size_t expanded_bytes(const Layout& layout, const NBitForm& form, size_t m);
/// Computes a part of C from rounded rows, and from pairs of panels; panel0 is even. With VNNI or AMX, and without.
void multiply_expanded(const Work& w, const Part& part) noexcept;
void multiply_pairs(const Work& w, const Part& part) noexcept;
/// Rounds panels `at`, which is even, and `at` + 1 to a panel of pairs of bfloat16 numbers (gemm_bf16.h) for w.depth
/// steps. Only for processors whose panels of floats are as wide as two of codes.
void round_panels(const Work& w, size_t at, float* pairs) noexcept;
/// Computes a part of C from rounded rows, or from a few exact ones.
void multiply(const Work& w, const Part& part) noexcept;
/// Decodes panel `at` to columns of `to`, whose rows of k are `stride` floats apart.
void decode(const Work& w, size_t at, float* to, size_t stride) noexcept;
/// Packs the codes of a panel of `columns` columns, `row_bytes` apart; those of surplus columns become 0.
void pack_codes(const NBitForm& form, const Layout& layout, const uint8_t* codes, size_t row_bytes, size_t columns,
                uint8_t* panel) noexcept;

/// The scales and zero points of some blocks of a panel: [block][lanes]. Those of surplus columns are 0.
struct PanelNumbers {
  static constexpr size_t kBlocks = 64, kLanes = 16;  ///< at most
  size_t first = 0, count = 0;                        ///< blocks
  alignas(64) float scales[kBlocks * kLanes], zeros[kBlocks * kLanes];
};
/// Packs them, the first block of the panel being number 0.
void pack_numbers(const NBitForm& form, const Layout& layout, const PanelNumbers& from, uint8_t* panel) noexcept;
/// Whether float16 holds the scales exactly, and the offsets up to the rounding of floats.
bool fit_halves(const NBitForm& form, const PanelNumbers& from) noexcept;

}  // namespace retort::kernels::nbits_detail
