#include "memory/budget.h"

#include <algorithm>

#include "base/error.h"
#include "memory/host.h"

namespace retort {

void MemoryBudget::set_limit(size_t bytes, std::function<void()> make_room) {
  limit_ = bytes;
  make_room_ = std::move(make_room);
}

size_t MemoryBudget::limit() const {
  const size_t shared = memory_ ? memory_->limit() : 0;
  return shared ? std::min(limit_, shared) : limit_;
}

std::shared_ptr<void> MemoryBudget::block(size_t bytes) {
  return memory_ ? memory_->workspace(bytes) : allocate_block(bytes);
}

bool MemoryBudget::take(size_t bytes) {
  size_t held = held_.load();
  do {
    if (bytes > limit_ || held > limit_ - bytes) return false;
  } while (!held_.compare_exchange_weak(held, held + bytes));
  return true;
}

std::shared_ptr<void> MemoryBudget::allocate(size_t bytes) {
  if (limit_ == SIZE_MAX) return block(bytes);
  if (!take(bytes)) {
    make_room_();
    if (!take(bytes)) {
      fail(ErrorCode::fail,
           "{} bytes are needed, but the session's budget is {} bytes, of which other runs hold {}; raise "
           "session.memory_budget_bytes or run on smaller inputs",
           bytes, limit_, held_.load());
    }
  }
  std::shared_ptr<void> made;
  try {
    made = block(bytes);
  } catch (...) {
    held_ -= bytes;
    throw;
  }
  void* const data = made.get();
  return {data, [this, bytes, made = std::move(made)](void*) mutable {
            made = nullptr;
            held_ -= bytes;
          }};
}

}  // namespace retort
