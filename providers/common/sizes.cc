#include "sizes.h"

#include <algorithm>

#include "api.h"

namespace providers {

bool is_same(const std::string& auto_pad) { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }

Padding resolve_padding(const std::string& auto_pad, Padding given, int64_t size, int64_t span, int64_t stride) {
  if (auto_pad == "VALID") return {};
  if (!is_same(auto_pad)) return given;
  const int64_t all = std::max<int64_t>(0, (ceil_div(size, stride) - 1) * stride + span - size);
  const int64_t begin = auto_pad == "SAME_UPPER" ? all / 2 : all - all / 2;
  return {begin, all - begin};
}

int64_t window_room(int64_t size, int64_t span, Padding padding) {
  const int64_t room = size + padding.begin + padding.end - span;
  if (room < 0)
    throw Error(text("a window of ", span, " does not fit size ", size, " with its padding"), ORT_INVALID_ARGUMENT);
  return room;
}

}  // namespace providers
