// The automaton of a regular expression as a table, for texts of ASCII.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/text/common/regex.h"

namespace retort::ops {

/// Deterministic: one look-up for each character. Immutable; may be used from many threads.
class RegexTable {
 public:
  /// nullopt where the pattern asks for places (^, $, \b) or the table would be large.
  static std::optional<RegexTable> build(std::span<const Regex::Instruction> program, std::span<const Regex::Set> sets);
  /// nullopt for a text with other characters than ASCII's.
  std::optional<bool> matches(std::string_view text) const noexcept;

 private:
  class Builder;
  std::array<uint8_t, 128> class_{};  ///< characters that no set tells apart have one class
  size_t classes_ = 0;
  std::vector<uint16_t> next_;  ///< [states, classes_]; state 0 is dead, 1 the first
  std::vector<char> accepts_;   ///< by state
};

}  // namespace retort::ops
