#include "ops/text/common/regex_place.h"

namespace retort::ops {

bool is_word_code(uint32_t code) {
  const uint32_t small = code | 0x20;
  return (code >= '0' && code <= '9') || (code < 128 && small >= 'a' && small <= 'z') || code == '_';
}

bool RegexPlace::operator()(Regex::Kind kind) const {
  const bool edge = is_word_code(before) != is_word_code(after);
  switch (kind) {
    case Regex::Kind::text_begin:
      return begin;
    case Regex::Kind::text_end:
      return end;
    case Regex::Kind::line_begin:
      return begin || before == '\n';
    case Regex::Kind::line_end:
      return end || after == '\n';
    case Regex::Kind::word_edge:
      return edge;
    default:
      return !edge;
  }
}

uint32_t code_before(std::string_view text, size_t at) {
  for (size_t length = 1; length <= 4 && length <= at; ++length) {
    const CodePoint c = first_code_point(text.substr(at - length, length));
    if (c.code != kNoCode && c.length == length) return c.code;
  }
  return kNoCode;
}

}  // namespace retort::ops
