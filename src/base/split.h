// Splits text.
#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

namespace retort {

/// The parts of `text` between the characters `at`, including empty ones; a single part if there is no such character.
/// The parts are views of `text`.
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
