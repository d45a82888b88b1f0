// The memory of one segment: a block that is divided among requests. The class knows sizes and lifetimes, but no values
// and no operators.
#pragma once
#include <memory>
#include <vector>

#include "base/function_ref.h"
#include "run/arena.h"

namespace retort {

/// Not thread-safe.
class ArenaBlock {
 public:
  /// Assigns an offset to every request. The offsets stay while every request fits the size for which they were
  /// planned. The second plan leaves room to grow, unless that takes more than `limit` bytes in all, so that a cache
  /// that grows by one row per run rarely needs a new plan. A block that is too small is freed before `allocate` is
  /// called; if that throws, no block is left.
  void fit(const std::vector<ArenaRequest>& requests, size_t limit,
           FunctionRef<std::shared_ptr<void>(size_t bytes)> allocate);
  /// The address at which the memory of a request begins.
  std::byte* at(size_t request) const { return data() + layout_.offsets[request]; }
  size_t bytes() const { return bytes_; }
  /// The bytes of the requests that are alive at the step; of those of branches, the ones of its own branch.
  size_t in_use(uint32_t step) const;

  /// Frees the block if it is more than twice as large as what the requests needed since the last call. Returns whether
  /// it did.
  bool trim();
  void give_back();
  /// For AddressSanitizer: allows access only to memory that is in use at the step.
  void guard(uint32_t step) const;

 private:
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  void plan_with_room(const std::vector<ArenaRequest>& requests);
  void take(FunctionRef<std::shared_ptr<void>(size_t)> allocate);

  std::vector<ArenaRequest> planned_;  ///< the requests for which the offsets were planned; `bytes` are capacities
  ArenaLayout layout_;
  std::shared_ptr<void> memory_;
  size_t bytes_ = 0;
  size_t asked_ = 0, most_asked_ = 0;  ///< bytes of all requests: now, and the maximum since the last trim
};

}  // namespace retort
