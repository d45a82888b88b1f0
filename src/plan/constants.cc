// Moves constants to where runs may read them: a file need not align them.
#include <cstring>

#include "base/error.h"
#include "base/loading.h"
#include "memory/host.h"
#include "memory/mapping.h"
#include "plan/build.h"

namespace retort {
namespace {

class Keeper {
 public:
  Keeper(Plan& plan, std::span<const uint32_t> readers, SharedBlocks* shared)
      : plan_(plan), readers_(readers), shared_(shared) {}

  void keep() {
    const std::vector<uint32_t> copies = count_copies();
    for (PlanValue& v : plan_.values) {
      if (!v.constant.data()) continue;  // not a constant, or packed and dropped
      any_address_ = copies[v.root] == readers_[v.root];
      check_loading();
      const size_t bytes = v.constant.bytes();
      try {
        v.constant = kept(v.constant);
      } catch (Error& e) {
        e.add_context(cat("weight '{}' of shape {}", v.name, to_string(v.constant.shape())));
        throw;
      }
      plan_.constant_bytes += bytes;
    }
  }

 private:
  // The number of steps that read each root's memory at any address. The embeddings of a language model, a quarter of
  // its file and more, then stay in the mapping.
  std::vector<uint32_t> count_copies() const {
    std::vector<uint32_t> copies(plan_.values.size(), 0);
    for (const Step& s : plan_.steps) {
      if (s.op->has(kAnyAddress) && s.inputs[0] != kNoSlot) ++copies[plan_.values[s.inputs[0]].root];
    }
    return copies;
  }
  bool suits(const Tensor& constant, const void* data) const {
    return any_address_ || is_aligned(constant.dtype(), data);
  }

  // Returns the tensor that runs read in place of the constant: aligned, and in the memory that other sessions use too.
  Tensor kept(const Tensor& constant) {
    const size_t bytes = constant.bytes();
    const auto range = file_range(constant.owner(), constant.data(), bytes);
    const auto in = [&](std::shared_ptr<void> memory) {
      void* data = memory.get();
      return Tensor(constant.dtype(), constant.shape(), data, std::move(memory));
    };
    if (!range) {
      Tensor own = is_aligned(constant.dtype(), constant.data()) && !shares_block(constant) ? constant
                                                                                            : move_from_file(constant);
      const bool lent = !own.owner() || own.dtype() == DType::string;
      return !shared_ || lent ? own : in(shared_->unify({own.owner(), const_cast<void*>(own.data())}, bytes));
    }
    std::shared_ptr<void> same = shared_ ? shared_->find(*range) : nullptr;
    if (same && suits(constant, same.get())) return in(std::move(same));
    Tensor own = copied(constant, in);
    if (shared_) shared_->keep(*range, {own.owner(), const_cast<void*>(own.data())});
    return own;
  }

  // Copies constants that are not aligned in the file though they must be, and all small ones: reading a small one in
  // the file brings up to 2 MiB of it into memory.
  template <typename In>
  Tensor copied(const Tensor& constant, const In& in) {
    constexpr size_t kSmall = size_t(64) << 10;
    if (constant.bytes() < kSmall) {
      std::shared_ptr<void> copy = small_.allocate(constant.bytes());
      std::memcpy(copy.get(), constant.data(), constant.bytes());
      release_mapping(constant);
      return in(std::move(copy));
    }
    return suits(constant, constant.data()) ? constant : move_from_file(constant);
  }

  Plan& plan_;
  const std::span<const uint32_t> readers_;  // see keep_constants()
  SharedBlocks* const shared_;
  bool any_address_ = false;  // whether the current constant may have any address
  // For small constants; not the pool of packed weights, so that one shared with another model keeps no block of those.
  BlockPool small_;
};

}  // namespace

void keep_constants(Plan& plan, std::span<const uint32_t> readers, SharedBlocks* shared) {
  Keeper(plan, readers, shared).keep();
}

}  // namespace retort
