// Writes JSON from beginning to end.
#pragma once
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace retort {

/// The caller opens and closes in order; commas are written automatically.
class JsonWriter {
 public:
  JsonWriter& open(char bracket) { return put(std::string(1, bracket), true); }
  JsonWriter& close(char bracket) {
    text_ += bracket;
    comma_ = true;
    return *this;
  }
  JsonWriter& key(std::string_view name) {
    put(quoted(name), false);
    text_ += ':';
    comma_ = false;
    return *this;
  }
  JsonWriter& value(std::string_view text) { return put(quoted(text), false); }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool yes) { return put(yes ? "true" : "false", false); }
  template <typename Number>
  requires std::is_arithmetic_v<Number> JsonWriter& value(Number number) { return put(cat("{}", number), false); }
  template <typename T>
  JsonWriter& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }
  std::string take() { return std::move(text_); }

  /// With quotation marks; bytes that are not UTF-8 become U+FFFD.
  static std::string quoted(std::string_view text);

 private:
  JsonWriter& put(const std::string& token, bool opens) {
    if (comma_) text_ += ',';
    text_ += token;
    comma_ = !opens;
    return *this;
  }
  std::string text_;
  bool comma_ = false;
};

}  // namespace retort
