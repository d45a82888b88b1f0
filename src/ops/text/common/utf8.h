// Text as models hold it: UTF-8.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace retort::ops {

/// The code point that begins a text, and its length in bytes; {kNoCode, 1} where the bytes are no UTF-8.
struct CodePoint {
  uint32_t code;
  size_t length;
};
inline constexpr uint32_t kNoCode = ~0u, kLastCode = 0x10ffff;
/// `text` is not empty.
CodePoint first_code_point(std::string_view text);

/// One letter in upper or lower case, by Unicode's simple mappings.
uint32_t with_case(uint32_t code, bool upper);
/// The code points that are one letter where case does not matter: those to which Unicode's simple case folding (statuses C and
/// S of CaseFolding.txt) gives the image of `code`. Where there are fewer than four, one stands more than once.
std::array<uint32_t, 4> case_forms(uint32_t code);
/// Every letter in upper or lower case, by Unicode's simple mappings. Bytes that are no UTF-8 stay as they are.
std::string with_case(const std::string& text, bool upper);

}  // namespace retort::ops
