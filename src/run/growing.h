// Caches of keys and values that callers pass from run to run: the present values of one run are the past values of the
// next. Once a caller does so, the caches lie in blocks with spare rows, and a run appends its rows there instead of
// copying the whole cache.
#pragma once
#include <memory>
#include <vector>

#include "run/request.h"
#include "run/slot_table.h"

namespace retort {

/// The state of one cache of a plan. Not thread-safe.
class Growing {
 public:
  /// Begins a run whose past is `past` (null: none).
  void begin(const Tensor* past);
  /// The block that the past lies in; null if its rows have no gaps.
  const GrownRows* past() const { return past_; }
  /// Returns memory for the present value, which may already hold the past rows. Returns null if memory without gaps
  /// does as well. Throws if the allocation fails.
  std::shared_ptr<GrownRows> present(const Slot& made);
  /// Stores the result of the run, which the caller may pass to the next one.
  void remember(const Tensor& present);

 private:
  // When a caller reads the present value as dense rows, it pays for a copy. This many runs after that use no blocks
  // with gaps.
  static constexpr uint32_t kRest = 8, kMostRest = 1024;
  std::weak_ptr<void> last_;  // the owner of the last present value
  bool last_grown_ = false;
  uint32_t rest_ = 0, next_rest_ = kRest;
  const GrownRows* past_ = nullptr;  // of the run in progress
  bool handed_back_ = false;         // whether the past of the run in progress is the last present value
};

/// The caches of a plan, found by input and by output. Not thread-safe.
class GrowingCaches {
 public:
  explicit GrowingCaches(const Plan& plan);
  /// Begins a run.
  void begin(const RunRequest& request);
  bool is_output(size_t output) const { return by_output_[output] != kNever; }
  /// The block that an input lies in; null if it is not a cache or has no gaps.
  const GrownRows* past(size_t input) const {
    return by_input_[input] == kNever ? nullptr : caches_[by_input_[input]].past();
  }
  /// Growing::present() for an output that is a cache.
  std::shared_ptr<GrownRows> present(size_t output, const Slot& made) {
    return caches_[by_output_[output]].present(made);
  }
  void remember(size_t output, const Tensor& present) { caches_[by_output_[output]].remember(present); }

 private:
  const Plan& plan_;
  std::vector<Growing> caches_;                 ///< in the order of the plan
  std::vector<uint32_t> by_input_, by_output_;  ///< the index of the cache, or kNever
};

}  // namespace retort
