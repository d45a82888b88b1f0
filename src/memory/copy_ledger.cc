#include "memory/copy_ledger.h"

#include <algorithm>
#include <array>

namespace retort {

std::string_view copy_cause_name(CopyCause cause) {
  constexpr std::array<std::string_view, 6> kNames{"bind_input", "run_input", "border", "output", "alias", "dynamic"};
  return kNames[size_t(cause)];
}

void CopyLedger::add(CopyCause cause, std::string_view tensor, const MemorySpace& from, const MemorySpace& to,
                     size_t bytes) {
  total_.fetch_add(bytes, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  auto found = std::ranges::find_if(records_, [&](const CopyRecord& r) {
    return r.cause == cause && r.tensor == tensor && r.from == from && r.to == to;
  });
  if (found == records_.end()) {
    records_.push_back({.tensor = std::string(tensor), .cause = cause, .from = from, .to = to});
    found = records_.end() - 1;
  }
  found->bytes += bytes;
  ++found->count;
}

std::vector<CopyRecord> CopyLedger::records() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

}  // namespace retort
