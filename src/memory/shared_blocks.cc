#include "memory/shared_blocks.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/fingerprint.h"
#include "base/loading.h"

namespace retort {
namespace {

// Smaller blocks are equal in many models, and would keep the memory alive that they are part of.
constexpr size_t kLeast = 4096;

// Hashes words that are evenly spread over a block of kLeast bytes or more, including the last one.
uint64_t sample(const void* block, size_t bytes) {
  constexpr size_t kWords = 256;
  const char* const p = static_cast<const char*>(block);
  Fingerprint words;
  const size_t last = bytes - sizeof(uint64_t);
  for (size_t at = 0; at < last; at += last / kWords) words.add(p + at, sizeof(uint64_t));
  words.add(p + last, sizeof(uint64_t));
  return words.high();
}

bool same_bytes(const void* a, const void* b, size_t bytes) {
  bool same = true;
  in_pieces(bytes, [&](size_t begin, size_t size) {
    same = same && std::memcmp(static_cast<const char*>(a) + begin, static_cast<const char*>(b) + begin, size) == 0;
  });
  return same;
}

}  // namespace

void SharedBlocks::remove_dead() {
  if (by_content_.size() + by_range_.size() < remove_at_) return;
  std::erase_if(by_content_, [](const auto& entry) { return entry.second.expired(); });
  std::erase_if(by_range_, [](const auto& entry) { return entry.second.expired(); });
  remove_at_ = std::max<size_t>(64, 2 * (by_content_.size() + by_range_.size()));
}

std::shared_ptr<void> SharedBlocks::unify(std::shared_ptr<void> block, size_t bytes) {
  if (bytes < kLeast) return block;
  const Content content{bytes, sample(block.get(), bytes)};
  std::vector<std::shared_ptr<void>> alike;
  {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = by_content_.equal_range(content);
    for (auto it = begin; it != end; ++it) {
      if (auto alive = it->second.lock()) alike.push_back(std::move(alive));
    }
  }
  for (const std::shared_ptr<void>& other : alike) {
    if (same_bytes(other.get(), block.get(), bytes)) return other;
  }
  const std::lock_guard lock(mutex_);
  remove_dead();
  by_content_.emplace(content, block);
  return block;
}

std::shared_ptr<void> SharedBlocks::find(const FileRange& range) {
  const std::lock_guard lock(mutex_);
  const auto found = by_range_.find(range);
  return found == by_range_.end() ? nullptr : found->second.lock();
}

void SharedBlocks::keep(const FileRange& range, const std::shared_ptr<void>& block) {
  const std::lock_guard lock(mutex_);
  remove_dead();
  by_range_.insert_or_assign(range, block);
}

}  // namespace retort
