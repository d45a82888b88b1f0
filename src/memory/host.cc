#include "memory/host.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "memory/access.h"
#include "tensor/tensor.h"

namespace retort {
namespace {

constexpr size_t kHuge = size_t(2) << 20;
constexpr size_t kMinBlock = size_t(64) << 10, kMaxBlock = size_t(32) << 20;

// The bytes that a piece of a pool occupies.
size_t pool_size(size_t bytes) { return round_up(std::max<size_t>(bytes, 1), 64); }

std::shared_ptr<void> allocate_zeros(size_t bytes) {
  std::shared_ptr<void> block = allocate_block(bytes);
  // Larger blocks come from the system filled with zeros.
  if (bytes < kHuge || kAccessIsChecked) std::memset(block.get(), 0, bytes);
  return block;
}

/// Memory that the constants of one loading share.
struct Chunk {
  std::shared_ptr<void> memory;
  size_t used = 0;
};
/// The type of the deleter is also a label, which shares_block() finds.
struct FreeChunk {
  void operator()(const Chunk* chunk) const { delete chunk; }
};
thread_local std::weak_ptr<Chunk> open_chunk;  // kept by its pieces

std::shared_ptr<void> allocate_constant(size_t bytes) {
  constexpr size_t kLeast = size_t(64) << 10;
  if (bytes < kLeast || bytes >= kHuge / 2 || kAccessIsChecked) return allocate_block(bytes);
  const size_t padded = pool_size(bytes);
  std::shared_ptr<Chunk> chunk = open_chunk.lock();
  if (!chunk || chunk->used + padded > kHuge) {
    chunk = std::shared_ptr<Chunk>(new Chunk{allocate_block(kHuge), 0}, FreeChunk());
    open_chunk = chunk;
  }
  char* const piece = static_cast<char*>(chunk->memory.get()) + chunk->used;
  chunk->used += padded;
  return {std::move(chunk), piece};
}

}  // namespace

Tensor new_constant(DType dtype, const Shape& shape) {
  if (dtype == DType::string) return Tensor(dtype, shape);
  std::shared_ptr<void> memory = allocate_constant(dtype_bytes(dtype, element_count(shape)));
  void* const data = memory.get();
  return Tensor(dtype, shape, data, std::move(memory));
}

bool shares_block(const Tensor& constant) {
  return constant.owner() && std::get_deleter<FreeChunk>(constant.owner()) && constant.owner().use_count() > 1;
}

void trim_heap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

std::shared_ptr<void> BlockPool::allocate(size_t bytes) {
  const size_t padded = pool_size(bytes);
  if (kAccessIsChecked || padded >= kMaxBlock / 2) return allocate_zeros(kAccessIsChecked ? bytes : padded);
  const std::lock_guard lock(mutex_);
  auto room = std::find_if(open_.begin(), open_.end(), [&](const Room& r) { return padded <= r.size; });
  if (room == open_.end()) {
    const size_t grown = expected_ > total_ ? expected_ - total_ : total_ / 64;
    const size_t least = round_up(std::max(grown, padded), kMinBlock);
    // A huge page takes less time than the small ones of more than half of it.
    const size_t size = std::clamp(least > kHuge / 2 ? std::max(least, kHuge) : least, kMinBlock, kMaxBlock);
    room = open_.insert(room, {allocate_zeros(size), size, 0});
  }
  std::shared_ptr<void> piece = room->memory;
  std::memset(piece.get(), 0, std::min(room->dirty, padded));
  total_ += padded;
  room->memory = {piece, static_cast<char*>(piece.get()) + padded};
  room->size -= padded;
  room->dirty -= std::min(room->dirty, padded);
  if (room->size == 0) open_.erase(room);
  return piece;
}

void BlockPool::expect(size_t bytes) {
  const std::lock_guard lock(mutex_);
  expected_ = total_ + bytes;
}

void BlockPool::give_back(std::shared_ptr<void> piece, size_t bytes) {
  const size_t padded = pool_size(bytes);
  if (kAccessIsChecked || padded >= kMaxBlock / 2) return;  // the piece is a block of its own
  const std::lock_guard lock(mutex_);
  const char* const end = static_cast<char*>(piece.get()) + padded;
  total_ -= padded;
  // The room after the piece in memory may belong to another block.
  const auto follows = [&](const Room& r) {
    return r.memory.get() == end && !r.memory.owner_before(piece) && !piece.owner_before(r.memory);
  };
  auto next = std::find_if(open_.begin(), open_.end(), follows);
  if (next == open_.end()) {
    open_.push_back({std::move(piece), padded, padded});
  } else {
    *next = {std::move(piece), padded + next->size, padded + next->dirty};
  }
}

BlockPool::~BlockPool() {
  const size_t page = size_t(sysconf(_SC_PAGESIZE));
  for (const Room& r : open_) {
    const size_t at = reinterpret_cast<size_t>(r.memory.get()), begin = round_up(at, page);
    const size_t end = (at + r.dirty) / page * page;
    if (begin < end) madvise(static_cast<std::byte*>(r.memory.get()) + (begin - at), end - begin, MADV_DONTNEED);
  }
}

}  // namespace retort
