#include "run/arena.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "memory/access.h"

namespace retort {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kRedZone = kAccessIsChecked ? kAlignment : 0;

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

}  // namespace

void plan_arena(const std::vector<ArenaRequest>& requests, ArenaLayout& out) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return requests[a].bytes > requests[b].bytes; });
  out.offsets.assign(requests.size(), 0);
  out.bytes = 0;
  std::vector<Reserved> reserved;
  reserved.reserve(requests.size());
  for (uint32_t i : order) {
    const ArenaRequest& r = requests[i];
    const size_t bytes = checked_add(std::max<size_t>(r.bytes, 1), kAlignment - 1 + kRedZone, "workspace size") /
                         kAlignment * kAlignment;
    const size_t at = find_gap(reserved, r, bytes);
    out.offsets[i] = at;
    const Reserved block{at, checked_add(at, bytes, "workspace size"), &r};
    out.bytes = std::max(out.bytes, block.end);
    reserved.insert(std::upper_bound(reserved.begin(), reserved.end(), block,
                                     [](const Reserved& a, const Reserved& b) { return a.begin < b.begin; }),
                    block);
  }
}

}  // namespace retort
