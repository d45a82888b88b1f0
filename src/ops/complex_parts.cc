#include "ops/complex_parts.h"

namespace retort::ops {
namespace {

// A slot with the memory for one part of the numbers in `numbers`.
template <typename T>
Slot slot_like(const Slot& numbers) {
  Slot slot;
  Tensor values(dtype_of<T>, numbers.type.shape);
  slot.type = ValueType::tensor(dtype_of<T>, numbers.type.shape);
  slot.data = values.mutable_data();
  slot.count = numbers.count;
  slot.present = numbers.present;
  slot.boxed = std::move(values);
  return slot;
}

template <typename T>
void compute_parts(RunContext& c, FunctionRef<void(RunContext&, bool)> compute) {
  for (const bool imaginary : {false, true}) {
    Slot x = slot_like<T>(c.in_slot(0)), y = slot_like<T>(c.out_slot(0));
    for (size_t i = 0; i < x.count; ++i)
      static_cast<T*>(x.data)[i] = static_cast<const T*>(c.data(0))[2 * i + size_t(imaginary)];
    std::vector<Slot*> inputs, outputs{&y};
    for (size_t i = 0; i < c.input_count(); ++i)
      inputs.push_back(i == 0 ? &x : c.has(i) ? const_cast<Slot*>(&c.in_slot(i)) : nullptr);
    RunContext part(inputs, outputs, nullptr, nullptr, c.parallel());
    compute(part, imaginary);
    for (size_t i = 0; i < y.count; ++i)
      static_cast<T*>(c.out_data())[2 * i + size_t(imaginary)] = static_cast<const T*>(y.data)[i];
  }
}

}  // namespace

void for_each_part(RunContext& c, FunctionRef<void(RunContext& part, bool imaginary)> compute) {
  c.dtype(0) == DType::complex64 ? compute_parts<float>(c, compute) : compute_parts<double>(c, compute);
}

}  // namespace retort::ops
