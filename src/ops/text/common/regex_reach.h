// The step that matching and the making of a table share: what an automaton reaches without a character.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ops/text/common/regex.h"

namespace retort::ops {

/// Adds to `waiting` the states that can be reached from `state` without a character and wait for one, or accept
/// (program.size()), in no order. `allows(kind)` says whether a place in the text is of that kind. `seen`, by state,
/// tells where it has been; such states are not added again. Returns how many are new there.
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
