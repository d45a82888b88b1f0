// Who goes when in measurements of several engines.
#pragma once
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace retort::cli {

/// The order of round `round`: first to last, then last to first, so that each goes first equally often.
inline std::vector<size_t> turns(size_t round, size_t engines) {
  std::vector<size_t> order(engines);
  std::iota(order.begin(), order.end(), size_t(0));
  if (round % 2) std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace retort::cli
