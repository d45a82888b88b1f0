// A limit on the memory that several owners hold in total.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "memory/counted.h"

namespace retort {

/// Thread-safe. Must outlive the blocks that it has allocated.
class MemoryBudget {
 public:
  MemoryBudget() = default;  ///< has no limit
  MemoryBudget(const MemoryBudget&) = delete;

  /// To be called before the first block. `make_room` is called when a block does not fit: it should free blocks that
  /// are not in use.
  void set_limit(size_t bytes, std::function<void()> make_room);
  /// To be called before the first block: where blocks come from; without it, they come from the system.
  void set_memory(std::shared_ptr<CountedMemory> memory) { memory_ = std::move(memory); }
  /// The smaller one of both limits.
  size_t limit() const;
  /// Like allocate_block(); exceeding the limit is an Error (fail) that names the limit, the request and the bytes in
  /// use.
  std::shared_ptr<void> allocate(size_t bytes);

 private:
  bool take(size_t bytes);
  std::shared_ptr<void> block(size_t bytes);

  size_t limit_ = SIZE_MAX;
  std::atomic<size_t> held_{0};
  std::function<void()> make_room_;
  std::shared_ptr<CountedMemory> memory_;
};

}  // namespace retort
