#include "ops/step_values.h"

#include "memory/host.h"

namespace retort {

void* StepValues::allocate(size_t i, DType dtype, const Shape& shape) const {
  if (dtype == DType::string) {
    set_value(i, Tensor(dtype, shape));
    return outputs_[i]->data;
  }
  return allocate_in({}, i, dtype, shape, [](size_t bytes) { return allocate_host(bytes); });
}

void* StepValues::allocate_in(const MemorySpace& space, size_t i, DType dtype, const Shape& shape,
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
