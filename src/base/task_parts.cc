#include "base/task_parts.h"

#include <algorithm>

namespace retort {
namespace {

constexpr int kHalf = 32;

constexpr uint64_t range(uint64_t begin, uint64_t end) { return begin | end << kHalf; }
constexpr uint64_t begin_of(uint64_t range) { return range & UINT32_MAX; }
constexpr uint64_t end_of(uint64_t range) { return range >> kHalf; }

}  // namespace

// The orders are relaxed because the pool orders what comes before and after a loop.
bool TaskParts::Part::take_first(size_t& task) {
  uint64_t now = left.load(std::memory_order_relaxed);
  while (begin_of(now) < end_of(now)) {
    task = begin_of(now);
    if (left.compare_exchange_weak(now, range(task + 1, end_of(now)), std::memory_order_relaxed)) return true;
  }
  return false;
}

bool TaskParts::Part::take_last(size_t& task) {
  uint64_t now = left.load(std::memory_order_relaxed);
  while (begin_of(now) < end_of(now)) {
    task = end_of(now) - 1;
    if (left.compare_exchange_weak(now, range(begin_of(now), task), std::memory_order_relaxed)) return true;
  }
  return false;
}

void TaskParts::begin(size_t tasks, size_t parts) {
  count_ = std::clamp<size_t>(std::min(parts, tasks), 1, parts_.size());
  for (size_t i = 0; i < count_; ++i)
    parts_[i].left.store(range(tasks * i / count_, tasks * (i + 1) / count_), std::memory_order_relaxed);
}

bool TaskParts::Taker::take(size_t& task) {
  for (; empty_ < all_.count_; ++empty_, at_ = at_ + 1 < all_.count_ ? at_ + 1 : 0) {
    Part& part = all_.parts_[at_];
    if (empty_ == 0 ? part.take_first(task) : part.take_last(task)) return true;
  }
  return false;
}

}  // namespace retort
