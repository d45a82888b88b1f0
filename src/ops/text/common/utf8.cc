#include "ops/text/common/utf8.h"

#include <locale.h>
#include <wctype.h>

#include "base/error.h"

namespace retort::ops {
namespace {

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

CodePoint first_code_point(std::string_view text) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto first = uint8_t(text[0]);
  const size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
  if (length == 1) return {first, 1};
  if (length == 0 || length > text.size()) return {kNoCode, 1};
  uint32_t code = first & (0x7f >> length);
  for (size_t k = 1; k < length; ++k) {
    const auto byte = uint8_t(text[k]);
    if (byte >> 6 != 2) return {kNoCode, 1};
    code = code << 6 | (byte & 0x3f);
  }
  if (code < kLeast[length] || code > kLastCode) return {kNoCode, 1};
  return {code, length};
}

uint32_t with_case(uint32_t code, bool upper) {
  if (code < 0x80) return code - (upper ? 'a' : 'A') < 26 ? code ^ 0x20 : code;
  return uint32_t(upper ? towupper_l(wint_t(code), unicode()) : towlower_l(wint_t(code), unicode()));
}

std::string with_case(const std::string& text, bool upper) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const CodePoint d = first_code_point(std::string_view(text).substr(i));
    if (d.code == kNoCode)
      result += text[i];
    else
      encode(with_case(d.code, upper), result);
    i += d.length;
  }
  return result;
}

}  // namespace retort::ops
