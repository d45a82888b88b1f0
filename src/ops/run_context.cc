#include "ops/run_context.h"

#include <utility>

namespace retort {

std::shared_ptr<const void> PrepareContext::packed(size_t bytes, FunctionRef<void(void*)> write) const {
  BlockPool alone;
  BlockPool& pool = memory_ ? *memory_ : alone;
  std::shared_ptr<void> own = pool.allocate(bytes);
  write(own.get());
  if (!shared_) return own;
  std::shared_ptr<void> same = shared_->unify(own, bytes);
  if (same != own) pool.give_back(std::move(own), bytes);
  return same;
}

}  // namespace retort
