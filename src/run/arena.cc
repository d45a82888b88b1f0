#include "run/arena.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "memory/access.h"

namespace retort {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kRedZone = kAccessIsChecked ? kAlignment : 0;
/// Smaller values take the lowest place: moving their lines between processors takes about a microsecond.
constexpr size_t kLeastCentered = 16 << 10;

struct Reserved {
  size_t begin, end;
  const ArenaRequest* request;
};

bool live_together(const ArenaRequest& a, const ArenaRequest& b) {
  if (a.branch != 0 && a.branch == b.branch) return a.own_last >= b.own_first && a.own_first <= b.own_last;
  return a.last >= b.first && a.first <= b.last;
}

// Finds the lowest offset at which `bytes` bytes fit between the reserved blocks (sorted by offset) that are alive at
// the same time as the request.
size_t find_gap(const std::vector<Reserved>& reserved, const ArenaRequest& r, size_t bytes) {
  size_t at = 0;
  for (const Reserved& p : reserved) {
    if (!live_together(*p.request, r)) continue;
    if (p.begin >= at && p.begin - at >= bytes) break;
    at = std::max(at, p.end);
  }
  return at;
}

// The middles of those blocks that are not in the middle of another: usually the largest of a chain of values, and the
// next largest, which is alive at the same time. A few, so that planning stays fast.
class Middles {
 public:
  /// Where `bytes` bytes lie in the middle of earlier ones, below `limit`, if they are free there.
  std::optional<size_t> find(const std::vector<Reserved>& reserved, const ArenaRequest& r, size_t bytes,
                             size_t limit) const {
    for (const size_t middle : middles_) {
      if (middle < bytes / 2) continue;
      const size_t begin = (middle - bytes / 2) / kAlignment * kAlignment, end = begin + bytes;
      const auto is_free = [&](const Reserved& p) {
        return p.begin >= end || p.end <= begin || !live_together(*p.request, r);
      };
      if (end <= limit && std::all_of(reserved.begin(), reserved.end(), is_free)) return begin;
    }
    return std::nullopt;
  }
  void add(size_t begin, size_t bytes) {
    if (middles_.size() < kMost) middles_.push_back(begin + bytes / 2);
  }

 private:
  static constexpr size_t kMost = 4;
  std::vector<size_t> middles_;
};

void plan_in_order(const std::vector<ArenaRequest>& requests, const std::vector<uint32_t>& order, bool centered,
                   ArenaLayout& out) {
  out.offsets.assign(requests.size(), 0);
  out.bytes = 0;
  Middles middles;
  std::vector<Reserved> reserved;
  reserved.reserve(requests.size());
  for (uint32_t i : order) {
    const ArenaRequest& r = requests[i];
    const size_t bytes = checked_add(std::max<size_t>(r.bytes, 1), kAlignment - 1 + kRedZone, "workspace size") /
                         kAlignment * kAlignment;
    std::optional<size_t> at;
    if (centered && bytes >= kLeastCentered) at = middles.find(reserved, r, bytes, out.bytes);
    if (!at) {
      at = find_gap(reserved, r, bytes);
      middles.add(*at, bytes);
    }
    out.offsets[i] = *at;
    const Reserved block{*at, checked_add(*at, bytes, "workspace size"), &r};
    out.bytes = std::max(out.bytes, block.end);
    reserved.insert(std::upper_bound(reserved.begin(), reserved.end(), block,
                                     [](const Reserved& a, const Reserved& b) { return a.begin < b.begin; }),
                    block);
  }
}

}  // namespace

void plan_arena(const std::vector<ArenaRequest>& requests, ArenaLayout& out) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return requests[a].bytes > requests[b].bytes; });
  plan_in_order(requests, order, false, out);
  if (order.empty() || requests[order.front()].bytes < kLeastCentered) return;
  ArenaLayout centered;
  plan_in_order(requests, order, true, centered);
  if (centered.bytes <= out.bytes) std::swap(out, centered);
}

}  // namespace retort
