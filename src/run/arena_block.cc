#include "run/arena_block.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "memory/access.h"
#include "memory/spare.h"

namespace retort {
namespace {

size_t total_bytes(const std::vector<ArenaRequest>& requests) {
  size_t sum = 0;
  for (const ArenaRequest& r : requests) sum += r.bytes;
  return sum;
}

bool fits(const ArenaRequest& r, const ArenaRequest& planned) {
  return r.bytes <= planned.bytes && r.first == planned.first && r.last == planned.last && r.branch == planned.branch &&
         r.own_first == planned.own_first && r.own_last == planned.own_last;
}

}  // namespace

// Plans with extra room for the requests that outgrew the last plan.
void ArenaBlock::plan_with_room(const std::vector<ArenaRequest>& requests) {
  const bool grows = planned_.size() == requests.size();
  const std::vector<ArenaRequest> last = std::exchange(planned_, requests);
  for (size_t i = 0; grows && i < last.size(); ++i) {
    size_t& bytes = planned_[i].bytes;
    bytes = bytes > last[i].bytes ? round_up(checked_add(bytes, bytes / 4 + 255, "workspace size") - 255, 256)
                                  : last[i].bytes;
  }
  plan_arena(planned_, layout_);
}

void ArenaBlock::fit(const std::vector<ArenaRequest>& requests, size_t limit,
                     FunctionRef<std::shared_ptr<void>(size_t)> allocate) {
  asked_ = total_bytes(requests);
  most_asked_ = std::max(most_asked_, asked_);
  if (std::equal(requests.begin(), requests.end(), planned_.begin(), planned_.end(), fits)) return;
  try {
    plan_with_room(requests);
    if (layout_.bytes > limit) {
      planned_ = requests;
      plan_arena(planned_, layout_);
    }
    if (layout_.bytes > bytes_) take(allocate);
  } catch (...) {
    planned_.clear();  // so that nothing uses these offsets
    throw;
  }
}

void ArenaBlock::take(FunctionRef<std::shared_ptr<void>(size_t)> allocate) {
  memory_ = nullptr;  // frees the old block before it allocates the new one
  bytes_ = 0;
  memory_ = allocate(layout_.bytes);
  bytes_ = layout_.bytes;
}

bool ArenaBlock::trim() {
  const bool roomy = total_bytes(planned_) > 2 * most_asked_ || bytes_ > 2 * layout_.bytes;
  most_asked_ = asked_;
  if (!roomy || bytes_ < kWorthTrimming) return false;
  give_back();
  return true;
}

void ArenaBlock::give_back() {
  planned_.clear();
  layout_ = {};
  memory_ = nullptr;
  bytes_ = 0;
}

size_t ArenaBlock::in_use(uint32_t step) const {
  size_t bytes = 0;
  for (const ArenaRequest& r : planned_) {
    const auto [first, last] = r.branch ? std::pair(r.own_first, r.own_last) : std::pair(r.first, r.last);
    if (first <= step && step <= last) bytes += r.bytes;
  }
  return bytes;
}

void ArenaBlock::guard(uint32_t step) const {
  forbid_access(data(), bytes_);
  for (size_t i = 0; i < planned_.size(); ++i) {
    if (planned_[i].first <= step && step <= planned_[i].last) allow_access(at(i), planned_[i].bytes);
  }
}

}  // namespace retort
