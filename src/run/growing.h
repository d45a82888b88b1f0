// Caches of keys and values that callers hand from run to run: the present ones of a run are the past ones of the next.
// Once that shows, they lie in blocks with room for more rows, where a run adds its rows in place of copying all.
#pragma once
#include <memory>

#include "ops/slot.h"

namespace retort {

/// What a frame knows of one cache. Not thread-safe.
class Growing {
 public:
  /// A run begins whose past is `past` (null: none).
  void begin(const Tensor* past);
  /// Where the past lies, if in a block; null: without gaps.
  const GrownRows* past() const { return past_; }
  /// Memory for the present of that type, in which the past rows may be in place already; null: memory without gaps does as
  /// well. Throws when there is none.
  std::shared_ptr<GrownRows> present(const Slot& made);
  /// What the run made: the next one may be given it back.
  void remember(const Tensor& present);

 private:
  // A caller that reads the present pays for a copy without gaps: after that so many runs make none with gaps.
  static constexpr uint32_t kRest = 8, kMostRest = 1024;
  std::weak_ptr<void> last_;  // owner of the last present
  bool last_grown_ = false;
  uint32_t rest_ = 0, next_rest_ = kRest;
  const GrownRows* past_ = nullptr;  // of the run in progress
  bool handed_back_ = false;         // likewise: its past is the last present
};

}  // namespace retort
