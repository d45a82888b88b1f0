#include "run/arena.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "memory/access.h"

namespace retort {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kRedZone = kAccessIsChecked ? kAlignment : 0;

struct Placed {
  size_t begin, end;
  const ArenaRequest* request;
};

bool live_together(const ArenaRequest& a, const ArenaRequest& b) {
  if (a.branch != 0 && a.branch == b.branch) return a.own_last >= b.own_first && a.own_first <= b.own_last;
  return a.last >= b.first && a.first <= b.last;
}

// Finds the lowest offset at which `bytes` bytes fit between the placed blocks (sorted by offset) that are alive at the
// same time as the request.
size_t find_gap(const std::vector<Placed>& placed, const ArenaRequest& r, size_t bytes) {
  size_t at = 0;
  for (const Placed& p : placed) {
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
  std::vector<Placed> placed;
  placed.reserve(requests.size());
  for (uint32_t i : order) {
    const ArenaRequest& r = requests[i];
    const size_t bytes = checked_add(std::max<size_t>(r.bytes, 1), kAlignment - 1 + kRedZone, "workspace size") /
                         kAlignment * kAlignment;
    const size_t at = find_gap(placed, r, bytes);
    out.offsets[i] = at;
    const Placed block{at, checked_add(at, bytes, "workspace size"), &r};
    out.bytes = std::max(out.bytes, block.end);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), block,
                                   [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
                  block);
  }
}

}  // namespace retort
