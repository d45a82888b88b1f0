#include "base/json.h"

#include <cstdint>

namespace retort {
namespace {

/// Number of bytes of the well-formed UTF-8 character at the beginning of `text`; 0 if there is none.
size_t utf8_length(std::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : 0; };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;
  const size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (size_t i = 1; i < n; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  const uint8_t second = at(1);  // no overlong forms, no surrogates, nothing above U+10FFFF
  const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return wrong ? 0 : n;
}

}  // namespace

std::string JsonWriter::quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const size_t n = utf8_length(text);
    if (n == 0) {
      out += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (n == 1 && uint8_t(c) < 0x20) {
      out += cat("\\u{:04x}", int(c));
    } else {
      out += text.substr(0, n);
    }
    text.remove_prefix(n ? n : 1);
  }
  return out + '"';
}

}  // namespace retort
