// Exact sums by an instruction whose pairs of products saturate (vpmaddubsw). Products of a pair of weights, w0 and w1,
// with any two unsigned codes stay within 16 bits if |w0 + w1| is at most 128, or if the signs of both differ. What a
// pair has beyond this is its excess: it is subtracted from the larger one of the weights, multiplied apart, and added
// to the same sum in 32 bits. Few weights have any.
//
// An excess is multiplied by the codes of many rows of A at the same time, so that A is transposed for it. The products
// of a chain are added in 16 bits, which suffice because its positive weights add up to at most 128, and so do the
// negative ones. Chains have a fixed length, since loops of lengths that vary would be mispredicted.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/checked.h"
#include "kernels/gemm/gemm_codes.h"

namespace retort::kernels::codes_detail {

inline constexpr size_t kExcessChain = 4;  ///< weights
/// Weights that are an excess, of one column of a panel.
struct ExcessChain {
  uint32_t k[kExcessChain];
  int8_t weights[2][4];  ///< of two elements of k, twice
  uint32_t column;

  /// Sets weight i; the others are 0 if i is.
  void set(size_t i, size_t of_k, int32_t weight) {
    if (i == 0) *this = {};
    k[i] = uint32_t(of_k);
    weights[i / 2][i % 2] = weights[i / 2][i % 2 + 2] = int8_t(weight);
  }
};
inline constexpr int32_t kMostOfPair = 128;

/// The excess of a pair of weights, and which of them has it.
struct PairExcess {
  int32_t weight;
  bool second;
  PairExcess(int32_t w0, int32_t w1)
      : weight(w0 + w1 - std::clamp(w0 + w1, -kMostOfPair, kMostOfPair)), second(weight > 0 ? w1 > w0 : w1 < w0) {}
};

/// Distributes the excess of a column over its chains: slots 4i to 4i + 3 are chain i.
class ExcessSlots {
 public:
  /// The slot of a weight.
  size_t add(int32_t weight) {
    int32_t& sum = weight > 0 ? positive_ : negative_;
    if (std::abs(sum + weight) > kMostOfPair) count_ = round_up(count_, kExcessChain);
    if (count_ % kExcessChain == 0) positive_ = negative_ = 0;
    sum += weight;
    return count_++;
  }
  size_t chains() const { return ceil_div(count_, kExcessChain); }
  /// Adds a weight of element k to the last chain of its column, or to a new one at `end`.
  void put(ExcessChain*& end, size_t column, size_t k, int32_t weight) {
    const size_t slot = add(weight);
    if (slot % kExcessChain == 0) last_ = end++;
    last_->set(slot % kExcessChain, k, weight);
    last_->column = uint32_t(column);
  }

 private:
  size_t count_ = 0;
  int32_t positive_ = 0, negative_ = 0;
  ExcessChain* last_ = nullptr;
};

/// Packed excess of several panels: the first chain of each panel and the end of the last one, then all chains. Those of
/// a panel are ordered by their columns, so that the sums of a column stay in registers.
class Excess {
 public:
  Excess() = default;
  /// `packed` may be null: no panel has any.
  Excess(const void* packed, size_t panels)
      : first_(static_cast<const uint32_t*>(packed)),
        chains_(packed ? reinterpret_cast<const ExcessChain*>(first_ + panels + 1) : nullptr) {}
  static size_t bytes(size_t panels, size_t chains) {
    return checked_add(checked_mul(panels + 1, sizeof(uint32_t), "excess"),
                       checked_mul(chains, sizeof(ExcessChain), "excess"), "excess");
  }
  bool any(size_t panel0, size_t panel1) const { return first_ && first_[panel1] > first_[panel0]; }
  const ExcessChain* chains(size_t panel) const { return chains_ + first_[panel]; }
  size_t count(size_t panel) const { return first_[panel + 1] - first_[panel]; }

 private:
  const uint32_t* first_ = nullptr;
  const ExcessChain* chains_ = nullptr;
};

/// Rows of codes: row i of line l starts at l · line_stride + i · row_stride, and consists of parts, `depth` bytes long.
struct CodeLines {
  const uint8_t* data = nullptr;
  size_t lines = 1, rows = 0, line_stride = 0, row_stride = 0;
  size_t parts = 1, part_stride = 0, depth = 0;
  size_t k() const { return parts * depth; }
  size_t count() const { return lines * rows; }
  /// Row i of all lines.
  const uint8_t* row(size_t i) const { return data + i / rows * line_stride + i % rows * row_stride; }
};
/// Rows in a block of transposed ones, which is [k][kExcessRows].
inline constexpr size_t kExcessRows = kCodesBlockRows;
inline size_t excess_blocks(size_t rows) { return ceil_div(rows, kExcessRows); }
/// Fewer rows than these are not transposed: the excess of each row is computed apart.
inline constexpr size_t kLeastTransposed = 3;
/// Arranges rows for multiply_excess(): few one after the other, others in blocks.
void arrange_lines(const CodeLines& lines, uint8_t* to) noexcept;
/// sums [row][codes_panel_width()] = bias + products of `count` chains of a panel and `rows` arranged rows. The sums of
/// blocks are whole blocks, too.
void multiply_excess(const ExcessChain* chains, size_t count, const int32_t* bias, const uint8_t* arranged, size_t k,
                     size_t rows, int32_t* sums) noexcept;

/// Some rows of a product, all in one block.
struct ExcessRows {
  size_t first, count;
  bool begins;  ///< no rows before them are known
};
/// Adds the excess of a panel to sums [row][codes_panel_width()], or returns what is still to be added. `beyond`, for
/// kExcessRows rows, keeps that of the other rows of a block from call to call.
const int32_t* add_excess(const GemmCodesArgs& args, size_t panel, const ExcessRows& rows, int32_t* beyond,
                          int32_t* sums) noexcept;

}  // namespace retort::kernels::codes_detail
