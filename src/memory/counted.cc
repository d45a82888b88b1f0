#include "memory/counted.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "memory/access.h"
#include "memory/host.h"

namespace retort {
namespace {

constexpr size_t kBlockAlignment = 64;

/// An aligned address in memory of the source, which may align less.
std::shared_ptr<void> from_source(const std::shared_ptr<Allocator>& source, size_t held) {
  void* const whole = source->allocate(held);
  require(whole != nullptr, ErrorCode::fail, "the environment's allocator has no {} bytes; free some", held);
  void* at = whole;
  size_t room = held;
  std::align(kBlockAlignment, held - (kBlockAlignment - 1), at, room);
  return {at, [source, whole](void*) { source->release(whole); }};
}

}  // namespace

CountedMemory::CountedMemory(size_t limit, std::shared_ptr<Allocator> source)
    : limit_(limit), source_(std::move(source)), serves_results_(true) {}

CountedMemory::Block CountedMemory::take(size_t bytes) {
  const size_t held = source_ ? checked_add(bytes, kBlockAlignment - 1, "size of a block") : bytes;
  if (!reserve_room(held)) {
    make_room();
    require(reserve_room(held), ErrorCode::fail,
            "{} bytes are needed, but the max_mem of the arena is {} bytes, of which {} are in use; raise max_mem, or "
            "free results",
            held, limit_, in_use());
  }
  Block block{nullptr, bytes, held};
  try {
    block.memory = source_ ? from_source(source_, held) : allocate_block(bytes);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    counts_.in_use -= held;
    throw;
  }
  const std::lock_guard lock(mutex_);
  add(block);
  return block;
}

// Adds the bytes to those in use, if they fit: other threads must not take the same room.
bool CountedMemory::reserve_room(size_t held) {
  const std::lock_guard lock(mutex_);
  if (limit_ != 0 && (held > limit_ || counts_.in_use > limit_ - held)) return false;
  counts_.in_use += held;
  return true;
}

size_t CountedMemory::in_use() const {
  const std::lock_guard lock(mutex_);
  return counts_.in_use;
}

// Idle workspaces of all sessions that share the memory: one that ran before must not keep another from running.
void CountedMemory::make_room() {
  const std::lock_guard lock(rooms_mutex_);
  for (const auto& free_idle : rooms_) free_idle();
}

std::shared_ptr<void> CountedMemory::offer_room(std::function<void()> free_idle) {
  const std::lock_guard lock(rooms_mutex_);
  const auto at = rooms_.insert(rooms_.end(), std::move(free_idle));
  return {nullptr, [self = shared_from_this(), at](void*) {
            const std::lock_guard guard(self->rooms_mutex_);
            self->rooms_.erase(at);
          }};
}

// The caller holds the mutex and has added the block to the bytes in use.
void CountedMemory::add(const Block& block) {
  ++counts_.allocations;
  counts_.requested += block.requested;
  counts_.most = std::max(counts_.most, counts_.in_use);
  counts_.largest = std::max(counts_.largest, block.held);
}

void CountedMemory::forget(const Block& block, bool is_workspace) noexcept {
  const std::lock_guard lock(mutex_);
  counts_.in_use -= block.held;
  counts_.requested -= block.requested;
  counts_.shrinkages += is_workspace;
}

std::shared_ptr<void> CountedMemory::owned(Block block, bool is_workspace) {
  void* const data = block.memory.get();
  return {data, [self = shared_from_this(), block = std::move(block), is_workspace](void* p) mutable {
            if (is_workspace) allow_access(p, block.requested);
            block.memory = nullptr;
            self->forget(block, is_workspace);
          }};
}

std::shared_ptr<void> CountedMemory::workspace(size_t bytes) {
  std::shared_ptr<void> made = owned(take(bytes), true);
  const std::lock_guard lock(mutex_);
  ++counts_.extensions;
  return made;
}

std::shared_ptr<void> CountedMemory::result(size_t bytes) { return owned(take(bytes), false); }

std::shared_ptr<void> CountedMemory::count(std::shared_ptr<void> result, size_t bytes) {
  Block block{std::move(result), bytes, bytes};
  {
    const std::lock_guard lock(mutex_);
    counts_.in_use += bytes;
    add(block);
  }
  return owned(std::move(block), false);
}

void* CountedMemory::keep(size_t bytes, bool reserves) {
  if (bytes == 0) return nullptr;
  Block block = take(bytes);
  void* const data = block.memory.get();
  const std::lock_guard lock(mutex_);
  callers_.emplace(data, std::move(block));
  counts_.reserves += reserves;
  return data;
}

void* CountedMemory::allocate(size_t bytes) { return keep(bytes, false); }

void* CountedMemory::reserve(size_t bytes) { return keep(bytes, true); }

void CountedMemory::release(void* memory) noexcept {
  Block block;
  {
    const std::lock_guard lock(mutex_);
    const auto found = callers_.find(memory);
    if (found == callers_.end()) return;
    block = std::move(found->second);
    callers_.erase(found);
  }
  block.memory = nullptr;  // outside the lock, since the source may be a caller's
  forget(block, false);
}

std::map<std::string, std::string> CountedMemory::statistics() const {
  const std::lock_guard lock(mutex_);
  const auto text = [](uint64_t n) { return std::to_string(n); };
  return {{"Limit", limit_ ? text(limit_) : "-1"},
          {"InUse", text(counts_.in_use)},
          {"RequestedInUse", text(counts_.requested)},
          {"TotalAllocated", text(counts_.in_use)},
          {"MaxInUse", text(counts_.most)},
          {"NumAllocs", text(counts_.allocations)},
          {"NumReserves", text(counts_.reserves)},
          {"NumArenaExtensions", text(counts_.extensions)},
          {"NumArenaShrinkages", text(counts_.shrinkages)},
          {"MaxAllocSize", text(counts_.largest)}};
}

}  // namespace retort
