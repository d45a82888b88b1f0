// Decides which outputs of late steps lie at the address of one of the step's inputs.
#include <algorithm>
#include <numeric>

#include "ops/external.h"
#include "plan/plan.h"

namespace retort {
namespace {

/// Memory that several values share, listed under the root that it was made for.
struct Memory {
  uint32_t last_use = 0;
  bool is_held = false;  ///< by the caller, the model, or an output: no step may overwrite it
  bool is_shared = false;
};

class Sharer {
 public:
  explicit Sharer(Plan& plan) : plan_(plan), memory_(plan.values.size()), lies_in_(plan.values.size()) {
    std::iota(lies_in_.begin(), lies_in_.end(), SlotIndex(0));
    for (size_t i = 0; i < plan.values.size(); ++i) {
      const PlanValue& v = plan.values[i];
      Memory& m = memory_[v.root];
      if (v.root == i) m.last_use = v.last_use;
      m.is_held |= v.home == Home::input || v.home == Home::constant || is_output(SlotIndex(i));
    }
    // The copy that a step has made of an output may be returned in place of the output.
    for (const Step& s : plan.steps) {
      const ExternalOp* op = external_op(*s.op, s.params.get());
      if (op && op->is_copy() && is_output(s.inputs[0])) of(s.outputs[0]).is_held = true;
    }
  }

  void share() {
    for (uint32_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& s = plan_.steps[i];
      const ExternalOp* op = s.late && s.state ? external_op(*s.op, s.params.get()) : nullptr;
      if (!op) continue;
      std::vector<OutputAlias> shared;
      for (const OutputAlias& alias : op->aliases()) share(i, alias, shared);
      if (!shared.empty()) op->grant(*s.state, std::move(shared));
    }
    // Extends the lifetime by one step: the last reader does not know that the memory is shared, so only later steps
    // may overwrite it.
    const auto end = uint32_t(plan_.steps.size());
    for (size_t i = 0; i < memory_.size(); ++i) {
      if (memory_[i].is_shared) plan_.values[i].last_use = std::min(memory_[i].last_use + 1, end);
    }
  }

 private:
  Memory& of(SlotIndex v) { return memory_[lies_in_[plan_.values[v].root]]; }
  bool is_output(SlotIndex v) const { return std::ranges::count(plan_.outputs, v) > 0; }

  void share(uint32_t index, const OutputAlias& alias, std::vector<OutputAlias>& shared) {
    const Step& s = plan_.steps[index];
    const bool is_shared = std::ranges::count(shared, alias.output, &OutputAlias::output) > 0;
    const SlotIndex out = alias.output < s.outputs.size() ? s.outputs[alias.output] : kNoSlot;
    if (is_shared || out == kNoSlot || is_output(out)) return;
    if (alias.constant) {
      of(out).is_held = true;
      return shared.push_back(alias);
    }
    const SlotIndex in = alias.input + s.captures < s.inputs.size() ? s.inputs[alias.input] : kNoSlot;
    if (in == kNoSlot) return;
    Memory& memory = of(in);
    const auto reads = std::ranges::count_if(s.inputs, [&](SlotIndex v) { return v != kNoSlot && &of(v) == &memory; });
    const auto written = std::ranges::any_of(s.outputs, [&](SlotIndex v) { return v != kNoSlot && &of(v) == &memory; });
    if (!alias.always && (memory.is_held || memory.last_use > index || reads > 1 || written)) return;
    memory.last_use = std::max(memory.last_use, of(out).last_use);
    memory.is_shared = true;
    lies_in_[out] = lies_in_[plan_.values[in].root];
    shared.push_back(alias);
  }

  Plan& plan_;
  std::vector<Memory> memory_;
  std::vector<SlotIndex> lies_in_;  // per root: the root whose memory it lies in
};

}  // namespace

void share_late_outputs(Plan& plan) {
  const auto has_aliases = [](const Step& s) {
    const ExternalOp* op = external_op(*s.op, s.params.get());
    return op && !op->aliases().empty();
  };
  if (std::ranges::any_of(plan.steps, has_aliases)) Sharer(plan).share();
}

}  // namespace retort
