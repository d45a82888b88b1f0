// Lists that a caller reads in two calls: the number first, then all entries, into an array of that size.
#pragma once
#include "abi/handle.h"

namespace retort::abi {

/// Copies the result of `of` for each entry of `from`. Throws if the array is too small; the rest of a larger one is
/// unchanged.
template <typename List, typename T, typename Of>
void fill_list(const List& from, T* to, size_t room, const char* what, Of of) {
  require(room >= from.size(), ErrorCode::invalid_argument, "{} has room for {} of {}; ask for their number first",
          what, room, from.size());
  if (!from.empty()) need(to, what);
  size_t i = 0;
  for (const auto& item : from) to[i++] = of(item);
}

}  // namespace retort::abi
