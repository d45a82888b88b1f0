#include "ops/nn/common/attention.h"

namespace retort::ops {

double AttentionMask::at(const AttentionShape& s, size_t b, size_t h, size_t i, size_t j) const {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const int64_t before = valid.empty() ? int64_t(s.past_len) : valid[b] - int64_t(s.q_len);
  const int64_t position = before + int64_t(i), key = int64_t(j);
  if (causal && key > position) return kNever;
  if ((left >= 0 && position - key > left) || (right >= 0 && key - position > right)) return kNever;
  if (!valid.empty() && key >= valid[b]) return kNever;
  if (bias.empty()) return 0;
  const size_t at[] = {b, h, i, j};
  size_t index = 0;
  const size_t rank = shape.rank();
  if (rank > 0 && int64_t(j) >= shape.back() && shape.back() != 1) return kNever;  // a short mask ends in -inf
  for (size_t d = 0; d < rank; ++d) {
    const size_t extent = size_t(shape[d]);
    index = index * extent + (extent == 1 ? 0 : at[4 - rank + d]);
  }
  return bias[index];
}

}  // namespace retort::ops
