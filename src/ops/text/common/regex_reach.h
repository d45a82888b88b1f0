// The step that matching and building a table share: finds the states that an automaton reaches without a character.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ops/text/common/regex.h"

namespace retort::ops {

/// Adds to `waiting`, in no order, the states that can be reached from `state` without a character and that wait for
/// one or accept (program.size()). `allows(kind)` says whether the current position in the text is of that kind.
/// `seen`, by state, marks states that have been visited, which are not added again. Returns the number of newly
/// visited states.
template <typename Allows>
size_t reach(std::span<const Regex::Instruction> program, uint32_t state, std::vector<char>& seen,
             std::vector<uint32_t>& waiting, const Allows& allows) {
  using enum Regex::Kind;
  size_t steps = 0;
  std::vector<uint32_t> open{state};
  while (!open.empty()) {
    const uint32_t s = open.back();
    open.pop_back();
    if (std::exchange(seen[s], char(1))) continue;
    ++steps;
    if (s == program.size() || program[s].kind == set) {
      waiting.push_back(s);
      continue;
    }
    const Regex::Instruction& i = program[s];
    if (i.kind == split) open.push_back(uint32_t(int64_t(s) + i.or_to));
    if (i.kind == split || i.kind == jump || allows(i.kind)) open.push_back(uint32_t(int64_t(s) + i.to));
  }
  return steps;
}

}  // namespace retort::ops
