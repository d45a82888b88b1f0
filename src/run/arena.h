// Offsets in one block of memory for values whose lifetimes are known.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace retort {

struct ArenaRequest {
  size_t bytes = 0;
  uint32_t first = 0, last = 0;  ///< steps, inclusive, during which the memory is in use
  uint32_t branch = 0;           ///< not 0: requests of the same one go by the steps that follow in place of these
  uint32_t own_first = 0, own_last = 0;
};

struct ArenaLayout {
  std::vector<size_t> offsets;  ///< per request, multiples of 64
  size_t bytes = 0;
};

/// Best fit by size: larger requests choose first, each takes the lowest gap among the requests that live at the same
/// time. Keeps `out`'s memory. Requests may be in any order.
void plan_arena(const std::vector<ArenaRequest>& requests, ArenaLayout& out);

}  // namespace retort
