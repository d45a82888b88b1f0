// Packs B of products of codes.
#include <algorithm>
#include <cstring>

#include "kernels/gemm/codes_tile.h"
#include "kernels/gemm/gemm_codes.h"

namespace retort::kernels {
namespace {

/// The codes of rows [k, depth) of a panel; those of columns beyond the last one do not matter.
void fill_below(uint8_t* codes, size_t k, size_t depth, uint8_t code) {
  const size_t width = codes_panel_width();
  for (size_t i = k; i < depth; ++i) {
    for (size_t c = 0; c < width; ++c) codes[(i / 4 * width + c) * 4 + i % 4] = code;
  }
}

/// Makes the codes and zero points of a complete panel signed; its sums stay the same.
void make_signed(int32_t* zeros, uint8_t* codes, size_t depth) {
  const size_t width = codes_panel_width();
  for (size_t c = 0; c < width; ++c) zeros[c] -= 128;
  for (size_t i = 0; i < depth * width; ++i) codes[i] ^= 0x80;
}

}  // namespace

int32_t codes_detail::split_row(int8_t* codes, size_t depth) noexcept {
  uint32_t sum = 0;
  for (size_t i = 0; i < depth; ++i) {
    const int32_t negative = codes[i] < 0 ? codes[i] : 0;
    sum += uint32_t(-negative);
    codes[depth + i] = int8_t(codes[i] >> 7);
    codes[i] = int8_t(codes[i] - 2 * negative);
  }
  return int32_t(sum);
}

void pack_code_panels(const Codes& b, size_t stride, size_t k, size_t n0, size_t n1, const Codes& zero, void* packed,
                      CodesSums sums) noexcept {
  const codes_detail::Interleave interleave = codes_detail::interleave();
  const size_t width = codes_panel_width(), depth = codes_depth(k);
  for (size_t j = n0; j < n1; j += width) {
    char* panel = static_cast<char*>(packed) + j / width * codes_panel_bytes(k);
    auto* zeros = reinterpret_cast<int32_t*>(panel);
    auto* const codes = reinterpret_cast<uint8_t*>(zeros + 2 * width);
    uint8_t* to = codes;
    const size_t columns = std::min(width, n1 - j);
    for (size_t c = 0; c < width; ++c) zeros[c] = c < columns ? zero_of_a(b, zero[j + c]) + 128 : 0;
    if (columns < width || depth > k) std::memset(to, 0, depth * width);
    for (size_t i = 0; i < k; i += 4, to += 4 * width) {
      const uint8_t* runs[4] = {};
      for (size_t r = 0; r < std::min<size_t>(4, k - i); ++r) runs[r] = b.bytes((i + r) * stride + j);
      interleave(runs, b.is_signed ? 0x80 : 0, columns, to);
    }
    if (sums >= CodesSums::turned) fill_below(codes, k, depth, 0x80);
    codes_detail::sum_panel(panel, depth);
    if (sums >= CodesSums::turned) make_signed(zeros, codes, depth);
  }
}

}  // namespace retort::kernels
