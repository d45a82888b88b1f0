// The memory of one segment: a block that is cut for requests. Knows sizes and lifetimes, neither values nor steps'
// operators.
#pragma once
#include <memory>
#include <vector>

#include "base/function_ref.h"
#include "run/arena.h"

namespace retort {

/// Not thread-safe.
class ArenaBlock {
 public:
  /// Cuts the block for these requests. The offsets stay while every request fits what they were planned for; a second
  /// plan leaves room to grow, unless that takes more than `limit` bytes in all, so that a cache that grows by one row a
  /// run is planned anew only once in a while. A block that is too small goes before `allocate` is called; if that
  /// throws, there is none.
  void fit(const std::vector<ArenaRequest>& requests, size_t limit,
           FunctionRef<std::shared_ptr<void>(size_t bytes)> allocate);
  /// Where the memory of a request begins.
  std::byte* at(size_t request) const { return data() + layout_.offsets[request]; }
  size_t bytes() const { return bytes_; }

  /// Gives the block back if it has more than twice what requests asked for since the last call; true: it did.
  bool trim();
  void give_back();
  /// For AddressSanitizer: only what is in use at the step may be touched.
  void guard(uint32_t step) const;

 private:
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  void plan_with_room(const std::vector<ArenaRequest>& requests);
  void take(FunctionRef<std::shared_ptr<void>(size_t)> allocate);

  std::vector<ArenaRequest> planned_;  ///< what the offsets were planned for; bytes are capacities
  ArenaLayout layout_;
  std::shared_ptr<void> memory_;
  size_t bytes_ = 0;
  size_t asked_ = 0, most_asked_ = 0;  ///< bytes of all requests: now, and at most since the last trim
};

}  // namespace retort
