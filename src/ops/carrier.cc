// References run on four carriers; narrower types are converted before and after.
#include <algorithm>

#include "base/error.h"
#include "ops/op.h"

namespace retort {
namespace {

constexpr std::array<DType, kCarriers> kCarrierTypes{DType::f32, DType::f64, DType::i64, DType::u64};

int carrier_of(DType t) {
  switch (t) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
      return 0;
    case DType::f64:
      return 1;
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
      return 2;
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::boolean:
      return 3;
    default:
      return -1;
  }
}

template <typename From, typename To>
void convert_elements(const void* from, void* to, size_t count) {
  const From* f = static_cast<const From*>(from);
  To* t = static_cast<To*>(to);
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): an int8_t is a number
  for (size_t i = 0; i < count; ++i) t[i] = static_cast<To>(f[i]);
}

// Converts a narrow type `N` to its carrier `C` and back.
template <typename N, typename C>
void convert_both(bool widen, const void* from, void* to, size_t count) {
  widen ? convert_elements<N, C>(from, to, count) : convert_elements<C, N>(from, to, count);
}

void convert(DType narrow, bool widen, const void* from, void* to, size_t count) {
  switch (narrow) {
    case DType::f16:
      return convert_both<float16, float>(widen, from, to, count);
    case DType::bf16:
      return convert_both<bfloat16, float>(widen, from, to, count);
    case DType::i8:
      return convert_both<int8_t, int64_t>(widen, from, to, count);
    case DType::i16:
      return convert_both<int16_t, int64_t>(widen, from, to, count);
    case DType::i32:
      return convert_both<int32_t, int64_t>(widen, from, to, count);
    case DType::u8:
      return convert_both<uint8_t, uint64_t>(widen, from, to, count);
    case DType::u16:
      return convert_both<uint16_t, uint64_t>(widen, from, to, count);
    case DType::u32:
      return convert_both<uint32_t, uint64_t>(widen, from, to, count);
    case DType::boolean:
      return convert_both<bool, uint64_t>(widen, from, to, count);
    default:
      fail(ErrorCode::not_implemented, "there is no carrier for {}", dtype_name(narrow));
  }
}

bool ends_with_constraint_t(std::string_view formal) {
  const size_t colon = formal.find(": ");
  return colon != std::string_view::npos && formal.substr(colon + 2, 1) == "T" &&
         (formal.size() == colon + 3 || formal[colon + 3] == '?' || formal[colon + 3] == '.');
}

}  // namespace

bool has_constraint_t(std::span<const Formal> formals, size_t i) {
  const auto all = given(formals);
  return !all.empty() && ends_with_constraint_t(all[std::min(i, all.size() - 1)].text());
}

namespace {

struct Converted {
  std::vector<Slot> slots;
  std::vector<Slot*> pointers;
};

Converted copy_slots(std::span<Slot* const> from, std::span<const Formal> formals, DType dtype, DType carrier) {
  Converted c;
  c.slots.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    c.pointers.push_back(from[i] ? &c.slots[i] : nullptr);
    if (!from[i]) continue;
    c.slots[i] = *from[i];
    if (has_constraint_t(formals, i) && from[i]->type.dtype == dtype && dtype != carrier) {
      Tensor t(carrier, from[i]->type.shape);
      c.slots[i].type.dtype = carrier;
      c.slots[i].data = t.mutable_data();
      c.slots[i].boxed = std::move(t);
    }
  }
  return c;
}

}  // namespace

Kernel find_kernel(const OpDef& op, DType dtype) {
  if (op.run) return {op.run, nullptr};
  if (!contains(op.info.types, dtype)) return {};
  if (const KernelFn fast = op.fast_for(dtype)) return {fast, nullptr};
  const int carrier = carrier_of(dtype);
  if (carrier < 0 || !op.reference[size_t(carrier)]) return {};
  return kCarrierTypes[size_t(carrier)] == dtype ? Kernel{op.reference[size_t(carrier)], nullptr}
                                                 : Kernel{nullptr, &op};
}

DType dispatch_type(const OpDef& op, std::span<Slot* const> inputs, std::span<Slot* const> outputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] && has_constraint_t(op.info.inputs, i)) return inputs[i]->type.dtype;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] && has_constraint_t(op.info.outputs, i)) return outputs[i]->type.dtype;
  }
  return DType::undefined;
}

void run_reference(const OpDef& op, const void* params, RunContext& context, DType dtype) {
  const int index = carrier_of(dtype);
  const DType carrier = kCarrierTypes[size_t(index)];
  std::vector<Slot*> in(context.input_count()), out(context.output_count());
  for (size_t i = 0; i < in.size(); ++i) in[i] = context.has(i) ? const_cast<Slot*>(&context.in_slot(i)) : nullptr;
  for (size_t i = 0; i < out.size(); ++i) out[i] = context.wants(i) ? &context.out_slot(i) : nullptr;
  Converted inputs = copy_slots(in, op.info.inputs, dtype, carrier);
  Converted outputs = copy_slots(out, op.info.outputs, dtype, carrier);
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] && inputs.slots[i].data != in[i]->data)
      convert(dtype, true, in[i]->data, inputs.slots[i].data, in[i]->count);
  }
  RunContext inner(inputs.pointers, outputs.pointers, nullptr, context.scratch(), context.parallel());
  inner.set_carried(dtype);
  op.reference[size_t(index)](params, inner);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] && outputs.slots[i].data != out[i]->data)
      convert(dtype, false, outputs.slots[i].data, out[i]->data, out[i]->count);
  }
}

}  // namespace retort
