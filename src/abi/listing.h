// Lists that a caller asks for in two calls: how many, then all of them into an array of that size.
#pragma once
#include "abi/handle.h"

namespace retort::abi {

/// Copies what `of` makes of each of `from`. Too small an array is an error; of a longer one the rest is left alone.
template <typename List, typename T, typename Of>
void fill_list(const List& from, T* to, size_t room, const char* what, Of of) {
  require(room >= from.size(), ErrorCode::invalid_argument, "{} has room for {} of {}; ask for their number first",
          what, room, from.size());
  if (!from.empty()) need(to, what);
  size_t i = 0;
  for (const auto& item : from) to[i++] = of(item);
}

}  // namespace retort::abi
