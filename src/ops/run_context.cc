#include "ops/run_context.h"

#include <utility>

#include "base/cpu.h"
#include "kernels/gemm/gemm_codes.h"

namespace retort {

std::string packed_form() { return cat("{} {}", isa_name(current_isa()), int(kernels::codes_unit())); }

std::shared_ptr<const void> PrepareContext::packed(size_t bytes, FunctionRef<void(void*)> write) const {
  const PackedName name{store_.plan, store_.step, blocks_++};
  if (store_.cache) {
    if (auto found = store_.cache->find(name, bytes)) return found;
  }
  BlockPool alone;
  BlockPool& pool = store_.memory ? *store_.memory : alone;
  std::shared_ptr<void> block = pool.allocate(bytes);
  write(block.get());
  if (store_.shared) {
    std::shared_ptr<void> same = store_.shared->unify(block, bytes);
    if (same != block) pool.give_back(std::exchange(block, same), bytes);
  }
  if (store_.cache) store_.cache->add(name, block, bytes);
  return block;
}

void* RunContext::allocate(size_t i, DType dtype, const Shape& shape) const {
  if (dtype == DType::string) {
    set_value(i, Tensor(dtype, shape));
    return outputs_[i]->data;
  }
  return allocate_in({}, i, dtype, shape, [](size_t bytes) { return allocate_host(bytes); });
}

void* RunContext::allocate_in(const MemorySpace& space, size_t i, DType dtype, const Shape& shape,
                              FunctionRef<std::shared_ptr<void>(size_t)> make) const {
  Slot& s = *outputs_[i];
  const Tensor* const given = s.offered;
  if (given && given->dtype() == dtype && given->shape() == shape && given->space().serves(space)) {
    set_value(i, *given);
    return s.data;
  }
  s.boxed = Value();  // the last result, whose memory may be reused
  const std::shared_ptr<void>& memory = s.kept.take(space, dtype_bytes(dtype, element_count(shape)), make);
  set_value(i, Tensor(dtype, shape, memory.get(), memory, space));
  return s.data;
}

}  // namespace retort
