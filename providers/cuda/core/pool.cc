#include "pool.h"

#include <algorithm>
#include <iterator>

namespace providers::cuda {
namespace {

// The driver aligns segments to 512 bytes or more.
constexpr size_t kGrain = 512;
constexpr size_t kSmallSegment = size_t(2) << 20;
// Requests up to kMedium are cut from segments of kMediumSegment; larger ones get a segment of their own, in steps of
// kStep: the driver maps memory in pages of 2 MiB.
constexpr size_t kMedium = size_t(10) << 20, kMediumSegment = size_t(20) << 20, kStep = size_t(2) << 20;
// Free chunks that are looked at before another way is tried. Each look may ask the driver about an event.
constexpr int kLooks = 32;

size_t rounded(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

}  // namespace

std::shared_ptr<CUevent> Events::record(CUstream stream) {
  const Driver& d = driver();
  CUevent event = nullptr;
  if (!idle_->empty()) {
    event = idle_->back();
    idle_->pop_back();
  } else if (d.event_create(&event, kEventDisableTiming) != 0) {
    return nullptr;
  }
  const std::shared_ptr<CUevent> recorded(new CUevent(event), [idle = idle_](CUevent* e) {
    idle->push_back(*e);
    delete e;
  });
  return d.event_record(event, stream) == 0 ? recorded : nullptr;
}

/// Forgets marks that were reached. Whether work that is ordered on `stream` from now on may use the chunk.
bool Pool::is_done(Chunk& chunk, CUstream stream) {
  std::erase_if(chunk.marks, [](const Mark& m) { return driver().event_query(*m.event) != kNotReady; });
  return std::all_of(chunk.marks.begin(), chunk.marks.end(),
                     [&](const Mark& m) { return stream && m.stream == stream; });
}

Address Pool::allocate(size_t bytes, CUstream stream, bool orders) {
  if (bytes > SIZE_MAX - kMediumSegment) return 0;
  const size_t wanted = rounded(std::max<size_t>(bytes, 1), kGrain);
  auto at = find(wanted, stream);
  // A stream can wait for another one without the host: cheaper than new memory. A use that is not ordered on a stream
  // cannot wait that way.
  if (at == chunks_.end() && orders) at = find_by_waiting(wanted, stream, true);
  if (at == chunks_.end() && grow(wanted)) at = find(wanted, stream);
  if (at == chunks_.end()) at = find_by_waiting(wanted, stream, false);
  if (at == chunks_.end()) {
    trim(true);
    if (grow(wanted)) at = find(wanted, stream);
  }
  return at == chunks_.end() ? 0 : use(at, wanted);
}

/// The smallest free chunk that can be used without waiting.
Pool::Chunks::iterator Pool::find(size_t bytes, CUstream stream) {
  Fit& fit = free_[bytes > kSmall];
  int looks = 0;
  for (auto i = fit.lower_bound({bytes, 0}); i != fit.end() && looks < kLooks; ++i, ++looks) {
    const auto at = chunks_.find(i->second);
    if (is_done(at->second, stream)) return at;
  }
  return chunks_.end();
}

/// The smallest free chunk. The stream is told to wait (`orders`), or the host waits.
Pool::Chunks::iterator Pool::find_by_waiting(size_t bytes, CUstream stream, bool orders) {
  Fit& fit = free_[bytes > kSmall];
  const auto i = fit.lower_bound({bytes, 0});
  if (i == fit.end()) return chunks_.end();
  const auto at = chunks_.find(i->second);
  for (const Mark& m : at->second.marks) {
    if (!orders)
      driver().event_synchronize(*m.event);
    else if (m.stream != stream && driver().stream_wait_event(stream, *m.event, 0) != 0)
      return chunks_.end();
  }
  if (!orders) at->second.marks.clear();  // only the host has waited for all: what is cut off may go to another stream
  return at;
}

/// Segments of comfortable sizes first, then what is just enough, since the limit or the device may have no more.
bool Pool::grow(size_t bytes) {
  const bool large = bytes > kSmall;
  const size_t pages = rounded(bytes, kStep);
  size_t comfortable = large ? pages : kSmallSegment;
  if (large && bytes <= kMedium) comfortable = kMediumSegment;
  return add_segment(comfortable, large) || (pages < comfortable && add_segment(pages, large)) ||
         (bytes < pages && add_segment(bytes, large));
}

bool Pool::add_segment(size_t bytes, bool large) {
  if (statistics_.limit && (bytes > statistics_.limit || statistics_.reserved > statistics_.limit - bytes))
    return false;
  const Address address = source_.take(bytes);
  if (!address) return false;
  segments_[address] = {bytes, large};
  Chunk chunk;
  chunk.bytes = bytes;
  chunk.segment = address;
  fit(chunk).insert({bytes, address});
  chunks_[address] = chunk;
  statistics_.reserved += bytes;
  ++statistics_.from_driver;
  return true;
}

Address Pool::use(Chunks::iterator at, size_t bytes) {
  Chunk& chunk = at->second;
  const Address address = at->first;
  Fit& sizes = fit(chunk);
  sizes.erase({chunk.bytes, address});
  if (chunk.bytes - bytes >= kGrain) {
    // Both parts have the marks: those of the part in use are not needed, since it waited for them or follows them. The
    // rest may go to another stream.
    Chunk rest = chunk;
    rest.bytes = chunk.bytes - bytes;
    chunk.bytes = bytes;
    sizes.insert({rest.bytes, address + bytes});
    chunks_.emplace_hint(std::next(at), address + bytes, std::move(rest));
  }
  chunk.used = true;
  chunk.marks.clear();
  ++statistics_.allocations;
  statistics_.in_use += chunk.bytes;
  statistics_.most_in_use = std::max(statistics_.most_in_use, statistics_.in_use);
  return address;
}

bool Pool::owns(Address address) const {
  const auto at = chunks_.find(address);
  return at != chunks_.end() && at->second.used;
}

void Pool::release(Address address, const std::vector<Mark>& marks) {
  auto at = chunks_.find(address);
  if (at == chunks_.end() || !at->second.used) return;
  at->second.used = false;
  at->second.marks = marks;
  statistics_.in_use -= at->second.bytes;
  const auto after = std::next(at);
  if (after != chunks_.end() && !after->second.used && after->second.segment == at->second.segment) merge(at);
  if (at != chunks_.begin()) {
    const auto before = std::prev(at);
    if (!before->second.used && before->second.segment == at->second.segment) {
      fit(before->second).erase({before->second.bytes, before->first});
      at = merge(before);
    }
  }
  fit(at->second).insert({at->second.bytes, at->first});
}

/// Joins a chunk that is in no list of free chunks with the free one after it.
Pool::Chunks::iterator Pool::merge(Chunks::iterator at) {
  const auto after = std::next(at);
  fit(after->second).erase({after->second.bytes, after->first});
  at->second.bytes += after->second.bytes;
  std::vector<Mark>& marks = at->second.marks;
  marks.insert(marks.end(), after->second.marks.begin(), after->second.marks.end());
  std::erase_if(marks, [](const Mark& m) { return driver().event_query(*m.event) != kNotReady; });
  chunks_.erase(after);
  return at;
}

void Pool::forget(CUstream stream) {
  for (auto& [address, chunk] : chunks_)
    for (Mark& m : chunk.marks)
      if (m.stream == stream) m.stream = nullptr;
}

void Pool::trim(bool waits) {
  for (auto at = chunks_.begin(); at != chunks_.end();) {
    Chunk& chunk = at->second;
    const bool whole = !chunk.used && chunk.bytes == segments_.at(chunk.segment).bytes;
    if (whole && waits)
      for (const Mark& m : chunk.marks) driver().event_synchronize(*m.event);
    if (!whole || !is_done(chunk, nullptr)) {
      ++at;
      continue;
    }
    fit(chunk).erase({chunk.bytes, at->first});
    segments_.erase(chunk.segment);
    statistics_.reserved -= chunk.bytes;
    source_.give(at->first);
    at = chunks_.erase(at);
  }
}

}  // namespace providers::cuda
