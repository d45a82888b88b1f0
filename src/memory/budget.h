// A limit on memory that several owners hold together.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace retort {

/// Thread-safe. Must outlive the blocks it has given.
class MemoryBudget {
 public:
  MemoryBudget() = default;  ///< without a limit
  MemoryBudget(const MemoryBudget&) = delete;

  /// Before the first block. `make_room` is called when a block does not fit: it should let go of blocks that nobody
  /// needs at the moment.
  void set_limit(size_t bytes, std::function<void()> make_room);
  size_t limit() const { return limit_; }
  /// As allocate_block(); what goes beyond the limit is an Error (fail) that tells limit, need and what is held.
  std::shared_ptr<void> allocate(size_t bytes);

 private:
  bool take(size_t bytes);

  size_t limit_ = SIZE_MAX;
  std::atomic<size_t> held_{0};
  std::function<void()> make_room_;
};

}  // namespace retort
