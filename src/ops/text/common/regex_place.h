// A position between two characters of a text, for the position assertions of regular expressions (^, $, \b).
#pragma once
#include <cstdint>
#include <string_view>

#include "ops/text/common/regex.h"

namespace retort::ops {

/// Whether \w matches it.
bool is_word_code(uint32_t code);

/// kNoCode stands for characters outside of the text.
struct RegexPlace {
  uint32_t before, after;
  bool begin, end;
  /// Whether the assertion `kind` holds here; one of text_begin to no_word_edge.
  bool operator()(Regex::Kind kind) const;
};

/// The character that ends before byte `at`, or kNoCode.
uint32_t code_before(std::string_view text, size_t at);

}  // namespace retort::ops
