#include "ops/text/common/utf8.h"

#include <locale.h>
#include <wctype.h>

#include <cstdint>

#include "base/error.h"

namespace retort::ops {
namespace {

// Code point at text[i] and its length in bytes; {0, 1} when there is none.
struct Decoded {
  uint32_t code;
  size_t length;
};
Decoded decode(const std::string& text, size_t i) {
  const auto byte = [&](size_t k) { return uint8_t(text[i + k]); };
  const uint8_t first = byte(0);
  const size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
  if (length == 1) return {first, 1};
  if (length == 0 || i + length > text.size()) return {0, 1};
  uint32_t code = first & (0x7f >> length);
  for (size_t k = 1; k < length; ++k) {
    if (byte(k) >> 6 != 2) return {0, 1};
    code = code << 6 | (byte(k) & 0x3f);
  }
  return {code, length};
}

void encode(uint32_t code, std::string& to) {
  if (code < 0x80) {
    to += char(code);
    return;
  }
  const size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  to += char(uint8_t(0xf00 >> length) | code >> (6 * (length - 1)));
  for (size_t k = length - 1; k-- > 0;) to += char(0x80 | (code >> (6 * k) & 0x3f));
}

locale_t unicode() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t(nullptr));
  require(locale != locale_t(nullptr), ErrorCode::not_implemented, "this system lacks the locale C.UTF-8");
  return locale;
}

}  // namespace

std::string with_case(const std::string& text, bool upper) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const Decoded d = decode(text, i);
    if (d.code == 0)
      result += text[i];
    else
      encode(uint32_t(upper ? towupper_l(wint_t(d.code), unicode()) : towlower_l(wint_t(d.code), unicode())), result);
    i += d.length;
  }
  return result;
}

}  // namespace retort::ops
