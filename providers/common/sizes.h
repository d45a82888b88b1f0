// Arithmetic on sizes, and the padding of windows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace providers {

/// a / b rounded up; b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
/// `value` rounded up to a multiple of `step` (a power of two).
constexpr size_t round_up(size_t value, size_t step) { return (value + step - 1) & ~(step - 1); }

/// Of one axis: before its first element and behind its last.
struct Padding {
  int64_t begin = 0, end = 0;
};
/// The padding of an axis of `size` elements for a window that covers `span` of them: what `auto_pad` says, or else
/// what is given.
Padding resolve_padding(const std::string& auto_pad, Padding given, int64_t size, int64_t span, int64_t stride);
bool is_same(const std::string& auto_pad);
/// Places beyond the first where the window may stand. Throws Error where there is not even one.
int64_t window_room(int64_t size, int64_t span, Padding padding);

}  // namespace providers
