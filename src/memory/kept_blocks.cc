#include "memory/kept_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "memory/access.h"
#include "memory/counted.h"
#include "memory/host.h"
#include "memory/spare.h"
#include "tensor/host_block.h"
#include "tensor/tensor.h"

namespace retort {

struct KeptBlocks::Block {
  std::shared_ptr<void> memory;
  size_t capacity = 0;
  uint64_t since = 0;  ///< the number of trims before it was released
};

struct KeptBlocks::State : std::enable_shared_from_this<State> {
  explicit State(bool keeps_blocks) : keeps(keeps_blocks && !kAccessIsChecked) {}

  Block take(size_t bytes);
  void keep(Block block) noexcept;
  void end_run(size_t taken);

  const bool keeps;
  std::atomic<size_t> kept{0};  ///< bytes of `blocks`

  std::mutex mutex;                ///< guards the members below, and changes of `kept`
  std::vector<Block> blocks;       ///< the one that was released first comes first
  size_t in_runs = 0;              ///< bytes that the runs under way have taken
  size_t most = 0, last_most = 0;  ///< the maximum of in_runs since the last trim, and between the two before
  uint32_t runs = 0;               ///< number of runs since the last trim
  uint64_t trims = 0;

 private:
  Block take_kept(size_t bytes);
  size_t make_room(size_t bytes, std::vector<Block>& dead);
  void trim();
};

// The deleter of a block. It frees the block if the session is gone.
struct KeptBlocks::Keep {
  std::weak_ptr<State> state;
  Block block;

  void operator()(void*) noexcept {
    if (const std::shared_ptr<State> alive = state.lock()) alive->keep(std::move(block));
    block = Block();
  }
};

// The smallest kept block that fits; none that is more than twice too large.
KeptBlocks::Block KeptBlocks::State::take_kept(size_t bytes) {
  auto best = blocks.end();
  for (auto it = blocks.begin(); it != blocks.end(); ++it) {
    const bool fits = it->capacity >= bytes && it->capacity / 2 <= bytes;
    if (fits && (best == blocks.end() || it->capacity < best->capacity)) best = it;
  }
  if (best == blocks.end()) return {};
  Block block = std::move(*best);
  blocks.erase(best);
  kept -= block.capacity;
  return block;
}

// Gives up kept blocks before new memory is allocated, so that there is never more memory than was in use before.
// Returns the capacity of the new block: results whose size grows from run to run get some room.
size_t KeptBlocks::State::make_room(size_t bytes, std::vector<Block>& dead) {
  const bool grows =
      std::ranges::any_of(blocks, [&](const Block& b) { return b.capacity < bytes && b.capacity >= bytes / 2; });
  const size_t capacity = grows ? checked_add(bytes, bytes / 4, "tensor size in bytes") : bytes;
  size_t freed = 0;
  auto end = blocks.begin();
  for (; end != blocks.end() && freed < capacity; ++end) freed += end->capacity;
  dead.assign(std::make_move_iterator(blocks.begin()), std::make_move_iterator(end));
  blocks.erase(blocks.begin(), end);
  kept -= freed;
  return capacity;
}

// Returns a kept block, or only the capacity of the block to be made.
KeptBlocks::Block KeptBlocks::State::take(size_t bytes) {
  std::vector<Block> dead;  // freed when the mutex is free again
  const std::lock_guard lock(mutex);
  Block block = take_kept(bytes);
  if (!block.memory) block.capacity = make_room(bytes, dead);
  in_runs += block.capacity;
  most = std::max(most, in_runs);
  return block;
}

void KeptBlocks::State::keep(Block block) noexcept {
  // The system may take pages of a session that keeps more than 16 MiB. It is only a hint: pages stay until the system
  // needs memory. On huge pages a hint takes 0.04 ms for 100 MiB, and 0.02 ms more if another thread works. A hint for
  // a part of a huge page would divide it into small ones, whose next writes take twice as long.
  constexpr size_t kWorthHint = size_t(16) << 20;
  const size_t huge = huge_bytes(block.capacity);
  if (huge > 0 && kept.load(std::memory_order_relaxed) + block.capacity > kWorthHint)
    madvise(block.memory.get(), huge, MADV_FREE);
  const std::lock_guard lock(mutex);
  if (kept + block.capacity > std::max(most, last_most)) return;
  const size_t capacity = block.capacity;
  block.since = trims;
  try {
    blocks.push_back(std::move(block));
    kept += capacity;
  } catch (const std::bad_alloc&) {  // then the caller frees it
  }
}

void KeptBlocks::State::trim() {
  std::erase_if(blocks, [&](const Block& b) {
    const bool unused = b.since < trims;
    if (unused) kept -= b.capacity;
    return unused;
  });
  ++trims;
  last_most = std::exchange(most, in_runs);
  runs = 0;
}

void KeptBlocks::State::end_run(size_t taken) {
  const std::lock_guard lock(mutex);
  in_runs -= taken;
  if (++runs == kRunsPerTrim) trim();
}

KeptBlocks::KeptBlocks(bool keeps) : state_(std::make_shared<State>(keeps)) {}

KeptBlocks::~KeptBlocks() = default;

void KeptBlocks::give_back() {
  std::vector<Block> dead;
  const std::lock_guard lock(state_->mutex);
  dead.swap(state_->blocks);
  state_->kept = 0;
  state_->most = state_->in_runs;
  state_->last_most = 0;
}

size_t KeptBlocks::bytes() const { return state_->kept.load(); }

ResultMemory::ResultMemory(KeptBlocks& blocks, bool shrinks, CountedMemory* counted)
    : blocks_(blocks), shrinks_(shrinks), counted_(counted) {}

ResultMemory::~ResultMemory() {
  KeptBlocks::State& state = *blocks_.state_;
  if (taken_ > 0 || state.kept.load(std::memory_order_relaxed) > 0) state.end_run(taken_);
  if (shrinks_) blocks_.give_back();
}

bool ResultMemory::is_elsewhere() const { return counted_ && counted_->serves_results(); }

std::shared_ptr<void> ResultMemory::count(std::shared_ptr<void> result, size_t bytes) const {
  return counted_ ? counted_->count(std::move(result), bytes) : result;
}

std::shared_ptr<void> ResultMemory::allocate(size_t bytes) {
  return is_elsewhere() ? counted_->result(bytes) : count(take(bytes), bytes);
}

std::shared_ptr<void> ResultMemory::take(size_t bytes) {
  KeptBlocks::State& state = *blocks_.state_;
  if (bytes < KeptBlocks::kLeast || !state.keeps) return allocate_host(bytes);
  KeptBlocks::Block block = state.take(bytes);
  taken_ += block.capacity;
  if (!block.memory) block.memory = allocate_block(block.capacity);
  void* const data = block.memory.get();
  return {data, KeptBlocks::Keep{state.weak_from_this(), std::move(block)}};
}

}  // namespace retort
