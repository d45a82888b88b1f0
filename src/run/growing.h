// Caches of keys and values that callers hand from run to run: the present ones of a run are the past ones of the next.
// Once that shows, they lie in blocks with room for more rows, where a run adds its rows in place of copying all.
#pragma once
#include <memory>
#include <vector>

#include "run/request.h"
#include "run/slot_table.h"

namespace retort {

/// What a frame knows of one cache of its plan. Not thread-safe.
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

/// The caches of a plan, by the inputs and outputs that they are. Not thread-safe.
class GrowingCaches {
 public:
  explicit GrowingCaches(const Plan& plan);
  /// A run begins.
  void begin(const RunRequest& request);
  bool is_output(size_t output) const { return by_output_[output] != kNever; }
  /// Where an input lies, if in a block; null: without gaps, or it is no cache.
  const GrownRows* past(size_t input) const {
    return by_input_[input] == kNever ? nullptr : caches_[by_input_[input]].past();
  }
  /// As of Growing, for an output that is a cache.
  std::shared_ptr<GrownRows> present(size_t output, const Slot& made) {
    return caches_[by_output_[output]].present(made);
  }
  void remember(size_t output, const Tensor& present) { caches_[by_output_[output]].remember(present); }

 private:
  const Plan& plan_;
  std::vector<Growing> caches_;                 ///< as in the plan
  std::vector<uint32_t> by_input_, by_output_;  ///< the cache, or kNever
};

}  // namespace retort
