#include "run/growing.h"

#include <algorithm>

namespace retort {

void Growing::begin(const Tensor* past) {
  const std::shared_ptr<void> last = last_.lock();
  handed_back_ = past && last && past->owner() == last;
  past_ = past ? past->grown() : nullptr;
  const bool was_read = last && last_grown_ && static_cast<const GrownRows*>(last.get())->is_dense();
  if (was_read) {
    rest_ = next_rest_;
    next_rest_ = std::min(2 * next_rest_, kMostRest);
  } else if (rest_ > 0) {
    --rest_;
  }
}

std::shared_ptr<GrownRows> Growing::present(const Slot& made) {
  const Shape& shape = made.shape();
  if (past_) {
    const auto rows = size_t(shape[2]);
    if (rows >= past_->rows()) {
      if (auto grown = past_->extended(rows - past_->rows())) return grown;
    }
  } else if (!handed_back_ || rest_ > 0) {
    return nullptr;
  }
  return GrownRows::make(made.dtype(), shape);
}

void Growing::remember(const Tensor& present) {
  last_ = present.owner();
  last_grown_ = present.grown() != nullptr;
}

GrowingCaches::GrowingCaches(const Plan& plan)
    : plan_(plan),
      caches_(plan.caches.size()),
      by_input_(plan.inputs.size(), kNever),
      by_output_(plan.outputs.size(), kNever) {
  for (uint32_t i = 0; i < plan.caches.size(); ++i) {
    by_input_[plan.caches[i].input] = i;
    by_output_[plan.caches[i].output] = i;
  }
}

void GrowingCaches::begin(const RunRequest& request) {
  for (size_t i = 0; i < caches_.size(); ++i) {
    const Value* past = request.inputs[plan_.caches[i].input];
    caches_[i].begin(past && request.caches_grow ? past->tensor() : nullptr);
  }
}

}  // namespace retort
