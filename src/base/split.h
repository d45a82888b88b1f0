// Text in pieces.
#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

namespace retort {

/// What lies between the characters `at`, empty pieces included; one piece where there is none. Views of `text`.
inline std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find(at, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

}  // namespace retort
