// What the tests of this family share.
#pragma once
#include <string>
#include <vector>

#include "ops/op_test.h"

namespace retort::ops {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;
using Strings = std::vector<std::string>;

/// n numbers between -1 and 1, the same for equal arguments.
inline Floats some(size_t n, uint32_t seed) {
  const Tensor t = random({int64_t(n)}, seed, -1, 1);
  return {t.data<float>(), t.data<float>() + n};
}

}  // namespace retort::ops
