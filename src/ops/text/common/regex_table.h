// The automaton of a regular expression as a table, for ASCII texts.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/text/common/regex.h"

namespace retort::ops {

/// A deterministic automaton: one look-up per character. Immutable and thread-safe.
class RegexTable {
 public:
  /// Returns nullopt if the pattern contains position assertions (^, $, \b) or the table would be large.
  static std::optional<RegexTable> build(std::span<const Regex::Instruction> program, std::span<const Regex::Set> sets);
  /// Returns nullopt for a text with characters outside of ASCII.
  std::optional<bool> matches(std::string_view text) const noexcept;
  /// As Regex::find(). Returns nullopt if it comes to characters outside of ASCII, or if many beginnings lead far
  /// without a match, which would take longer than the automaton itself.
  std::optional<std::optional<Regex::Part>> find(std::string_view text, size_t from) const noexcept;

 private:
  class Builder;
  std::array<uint8_t, 128> class_{};  ///< characters that no set distinguishes have the same class
  size_t classes_ = 0;
  std::vector<uint16_t> next_;  ///< [states, classes_]; state 0 is dead, 1 the first
  std::vector<char> accepts_;   ///< per state
};

}  // namespace retort::ops
