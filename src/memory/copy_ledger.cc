#include "memory/copy_ledger.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/json.h"
#include "base/text_file.h"

namespace retort {

std::string_view copy_cause_name(CopyCause cause) {
  constexpr std::array<std::string_view, 6> kNames{"bind_input", "run_input", "border", "output", "alias", "dynamic"};
  return kNames[size_t(cause)];
}

void CopyLedger::add(CopyCause cause, std::string_view tensor, const MemorySpace& from, const MemorySpace& to,
                     size_t bytes) {
  if (session_) session_->add(cause, tensor, from, to, bytes);
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

std::string CopyLedger::json() const {
  JsonWriter json;
  json.open('{').field("total_bytes", total_bytes()).key("copies").open('[');
  for (const CopyRecord& r : records()) {
    const auto side = [](const MemorySpace& s) { return s.host_readable() ? "host" : "device"; };
    json.open('{').field("tensor", std::string_view(r.tensor)).field("cause", copy_cause_name(r.cause));
    json.field("direction", std::string_view(cat("{}_to_{}", side(r.from), side(r.to))));
    json.field("from", std::string_view(to_string(r.from))).field("to", std::string_view(to_string(r.to)));
    json.field("bytes", r.bytes).field("count", r.count).close('}');
  }
  json.close(']').close('}');
  return json.take();
}

void CopyLedger::write(const std::string& path) const {
  TextFile file(path, "the list of copies");
  file.put(json() + "\n");
  file.finish();
}

}  // namespace retort
