#include "ops/text/common/utf8.h"

#include <algorithm>
#include <clocale>
#include <cwctype>
#include <iterator>
#include <utility>

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
  require(locale != locale_t(nullptr), ErrorCode::not_implemented, "this system does not have the locale C.UTF-8");
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

std::array<uint32_t, 4> case_forms(uint32_t code) {
  // Forms of a letter besides its lower and its upper case, each with that lower case.
  static constexpr std::pair<uint32_t, uint32_t> kForms[] = {
      {0x17f, 's'},     {0xb5, 0x3bc},    {0x1c5, 0x1c6},  {0x1c8, 0x1c9},  {0x1cb, 0x1cc},  {0x1f2, 0x1f3},
      {0x345, 0x3b9},   {0x3c2, 0x3c3},   {0x3d0, 0x3b2},  {0x3d1, 0x3b8},  {0x3d5, 0x3c6},  {0x3d6, 0x3c0},
      {0x3f0, 0x3ba},   {0x3f1, 0x3c1},   {0x3f4, 0x3b8},  {0x3f5, 0x3b5},  {0x1c80, 0x432}, {0x1c81, 0x434},
      {0x1c82, 0x43e},  {0x1c83, 0x441},  {0x1c84, 0x442}, {0x1c85, 0x442}, {0x1c86, 0x44a}, {0x1c87, 0x463},
      {0x1c88, 0xa64b}, {0x1e9b, 0x1e61}, {0x1e9e, 0xdf},  {0x1fbe, 0x3b9}, {0x1fd3, 0x390}, {0x1fe3, 0x3b0},
      {0xfb05, 0xfb06}, {0x2126, 0x3c9},  {0x212a, 'k'},   {0x212b, 0xe5},
  };
  constexpr uint32_t kCapitalIWithDot = 0x130, kSmallIWithoutDot = 0x131;  // separate letters
  if (code == kCapitalIWithDot || code == kSmallIWithoutDot) return {code, code, code, code};
  const auto* form = std::ranges::find(kForms, code, [](const auto& f) { return f.first; });
  const uint32_t lower = form != std::end(kForms) ? form->second : with_case(code, false);
  std::array<uint32_t, 4> forms{lower, with_case(lower, true), lower, lower};
  size_t n = 2;
  for (const auto& [other, of] : kForms) {
    if (of == lower) forms[n++] = other;
  }
  return forms;
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
