#include "package/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/c_locale.h"

namespace retort {
namespace {

constexpr int kDepth = 200;

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  JsonValue document() {
    if (text_.substr(0, 3) == "\xef\xbb\xbf") at_ = 3;  // a byte order mark is allowed in UTF-8
    JsonValue all = value(0);
    if (at_ < text_.size()) wrong("something follows the end of the document");
    return all;
  }

 private:
  [[noreturn]] void wrong(std::string_view what) const {
    const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
    fail(ErrorCode::fail, "line {}: {}; write JSON (RFC 8259)", 1 + std::count(before.begin(), before.end(), '\n'),
         what);
  }

  /// The next character; 0 at the end.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  JsonValue value(int depth) {
    if (depth > kDepth) wrong("values are nested too deeply");
    skip_space();
    JsonValue made = [&] {
      switch (peek()) {
        case '{':
          return object(depth);
        case '[':
          return array(depth);
        case '"':
          return JsonValue{.kind = JsonValue::Kind::string, .text = string()};
        default:
          return scalar();
      }
    }();
    skip_space();
    return made;
  }

  JsonValue object(int depth) {
    JsonValue made{.kind = JsonValue::Kind::object};
    std::map<std::string, size_t> places;
    ++at_;
    skip_space();
    if (take('}')) return made;
    do {
      skip_space();
      std::string key = string();
      skip_space();
      if (!take(':')) wrong("':' is missing after a key");
      JsonValue member = value(depth + 1);
      const auto [place, is_new] = places.emplace(key, made.members.size());
      if (is_new)
        made.members.push_back({std::move(key), std::move(member)});
      else
        made.members[place->second].value = std::move(member);
    } while (take(','));
    if (!take('}')) wrong("'}' is missing");
    return made;
  }

  JsonValue array(int depth) {
    ++at_;
    skip_space();
    if (take(']')) return {.kind = JsonValue::Kind::array};
    do value(depth + 1);
    while (take(','));
    if (!take(']')) wrong("']' is missing");
    return {.kind = JsonValue::Kind::array};
  }

  JsonValue scalar() {
    for (const auto& [word, kind] : {std::pair(std::string_view("null"), JsonValue::Kind::null),
                                     {"true", JsonValue::Kind::boolean},
                                     {"false", JsonValue::Kind::boolean}}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return {.kind = kind};
    }
    return number();
  }

  size_t digits() {
    const size_t from = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    if (at_ == from) wrong("a value is missing or is not a number");
    return at_ - from;
  }

  JsonValue number() {
    const size_t from = at_;
    take('-');
    if (!take('0')) digits();
    bool whole = true;
    if (take('.')) {
      whole = false;
      digits();
    }
    if (take('e') || take('E')) {
      whole = false;
      if (!take('+')) take('-');
      digits();
    }
    JsonValue made{.kind = JsonValue::Kind::number};
    int64_t integer = 0;
    const char *begin = text_.data() + from, *end = text_.data() + at_;
    // Such numbers are not used, but the official library rejects them.
    if (!std::isfinite(c_strtod(std::string(begin, end).c_str(), nullptr))) wrong("a number is too large");
    if (whole && std::from_chars(begin, end, integer).ec == std::errc()) made.integer = integer;
    return made;
  }

  std::string string() {
    if (!take('"')) wrong("a string is missing");
    std::string made;
    while (!take('"')) {
      const size_t length = std::min(text_.find_first_of("\"\\", at_), text_.size()) - at_;
      check_plain(text_.substr(at_, length));
      made += text_.substr(at_, length);
      at_ += length;
      if (at_ == text_.size()) wrong("the end of a string is missing");
      if (take('\\')) escape(made);
    }
    return made;
  }

  /// Throws unless the text has no control characters and is UTF-8: shortest forms, no surrogates, up to U+10FFFF.
  void check_plain(std::string_view text) const {
    for (size_t i = 0; i < text.size();) {
      const auto byte = [&](size_t k) { return i + k < text.size() ? uint8_t(text[i + k]) : uint8_t(0); };
      const uint8_t first = byte(0);
      if (first < 0x20) wrong("a string has a control character");
      const size_t more = first < 0x80   ? 0
                          : first < 0xc2 ? 4
                          : first < 0xe0 ? 1
                          : first < 0xf0 ? 2
                          : first < 0xf5 ? 3
                                         : 4;
      bool good = more < 4;
      for (size_t k = 1; good && k <= more; ++k) good = (byte(k) & 0xc0) == 0x80;
      const uint8_t second = byte(1);
      good = good && !(first == 0xe0 && second < 0xa0) && !(first == 0xed && second > 0x9f) &&
             !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second > 0x8f);
      if (!good) wrong("a string is not UTF-8");
      i += 1 + more;
    }
  }

  uint32_t code_unit() {
    uint32_t unit = 0;
    const std::string_view hex = text_.substr(std::min(at_, text_.size()), 4);
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), unit, 16);
    if (hex.size() < 4 || error != std::errc() || end != hex.data() + 4) wrong("'\\u' needs four hexadecimal digits");
    at_ += 4;
    return unit;
  }

  void escape(std::string& made) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (!take('u')) {
      const size_t letter = kLetters.find(peek());
      if (letter == std::string_view::npos || at_ == text_.size()) wrong("a string has an unknown escape");
      ++at_;
      made += kMeant[letter];
      return;
    }
    uint32_t code = code_unit();
    if (code >= 0xd800 && code < 0xe000) {
      const bool pair = code < 0xdc00 && take('\\') && take('u');
      const uint32_t low = pair ? code_unit() : 0;
      if (low < 0xdc00 || low > 0xdfff) wrong("a string has half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_code(made, code);
  }

  static void append_code(std::string& made, uint32_t code) {
    if (code < 0x80) {
      made += char(code);
      return;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr uint8_t kFirst[] = {0, 0xc0, 0xe0, 0xf0};
    made += char(kFirst[more] | code >> (6 * more));
    for (int k = more - 1; k >= 0; --k) made += char(0x80 | (code >> (6 * k) & 0x3f));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto at = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.key == key; });
  return at == members.end() ? nullptr : &at->value;
}

JsonValue parse_json(std::string_view text) { return JsonReader(text).document(); }

}  // namespace retort
