#include "run/results.h"

#include "ops/external.h"

namespace retort {
namespace {

// Returns an output that is also an input, if a tensor of it is in `space`: the caller gave it there, or it was copied
// there for this run or by a binding. Empty otherwise.
Tensor given_in(const SlotTable& table, const Inputs& inputs, const RunRequest& request, SlotIndex out,
                const MemorySpace& space) {
  const Plan& plan = table.plan();
  if (plan.values[out].home != Home::input || table[out].type.dtype == DType::string) return {};
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const SlotIndex in = plan.inputs[i];
    // An input that is read in several memories is in the plan as several inputs of one name.
    if (in == kNoSlot || plan.values[in].name != plan.values[out].name) continue;
    const Tensor* given = request.inputs[i] ? request.inputs[i]->tensor() : nullptr;
    const bool is_for_device = in == out && !inputs.space(i).host_readable();
    if (given && (is_for_device ? given->space().readable_as(space) : given->space().serves(space))) return *given;
    const Tensor* copy = inputs.copy_of(i);
    if (copy && copy->space().serves(space)) return *copy;
  }
  return {};
}

// Returns the copy of a value in `space` if a step has made one for its readers there; empty otherwise.
Tensor copied_to(const SlotTable& table, SlotIndex value, const MemorySpace& space) {
  for (const Step& step : table.plan().steps) {
    const ExternalOp* op = external_op(*step.op, step.params.get());
    const Tensor* copy =
        op && op->is_copy() && step.inputs[0] == value ? table[step.outputs[0]].boxed.tensor() : nullptr;
    if (copy && copy->space().serves(space)) return *copy;
  }
  return {};
}

}  // namespace

Tensor result_of(const SlotTable& table, const Inputs& inputs, const RunRequest& request, size_t i,
                 const MemorySpace& space) {
  const Plan& plan = table.plan();
  const SlotIndex out = plan.outputs[i];
  const Slot& slot = table[out];
  const MemorySpace made = slot.boxed.tensor() ? slot.boxed.tensor()->space() : MemorySpace();
  if (!space.host_readable() || !made.serves(space)) {
    if (Tensor given = given_in(table, inputs, request, out, space)) return given;
    if (Tensor copy = made.serves(space) ? Tensor() : copied_to(table, out, space)) return copy;
    for (const UploadedOutput& upload : plan.uploaded_outputs) {
      if (upload.output == i && upload.constant.space().serves(space)) return upload.constant;
    }
  }
  if (const Tensor* boxed = slot.boxed.tensor(); boxed && boxed->data() == slot.data) return *boxed;
  return Tensor(slot.type.dtype, slot.type.shape, slot.data, nullptr);
}

}  // namespace retort
