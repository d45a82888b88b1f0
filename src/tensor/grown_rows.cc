#include "tensor/grown_rows.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "tensor/host_block.h"
#include "tensor/tensor.h"

namespace retort {
namespace {

constexpr size_t kLeastRoom = 32;  // in rows

}  // namespace

std::shared_ptr<GrownRows> GrownRows::make(DType dtype, const Shape& shape) {
  const auto rows = size_t(shape[2]);
  auto block = std::make_shared<RowBlock>();
  block->heads = size_t(shape[0]) * size_t(shape[1]);
  block->room = round_up(rows + std::max(rows / 4, kLeastRoom), 16);
  block->row_bytes = dtype_bytes(dtype, size_t(shape[3]));
  block->memory = allocate_block(
      checked_mul(checked_mul(block->heads, block->room, "cache size"), block->row_bytes, "cache size in bytes"));
  block->filled = rows;
  return std::shared_ptr<GrownRows>(new GrownRows(std::move(block), rows));
}

std::shared_ptr<GrownRows> GrownRows::extended(size_t more) const {
  size_t rows = rows_;
  if (more > block_->room - rows || !block_->filled.compare_exchange_strong(rows, rows + more)) return nullptr;
  return std::shared_ptr<GrownRows>(new GrownRows(block_, rows_ + more));
}

void* GrownRows::dense() {
  const std::lock_guard lock(mutex_);
  if (dense_) return dense_.get();
  const size_t bytes = rows_ * block_->row_bytes, step = block_->room * block_->row_bytes;
  std::shared_ptr<void> copy = allocate_host(block_->heads * bytes);
  for (size_t h = 0; h < block_->heads && bytes > 0; ++h)
    std::memcpy(static_cast<char*>(copy.get()) + h * bytes, static_cast<const char*>(block()) + h * step, bytes);
  dense_ = std::move(copy);
  is_dense_.store(true, std::memory_order_release);
  return dense_.get();
}

}  // namespace retort
