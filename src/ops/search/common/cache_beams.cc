#include "ops/search/common/cache_beams.h"

#include <algorithm>

#include "ops/search/common/caches.h"
#include "ops/search/common/subgraphs.h"

namespace retort::ops {

CacheBeams::CacheBeams(const SearchSpace& space, size_t decoder)
    : batch_(space.batch),
      beams_(space.beams),
      longest_(size_t(space.longest)),
      width_input_(find_input(space.bodies, decoder, kBeamWidth)),
      table_input_(find_input(space.bodies, decoder, kCacheIndirection)) {}

void CacheBeams::begin(std::vector<Value>& in) const {
  if (!used()) return;
  in[*width_input_] = Tensor::of<int32_t>({1}, {1});
  in[*table_input_] = zeros(DType::i32, {int64_t(batch_), 1, int64_t(longest_)});
}

void CacheBeams::spread(std::vector<Value>& in) {
  if (!used()) return;
  table_.resize(batch_ * beams_ * longest_);
  for (size_t i = 0; i < table_.size(); ++i) table_[i] = int32_t(i / longest_ % beams_);
  set(in);
}

void CacheBeams::go_on(std::span<const uint32_t> origins, size_t written, std::vector<Value>& in) {
  if (!used()) return;
  const std::vector<int32_t> before = table_;
  for (size_t row = 0; row < origins.size(); ++row) {
    const auto from = before.begin() + ptrdiff_t(origins[row] * longest_);
    const auto to = table_.begin() + ptrdiff_t(row * longest_);
    std::copy_n(from, written - 1, to);
    to[ptrdiff_t(written) - 1] = int32_t(origins[row] % beams_);
  }
  set(in);
}

void CacheBeams::set(std::vector<Value>& in) const {
  in[*width_input_] = Tensor::of<int32_t>({1}, {int32_t(beams_)});
  in[*table_input_] = Tensor::of<int32_t>({int64_t(batch_), int64_t(beams_), int64_t(longest_)}, table_);
}

}  // namespace retort::ops
