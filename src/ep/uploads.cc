#include "ep/uploads.h"

#include <algorithm>

namespace retort {

// An address identifies a constant as long as the constant's owner lives.
bool Uploads::Upload::is_of(const Tensor& constant, const MemorySpace& wanted) const {
  const std::weak_ptr<void> its = constant.owner();
  const bool same_owner = !owner.owner_before(its) && !its.owner_before(owner);
  return data == constant.data() && bytes == constant.bytes() && same_owner && (is_lent || !owner.expired()) &&
         space.serves(wanted);
}

Tensor Uploads::find_locked(const Tensor& constant, const MemorySpace& space) const {
  for (const Upload& upload : all_) {
    const std::shared_ptr<void> memory = upload.is_of(constant, space) ? upload.memory.lock() : nullptr;
    if (memory) return Tensor(constant.dtype(), constant.shape(), memory.get(), memory, upload.space);
  }
  return {};
}

Tensor Uploads::find(const Tensor& constant, const MemorySpace& space) {
  const std::lock_guard lock(mutex_);
  return find_locked(constant, space);
}

Tensor Uploads::get(const Tensor& constant, const MemorySpace& space) {
  if (constant.dtype() == DType::string || constant.space().serves(space)) return constant;
  const std::lock_guard lock(mutex_);
  if (Tensor found = find_locked(constant, space)) return found;
  const std::shared_ptr<void> memory = devices_->allocate_constant(space, constant.bytes());
  Tensor copy(constant.dtype(), constant.shape(), memory.get(), memory, space);
  devices_->copy(constant, copy, nullptr);
  all_.push_back({constant.data(), constant.bytes(), !constant.owner(), constant.owner(), space, memory, memory});
  return copy;
}

void Uploads::settle() {
  const std::lock_guard lock(mutex_);
  for (Upload& upload : all_) upload.held = nullptr;
  std::erase_if(all_, [](const Upload& upload) { return upload.is_lent || upload.memory.expired(); });
}

}  // namespace retort
