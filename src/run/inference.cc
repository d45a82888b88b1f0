#include "run/inference.h"

#include <algorithm>

#include "base/error.h"
#include "plan/in_step.h"

namespace retort {
namespace {

constexpr size_t kMostElements = SIZE_MAX / 64;  // the bytes of that many elements, and of a few copies, fit size_t

// Writes known content in the element type of the tensor.
template <typename T>
void write_content(const Slot& slot, void* to) {
  for (size_t i = 0; i < slot.known.size(); ++i) static_cast<T*>(to)[i] = T(slot.known[i]);
}

bool materialise(Slot& slot) {
  switch (slot.type.dtype) {
    case DType::i64:
      slot.data = slot.known.data();
      return true;
    case DType::i32:
    case DType::boolean:
      break;
    default:
      return false;
  }
  Tensor t(slot.type.dtype, slot.type.shape);
  slot.type.dtype == DType::i32 ? write_content<int32_t>(slot, t.mutable_data())
                                : write_content<bool>(slot, t.mutable_data());
  slot.data = t.mutable_data();
  slot.boxed = std::move(t);
  return true;
}

}  // namespace

Inference::Inference(SlotTable& table) : table_(table), settled_(table.plan().values.size()) {}

bool Inference::take_types(std::span<const Value* const> inputs) {
  const Plan& plan = table_.plan();
  bool same = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Slot& slot = table_[plan.inputs[i]];
    const Value* v = inputs[i];
    const Tensor* t = v ? v->tensor() : nullptr;
    if (!t) {  // a boxed value, or an omitted optional input
      if (!slot.type.is_tensor()) continue;
      same = false;
      slot.type = plan.values[plan.inputs[i]].type;
      slot.count = 0;
      continue;
    }
    if (slot.type.dtype == t->dtype() && slot.type.ranked && slot.type.shape == t->shape()) continue;
    same = false;
    slot.type.kind = ValueType::Kind::tensor;
    slot.type.dtype = t->dtype();
    slot.type.ranked = true;
    slot.type.shape.assign(t->shape());
    slot.count = t->count();
  }
  return same;
}

void Inference::forget_from(uint32_t step) {
  const std::vector<Step>& steps = table_.plan().steps;
  for (uint32_t i = step; i < steps.size(); ++i) {
    for (const SlotIndex out : steps[i].outputs) {
      if (out == kNoSlot) continue;
      Slot& s = table_[out];
      // Content that followed from the shapes of the last run need not follow from those of this one.
      if (steps[i].late || settled_[out]) s.boxed = Value();
      settled_[out] = false;
      s.type.kind = ValueType::Kind::unknown;
      s.type.ranked = false;
      s.data = nullptr;
      s.count = 0;
      s.has_known = false;
    }
  }
}

void Inference::forget_content() {
  for (SlotIndex i = 0; i < settled_.size(); ++i) {
    if (!settled_[i] && table_.plan().values[i].home != Home::constant) table_[i].has_known = false;
  }
}

bool Inference::inputs_known(const Step& step) const {
  return std::ranges::all_of(step.inputs, [&](SlotIndex v) {
    if (v == kNoSlot) return true;
    const Slot& s = table_[v];
    return is_laid_out(s.type) || (!s.boxed.empty() && !s.boxed.tensor());
  });
}

// Returns false if the step needs content that has not been computed yet.
bool Inference::infer(uint32_t index) {
  const Step& step = table_.plan().steps[index];
  if (!inputs_known(step)) return false;
  InferContext context(dims_, nullptr, table_.inputs_of(index), table_.outputs_of(index));
  try {
    step.op->infer(step.params.get(), context);
  } catch (NotYetKnown) {
    return false;
  }
  for (Slot* s : table_.outputs_of(index)) {
    if (!s) continue;
    if (!is_laid_out(s->type)) return false;
    s->count = element_count(s->type.shape);
    if (s->count > kMostElements) {
      fail(ErrorCode::invalid_argument, "an output {}{} is larger than any memory; make its inputs smaller",
           dtype_name(s->type.dtype), to_string(s->type.shape));
    }
  }
  return true;
}

uint32_t Inference::infer_from(uint32_t begin) {
  const std::vector<Step>& steps = table_.plan().steps;
  for (uint32_t i = begin; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (step.late) continue;
    const auto infer_one = [&] {
      const bool known = infer(i);
      if (known) settle_memory(step);
      return known;
    };
    if (in_step(step, [&] { return table_.with_inputs(i, infer_one); })) continue;
    for (Slot* out : table_.outputs_of(i)) {
      if (out) out->type.ranked = false;  // the partial result of the failed inference is not valid yet
    }
    return i;
  }
  return uint32_t(steps.size());
}

// Returns true if the content of every output follows from shapes, so the step has nothing to run.
bool Inference::settle_content(const Step& step) {
  for (const SlotIndex out : step.outputs) {
    if (out == kNoSlot) continue;
    const Slot& s = table_[out];
    if (!s.has_known || table_.plan().values[out].home != Home::arena || s.known.size() != s.count) return false;
    if (!std::ranges::all_of(s.known, is_known)) return false;
  }
  for (const SlotIndex out : step.outputs) {
    if (out == kNoSlot) continue;
    if (!materialise(table_[out])) return false;
    settled_[out] = true;
  }
  return true;
}

// Sets the memory that an inferred step's outputs share or own. Memory of the arena is assigned later, for a whole
// segment.
void Inference::settle_memory(const Step& step) {
  if (step.view) {
    const SlotIndex in = step.inputs[0], out = step.outputs[0];
    table_[out].data = table_[in].data;
    settled_[out] = settled_[in];
    return;
  }
  if (settle_content(step)) return;
  for (const SlotIndex out : step.outputs) {
    if (out == kNoSlot || table_.plan().values[out].home != Home::boxed) continue;
    Tensor t(table_[out].type.dtype, table_[out].type.shape);
    table_[out].data = t.mutable_data();
    table_[out].boxed = std::move(t);
  }
}

bool Inference::is_settled(uint32_t index) const {
  const Step& step = table_.plan().steps[index];
  return step.view ||
         (!step.late && std::ranges::all_of(step.outputs, [&](SlotIndex o) { return o == kNoSlot || settled_[o]; }));
}

}  // namespace retort
