// Shared by the tests of data movement: numbered elements of every kind, shapes and naive index arithmetic.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "kernels/elementwise/kernel_testing.h"
#include "kernels/move/mover.h"

namespace retort::kernels::testing {

using Dims = std::vector<int64_t>;

struct Block16 {
  uint64_t a, b;
  bool operator==(const Block16&) const = default;
};

inline size_t count(const Dims& d) {
  size_t n = 1;
  for (const int64_t e : d) n *= size_t(e);
  return n;
}

/// Coordinates of element i of a row-major tensor, and back.
inline Dims coordinates(size_t i, const Dims& shape) {
  Dims c(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    c[d] = int64_t(i % size_t(shape[d]));
    i /= size_t(shape[d]);
  }
  return c;
}
inline size_t offset(const Dims& c, const Dims& shape) {
  size_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) at = at * size_t(shape[d]) + size_t(c[d]);
  return at;
}

template <typename T>
T element(size_t i) {
  if constexpr (std::is_same_v<T, std::string>) return "element number " + std::to_string(i);
  if constexpr (std::is_same_v<T, Block16>) return {i, ~i};
  if constexpr (std::is_integral_v<T>) return T(i * 167 + 13);
}

/// element(0), element(1), …
template <typename T>
std::vector<T> numbered(size_t n) {
  std::vector<T> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = element<T>(i);
  return v;
}

template <typename T>
const Mover& mover_of() {
  if constexpr (std::is_same_v<T, std::string>) return string_mover();
  return byte_mover(sizeof(T));
}

template <typename T>
class MoveKernel : public ::testing::Test {
 protected:
  const Parallel& par() const { return parallel_; }
  const Mover& mover() const { return mover_of<T>(); }

 private:
  ThreadPool pool_{{.threads = 3}};
  Parallel parallel_{&pool_, nullptr};
};

using ElementTypes = ::testing::Types<uint8_t, uint16_t, uint32_t, uint64_t, Block16, std::string>;

}  // namespace retort::kernels::testing
