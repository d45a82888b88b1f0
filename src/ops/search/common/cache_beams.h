// The inputs `beam_width` and `cache_indirection` of a decoder. It reads positions of caches from the rows of other beams,
// so that caches stay where they are when beams change.
#pragma once
#include <optional>
#include <vector>

#include "ops/search/common/token_model.h"

namespace retort::ops {

class CacheBeams {
 public:
  CacheBeams(const SearchSpace& space, size_t decoder);
  /// Whether the decoder has the inputs; without them, the other functions do nothing.
  bool used() const { return table_input_.has_value(); }
  /// Sets the inputs of a run with one row for each entry of the batch.
  void begin(std::vector<Value>& in) const;
  /// Sets those of the first run with one row for each beam, whose caches are copies of those of its entry.
  void spread(std::vector<Value>& in);
  /// Sets those of a later run. Row i goes on from row origins[i]; `written` positions are filled, the last of them by
  /// the run before.
  void go_on(std::span<const uint32_t> origins, size_t written, std::vector<Value>& in);

 private:
  void set(std::vector<Value>& in) const;

  size_t batch_, beams_, longest_;
  std::optional<size_t> width_input_, table_input_;
  std::vector<int32_t> table_;  ///< [batch, beams, longest]: the beam of the entry that wrote a position
};

}  // namespace retort::ops
