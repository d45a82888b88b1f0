#include "memory/budget.h"

#include "base/error.h"
#include "memory/host.h"

namespace retort {

void MemoryBudget::set_limit(size_t bytes, std::function<void()> make_room) {
  limit_ = bytes;
  make_room_ = std::move(make_room);
}

bool MemoryBudget::take(size_t bytes) {
  size_t held = held_.load();
  do {
    if (bytes > limit_ || held > limit_ - bytes) return false;
  } while (!held_.compare_exchange_weak(held, held + bytes));
  return true;
}

std::shared_ptr<void> MemoryBudget::allocate(size_t bytes) {
  if (limit_ == SIZE_MAX) return allocate_block(bytes);
  if (!take(bytes)) {
    make_room_();
    if (!take(bytes)) {
      fail(ErrorCode::fail,
           "{} bytes are needed, but the session's budget is {} bytes, of which other runs hold {}; raise "
           "session.memory_budget_bytes or run on smaller inputs",
           bytes, limit_, held_.load());
    }
  }
  std::shared_ptr<void> block;
  try {
    block = allocate_block(bytes);
  } catch (...) {
    held_ -= bytes;
    throw;
  }
  void* const data = block.get();
  return {data, [this, bytes, block = std::move(block)](void*) mutable {
            block = nullptr;
            held_ -= bytes;
          }};
}

}  // namespace retort
