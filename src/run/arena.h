// Plans offsets in one block of memory for values with known lifetimes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace retort {

struct ArenaRequest {
  size_t bytes = 0;
  uint32_t first = 0, last = 0;  ///< steps, inclusive, during which the memory is in use
  uint32_t branch = 0;           ///< if not 0: requests of the same branch compare by own_first and own_last instead
  uint32_t own_first = 0, own_last = 0;
};

struct ArenaLayout {
  std::vector<size_t> offsets;  ///< per request; multiples of 64
  size_t bytes = 0;
};

/// Best fit by size: larger requests choose first. A large one lies in the middle of earlier ones that are not alive at
/// the same time, if that is free and the whole needs no more memory: the halves of all values are then in the same
/// places, so two workers that each compute one half of every value do not write to lines that are in the other's
/// cache. Others take the lowest gap among the requests that are alive at the same time. Reuses the memory of `out`.
/// Requests may be in any order.
void plan_arena(const std::vector<ArenaRequest>& requests, ArenaLayout& out);

}  // namespace retort
