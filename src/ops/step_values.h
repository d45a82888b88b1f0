// The inputs and outputs of a step, as its kernel reads and writes them.
#pragma once
#include <memory>
#include <span>
#include <utility>

#include "base/function_ref.h"
#include "ops/slot.h"

namespace retort {

/// Inputs and outputs by position; an omitted one has no slot. The slots belong to the run, which has laid them out and
/// checked them. Not thread-safe.
class StepValues {
 public:
  StepValues(std::span<Slot* const> inputs, std::span<Slot* const> outputs) : inputs_(inputs), outputs_(outputs) {}

  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return outputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i]; }
  bool wants(size_t i) const { return i < outputs_.size() && outputs_[i]; }
  const Slot& in_slot(size_t i) const { return *inputs_[i]; }
  Slot& out_slot(size_t i) const { return *outputs_[i]; }

  DType dtype(size_t i) const { return inputs_[i]->type.dtype; }
  const Shape& shape(size_t i) const { return inputs_[i]->type.shape; }
  /// Number of elements; 0 for an omitted input.
  size_t count(size_t i) const { return has(i) ? inputs_[i]->count : 0; }
  DType out_dtype(size_t i = 0) const { return outputs_[i]->type.dtype; }
  const Shape& out_shape(size_t i = 0) const { return outputs_[i]->type.shape; }
  size_t out_count(size_t i = 0) const { return outputs_[i]->count; }
  /// Elements from one row of the last axis to the next: the extent of that axis, or more if reads_rows() or
  /// writes_rows() agreed.
  size_t row_step(size_t i) const { return inputs_[i]->row_step(); }
  size_t out_row_step(size_t i = 0) const { return outputs_[i]->row_step(); }

  const void* data(size_t i) const { return inputs_[i]->data; }
  void* out_data(size_t i = 0) const { return outputs_[i]->data; }
  template <typename T>
  std::span<const T> input(size_t i) const {
    return {static_cast<const T*>(inputs_[i]->data), inputs_[i]->count};
  }
  template <typename T>
  std::span<T> output(size_t i = 0) const {
    return {static_cast<T*>(outputs_[i]->data), outputs_[i]->count};
  }
  /// Pointer to an input that may be omitted; null in that case.
  template <typename T>
  const T* optional(size_t i) const {
    return has(i) ? static_cast<const T*>(inputs_[i]->data) : nullptr;
  }

  /// For ops whose output sizes depend on data (trait kDynamicOutput): gives output i its memory and returns it. That
  /// is the caller's memory if it fits, otherwise memory of its own.
  void* allocate(size_t i, DType dtype, const Shape& shape) const;
  /// The same in memory of a device, which `make` allocates.
  void* allocate_in(const MemorySpace& space, size_t i, DType dtype, const Shape& shape,
                    FunctionRef<std::shared_ptr<void>(size_t)> make) const;
  /// Sets output i to a value: a sequence, map or optional, or a tensor that owns its memory (trait kDynamicOutput or
  /// kBoxed).
  void set_value(size_t i, Value value) const {
    Slot& s = *outputs_[i];
    s.boxed = std::move(value);
    s.type = {};
    s.data = nullptr;
    s.count = 0;
    if (Tensor* t = s.boxed.get<Tensor>()) {
      s.type = ValueType::tensor(t->dtype(), t->shape());
      s.data = t->mutable_data();
      s.count = t->count();
    }
  }

 private:
  std::span<Slot*const> inputs_, outputs_;
};

}  // namespace retort
