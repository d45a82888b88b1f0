#include "run/scratch.h"

#include "memory/access.h"
#include "memory/spare.h"

namespace retort {

void Scratch::grow(size_t bytes, FunctionRef<std::shared_ptr<void>(size_t)> allocate) {
  give_back();
  memory_ = allocate(bytes);
  bytes_ = bytes;
}

bool Scratch::trim(size_t most) {
  if (bytes_ < kWorthTrimming || bytes_ <= 2 * most) return false;
  give_back();
  return true;
}

void Scratch::give_back() {
  memory_ = nullptr;
  bytes_ = 0;
}

void Scratch::guard(size_t bytes) const {
  forbid_access(memory_.get(), bytes_);
  allow_access(memory_.get(), bytes);
}

}  // namespace retort
