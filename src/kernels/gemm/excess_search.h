// Finds pairs of weights that have an excess (codes_excess.h). Sums of a group are compared by vector instructions: loops
// of a constant length, which the compiler vectorises at every level.
#pragma once
#include <bit>
#include <cstring>

#include "kernels/gemm/codes_excess.h"

namespace retort::kernels::codes_detail {

inline constexpr size_t kPairGroup = 32;

/// Bit i is set if sum(i), the sum of pair i, is beyond kMostOfPair.
template <typename F>
inline uint32_t large_pairs(F&& sum) {
  alignas(32) uint8_t large[kPairGroup];
  for (size_t i = 0; i < kPairGroup; ++i) large[i] = uint16_t(sum(i) + kMostOfPair) > 2 * kMostOfPair;
  uint32_t bits = 0;
  for (size_t i = 0; i < kPairGroup; i += 8) {
    uint64_t flags;
    std::memcpy(&flags, large + i, sizeof(flags));
    bits |= uint32_t(flags * 0x0102040810204080 >> 56) << i;  // a bit of each byte
  }
  return bits;
}

/// Calls f(i) for each set bit i, by increasing i.
template <typename F>
inline void each_bit(uint32_t bits, F&& f) {
  for (; bits != 0; bits &= bits - 1) f(size_t(std::countr_zero(bits)));
}

/// Calls f(i) for each of n pairs with an excess, which lie one after the other.
template <typename F>
inline void each_large_pair(const int8_t* pairs, size_t n, F&& f) {
  const auto in_group = [&](const int8_t* p, size_t first) {
    const auto sum = [&](size_t i) {
      int16_t pair;
      std::memcpy(&pair, p + 2 * i, sizeof(pair));
      return int16_t(int16_t(int16_t(pair << 8) >> 8) + int16_t(pair >> 8));
    };
    each_bit(large_pairs(sum), [&](size_t i) { f(first + i); });
  };
  size_t first = 0;
  for (; first + kPairGroup <= n; first += kPairGroup) in_group(pairs + 2 * first, first);
  if (first == n) return;
  int8_t rest[2 * kPairGroup] = {};
  std::memcpy(rest, pairs + 2 * first, 2 * (n - first));
  in_group(rest, first);
}

/// The same for pairs of w0[i] and w1[i], whose sign bits `flip` inverts.
template <typename F>
inline void each_large_pair(const uint8_t* w0, const uint8_t* w1, uint8_t flip, size_t n, F&& f) {
  const auto in_group = [&](const uint8_t* p0, const uint8_t* p1, size_t first) {
    const auto sum = [&](size_t i) { return int16_t(int8_t(p0[i] ^ flip) + int8_t(p1[i] ^ flip)); };
    each_bit(large_pairs(sum), [&](size_t i) { f(first + i); });
  };
  size_t first = 0;
  for (; first + kPairGroup <= n; first += kPairGroup) in_group(w0 + first, w1 + first, first);
  if (first == n) return;
  uint8_t rest[2][kPairGroup];
  std::memset(rest, flip, sizeof(rest));
  std::memcpy(rest[0], w0 + first, n - first);
  std::memcpy(rest[1], w1 + first, n - first);
  in_group(rest[0], rest[1], first);
}

}  // namespace retort::kernels::codes_detail
