// Text in UTF-8, as models hold it.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace retort::ops {

/// The code point that begins a text, and its length in bytes; {kNoCode, 1} if the bytes are not UTF-8.
struct CodePoint {
  uint32_t code;
  size_t length;
};
inline constexpr uint32_t kNoCode = ~0u, kLastCode = 0x10ffff;
/// `text` must not be empty.
CodePoint first_code_point(std::string_view text);

/// One letter converted to upper or lower case, by Unicode's simple mappings.
uint32_t with_case(uint32_t code, bool upper);
/// The code points that are equal to `code` if case is ignored: those that Unicode's simple case folding (statuses C
/// and S of CaseFolding.txt) maps to the same code point. If there are fewer than four, one is repeated.
std::array<uint32_t, 4> case_forms(uint32_t code);
/// Converts every letter to upper or lower case, by Unicode's simple mappings. Bytes that are not UTF-8 are unchanged.
std::string with_case(const std::string& text, bool upper);

}  // namespace retort::ops
