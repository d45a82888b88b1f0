#include "memory/host.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/checked.h"
#include "memory/access.h"
#include "tensor/tensor.h"

namespace retort {
namespace {

constexpr size_t kHuge = size_t(2) << 20;
constexpr size_t kMinBlock = size_t(64) << 10, kMaxBlock = size_t(32) << 20;

}  // namespace

std::shared_ptr<void> allocate_block(size_t bytes) {
  if (bytes < kHuge || kAccessIsChecked) return allocate_host(bytes);
  const size_t wanted = checked_add(bytes, kHuge + 4095, "workspace size") / 4096 * 4096;
  void* base = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) fail(ErrorCode::fail, "out of memory: {} bytes; free some, or give smaller inputs", bytes);
  const size_t at = reinterpret_cast<size_t>(base);
  void* aligned = static_cast<char*>(base) + (round_up(at, kHuge) - at);
  madvise(aligned, wanted - kHuge, MADV_HUGEPAGE);  // a hint: without huge pages the block works as well
  return {aligned, [base, wanted](void*) { munmap(base, wanted); }};
}

void trim_heap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

std::shared_ptr<void> BlockPool::allocate(size_t bytes) {
  if (kAccessIsChecked) return allocate_block(bytes);
  const size_t padded = round_up(std::max<size_t>(bytes, 1), 64);
  const std::lock_guard lock(mutex_);
  auto block = std::find_if(open_.begin(), open_.end(), [&](const Block& b) { return padded <= b.size - b.used; });
  if (block == open_.end()) {
    if (padded >= kMaxBlock / 2) return allocate_block(padded);
    const size_t size = std::clamp(round_up(std::max(total_, padded), kMinBlock), kMinBlock, kMaxBlock);
    block = open_.insert(block, {allocate_block(size), 0, size});
  }
  std::shared_ptr<void> piece(block->memory, static_cast<char*>(block->memory.get()) + block->used);
  block->used += padded;
  total_ += padded;
  if (block->used == block->size) open_.erase(block);
  return piece;
}

}  // namespace retort
